// Files that are there whole or not at all.
#include "base/whole_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "support/program.hpp"

namespace substrata {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(WholeFile, TakesItsNameWhenItIsWritten) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "file";
  write_whole(path, [&](std::ostream& to) {
    to << "new" << std::flush;
    EXPECT_FALSE(std::filesystem::exists(path));
  });
  EXPECT_EQ(text_of(path), "new");
}

TEST(WholeFile, AWriterThatThrowsLeavesTheFormerFileAndNothingElse) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "file";
  std::ofstream(path) << "former";
  EXPECT_THROW(write_whole(path,
                           [](std::ostream& to) {
                             to << "half";
                             throw std::logic_error("stops");
                           }),
               std::logic_error);
  EXPECT_EQ(text_of(path), "former");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(WholeFile, AFileThatIsWrittenAgainKeepsItsPermissions) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "file";
  std::ofstream(path) << "former";
  const auto own = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, own);
  write_whole(path, [](std::ostream& to) { to << "new"; });
  EXPECT_EQ(std::filesystem::status(path).permissions(), own);
  EXPECT_EQ(text_of(path), "new");
}

TEST(WholeFile, ADeviceIsWrittenAsItIs) {
  write_whole("/dev/null", [](std::ostream& to) { to << "text"; });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THROW(write_whole("/dev/full", [](std::ostream& to) { to << "text"; }), std::runtime_error);
}

}  // namespace
}  // namespace substrata
