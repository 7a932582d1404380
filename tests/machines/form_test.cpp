// A recorded machine as a folder and as one text, and what is left out of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"
#include "tools/recorded_machines/saving.hpp"
#include "tools/recorded_machines/text_form.hpp"

namespace {

using namespace substrata;
using namespace substrata::machines;
using substrata::testing::RecordedTree;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kText =
    "substrata machine 1\n"
    "/proc/stat:\n"
    "| cpu  1 2 3\n"
    "| cpu0 1 2 3\n"
    "/sys/class/net/lo -> ../../devices/virtual/net/lo\n"
    "/sys/devices/virtual/net/lo/ifindex = 1\n"
    "/sys/firmware/bytes:\n"
    "|\\\\x00\\x01\n"
    "/sys/fs/lustre/\n"
    "/sys/power/energy_uj !\n";

TEST(MachineText, FolderOfATextGivesTheTextAgain) {
  tests::TemporaryFolder folder;
  from_text(kText, folder.path());
  EXPECT_EQ(as_text(folder.path()), kText);
}

TEST(MachineText, LineThatLeadsOutOfTheFolderIsRefused) {
  for (const char* const line :
       {"/../x = 1", "/a/../../x = 1", "/a -> /etc/passwd", "/a -> ../b", "/a -> b/../../..", "x = 1",
        "/d/e/l -> ../../f\n/d/e/l/m -> ../../../g", "/d/l -> ..\n/d/l/x = 1"}) {
    tests::TemporaryFolder folder;
    EXPECT_THROW(from_text("substrata machine 1\n" + std::string(line) + "\n", folder.path() + "/m"),
                 std::runtime_error)
        << line;
  }
}

TEST(MachineText, OtherTextsAreRefused) {
  tests::TemporaryFolder folder;
  EXPECT_THROW(from_text("cpu 1 2 3\n", folder.path()), std::runtime_error);
  EXPECT_THROW(from_text("substrata machine 1\nnonsense\n", folder.path()), std::runtime_error);
}

TEST(MachineText, NamesThatLookLikePartsOfALineStayNames) {
  RecordedTree tree;
  for (const char* const name : {"/d/a = b", "/d/c -> d", "/d/e:", "/d/f !", "/d/g =", "/d/h\\x"})
    tree.write(name, "1 2\n");
  const std::string text = as_text(tree.root());
  tests::TemporaryFolder folder;
  from_text(text, folder.path() + "/m");
  for (const char* const name : {"/d/a = b", "/d/c -> d", "/d/e:", "/d/f !", "/d/g =", "/d/h\\x"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() + "/m" + name)) << name << "\n" << text;
  EXPECT_EQ(as_text(folder.path() + "/m"), text);
}

// A name with a zero byte was cut there, and another file was made.
TEST(MachineText, NameWithAControlCharacterIsRefused) {
  for (const std::string& line :
       {std::string("/a\0b = 1", 9), std::string("/a -> b\0c", 9), std::string("/\x01/")}) {
    tests::TemporaryFolder folder;
    EXPECT_THROW(from_text("substrata machine 1\n" + line + "\n", folder.path() + "/m"), std::runtime_error);
  }
}

TEST(MachineText, ByteWithoutTwoHexadecimalDigitsIsRefusedWithItsLine) {
  for (const char* const line : {"/a = \\xg1", "/a = \\x1", "/a = \\x"}) {
    tests::TemporaryFolder folder;
    EXPECT_THROW(from_text("substrata machine 1\n" + std::string(line) + "\n", folder.path() + "/m"),
                 std::runtime_error)
        << line;
  }
}

TEST(MachineSaving, HardwareAddressesAndNamesAreReplacedEverywhereByTheSame) {
  RecordedTree tree;
  tree.write("/proc/net/dev", "enx00e04c680001: 1 2\neth0 00:e0:4c:68:00:01 of lab7 by maria\n");
  tree.write("/sys/class/net/enx00e04c680001/ifindex", 3);
  tree.write("/sys/class/hwmon/hwmon0/name",
             "lab7.site.org 00:E0:4c:68:00:01 GPU-6ba7b810-9dad-11d1-80b4-00c04fd430c8\n");
  tree.write("/sys/class/hwmon/hwmon0/serial_label", "S3RIAL\n");
  tests::TemporaryFolder folder;
  Scrubber scrubber({"lab7.site.org", "lab7"}, {"maria"});
  save(tree.root(), folder.path() + "/m", &scrubber);
  const std::string text = as_text(folder.path() + "/m");
  for (const char* const secret : {"e04c68", "4c:68", "lab7", "maria", "6ba7b810", "S3RIAL"})
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  EXPECT_THAT(text, HasSubstr("of host by user"));
  EXPECT_THAT(text, HasSubstr("/sys/class/net/enx000000000002/ifindex"));
  EXPECT_THAT(text, HasSubstr("eth0 00:00:00:00:00:02 of"));
}

TEST(MachineSaving, PlacesOnABusAndNamesInsideWordsStay) {
  Scrubber scrubber({"lab", "cpu"}, {});
  EXPECT_EQ(scrubber.scrub("0000:01:00.0 collab label cpu 1\nlab\n"),
            "0000:01:00.0 collab label cpu 1\nhost\n");
}

TEST(MachineSaving, FileThatMayNotBeReadIsKeptAsClosed) {
  RecordedTree tree;
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", 1);
  std::filesystem::permissions(tree.root() + "/sys/class/powercap/intel-rapl:0/energy_uj",
                               std::filesystem::perms::none);
  tests::TemporaryFolder folder;
  Scrubber scrubber({}, {});
  const Saved saved = save(tree.root(), folder.path() + "/m", &scrubber);
  EXPECT_THAT(saved.closed, ::testing::ElementsAre("/sys/class/powercap/intel-rapl:0/energy_uj"));
  EXPECT_THAT(as_text(folder.path() + "/m"), HasSubstr("energy_uj !\n"));
}

TEST(MachineSaving, LinkThatGoesRoundIsLeftOut) {
  RecordedTree tree;
  tree.write("/proc/stat", "cpu 1\n");
  std::filesystem::create_directories(tree.root() + "/sys/class");
  std::filesystem::create_directory_symlink("hwmon", tree.root() + "/sys/class/hwmon");
  tests::TemporaryFolder folder;
  Scrubber scrubber({}, {});
  EXPECT_EQ(save(tree.root(), folder.path() + "/m", &scrubber).files, 1u);
}

}  // namespace
