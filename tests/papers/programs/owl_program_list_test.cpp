// Tests of the list of programs for the Owl paper's claims and of those that are ours.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "papers/owl_program_list.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::papers {
namespace {

class OwlProgramList : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ + "/first");
    programs_ = owl_programs(folder_ + "/first");
  }
  static std::vector<const OwlProgram*> ours(const std::vector<OwlProgram>& list) {
    std::vector<const OwlProgram*> result;
    for (const OwlProgram& each : list)
      if (each.wanted == "substrata's own programs") result.push_back(&each);
    return result;
  }
  static int status_of(const OwlProgram& program, const std::string& argument) {
    const int status = std::system(("'" + program.program + "' " + argument + " </dev/null").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static std::map<std::string, std::string> contents(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files[std::filesystem::relative(entry.path(), folder).string()] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  }
  const substrata::tests::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::vector<OwlProgram> programs_;
};

// OW-8, OW-12: the paper's range of applications.
TEST_F(OwlProgramList, HasOneProgramForEachRowOfThePapersTableInItsOrder) {
  std::vector<std::string> rows;
  for (const OwlProgram& each : programs_)
    if (!each.paper.empty()) rows.push_back(each.paper);
  EXPECT_EQ(rows, (std::vector<std::string>{"gzip", "swim", "vpr", "gcc", "mesa", "art", "crafty", "ammp",
                                            "gap", "bzip2"}));
}

TEST_F(OwlProgramList, HasTheProgramsOfSplashToo) {
  std::vector<std::string> others;
  for (const OwlProgram& each : programs_)
    if (each.paper.empty()) others.push_back(each.name);
  EXPECT_EQ(others, (std::vector<std::string>{"fft", "lu", "ocean", "radix", "water"}));
}

TEST_F(OwlProgramList, CallsEveryProgramButTheRowsOwnAStandIn) {
  for (const OwlProgram& each : programs_) {
    const bool of_debian =
        each.name == "gzip" || each.name == "gcc" || each.name == "gap" || each.name == "bzip2";
    EXPECT_EQ(each.stand_in, !each.paper.empty() && !of_debian) << each.name;
    if (of_debian) {
      EXPECT_EQ(each.name, each.paper);
    }
  }
}

TEST_F(OwlProgramList, NamesWhatIsWantedForEachProgramAndDistinguishesItFromTheIdleOne) {
  for (const OwlProgram& each : programs_) {
    EXPECT_FALSE(each.wanted.empty()) << each.name;
    EXPECT_FALSE(each.what.empty()) << each.name;
    EXPECT_TRUE(each.task.arguments != each.idle.arguments || each.task.input != each.idle.input)
        << each.name;
    EXPECT_LE(std::max(each.task.input.size(), each.idle.input.size()), 4096u) << each.name;
  }
}

TEST_F(OwlProgramList, MakesTheSameInputsEveryTime) {
  std::filesystem::create_directory(folder_ + "/second");
  owl_programs(folder_ + "/second");
  const auto first = contents(folder_ + "/first");
  EXPECT_GE(first.size(), 5u);
  EXPECT_GE(first.at("text").size(), size_t{64} << 10);
  EXPECT_EQ(first, contents(folder_ + "/second"));
}

TEST_F(OwlProgramList, RefusesAFolderThatIsNotThereWithItsName) {
  std::ofstream(folder_ + "/file") << "no folder";
  try {
    owl_programs(folder_ + "/file");
    FAIL() << "inputs were written nowhere";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(folder_ + "/file"), std::string::npos) << error.what();
  }
}

TEST_F(OwlProgramList, FindsAProgramByItsPathOnlyWhereItIs) {
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program(folder_ + "/sh"), "");
  EXPECT_EQ(find_program("a program that nobody has"), "");
  EXPECT_NE(find_program("sh"), "");
}

// Each compares its result with an oracle: conserved sums, all pairs, every triangle, and so on.
TEST_F(OwlProgramList, EveryProgramOfOursGivesTheRightResult) {
  ASSERT_GE(ours(programs_).size(), 10u);
  for (const OwlProgram* const each : ours(programs_)) {
    ASSERT_NE(each->program, "") << each->name;
    EXPECT_EQ(status_of(*each, "check"), 0) << each->name;
  }
}

TEST_F(OwlProgramList, EveryProgramOfOursEndsWellWithAndWithoutWork) {
  for (const OwlProgram* const each : ours(programs_)) {
    ASSERT_EQ(each->idle.arguments, std::vector<std::string>{"idle"}) << each->name;
    EXPECT_EQ(status_of(*each, "idle"), 0) << each->name;
    EXPECT_EQ(status_of(*each, ""), 0) << each->name;
  }
}

}  // namespace
}  // namespace substrata::papers
