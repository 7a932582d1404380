// `substrata module`, and the folder of modules that it fills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/program.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata::tests;
using testing::ContainsRegex;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kText =
    "module long_writes \"sizes of long writes\" {\n"
    "  register least = 16 in 1..4096 \"bytes\";\n"
    "  input -> filter(kind == WRITE && size >= least) -> counter;\n"
    "}\n";

class ModuleCommand : public testing::Test {
 protected:
  Ran module(const std::string& arguments) const {
    return shell("SUBSTRATA_OWL_LIBRARY=" + (folder_ / "library") + " " + SUBSTRATA_TOOL + " module " +
                 arguments);
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::string in_library(const std::string& name) const { return folder_ / ("library/" + name); }

 private:
  TemporaryFolder folder_;
};

TEST_F(ModuleCommand, ListsAndShowsWhatTheLibraryHas) {
  const Ran listed = module("list");
  EXPECT_EQ(listed.status, 0) << listed.errors;
  EXPECT_THAT(listed.out, HasSubstr("histogram"));
  const Ran shown = module("show histogram");
  EXPECT_THAT(shown.out, HasSubstr("register counters       64 [1 .. 65536]"));
  EXPECT_THAT(shown.out, HasSubstr("metric   EVICTIONS"));
  const Ran unknown = module("show histogramm");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("histogramm"));
}

TEST_F(ModuleCommand, PutsACompositionWhereProgramsFindIt) {
  const Ran built = module("build " + file("any.owl", kText));
  ASSERT_EQ(built.status, 0) << built.errors;
  EXPECT_TRUE(fs::exists(in_library("long_writes.owl")));
  const Ran shown = module("show long_writes");
  EXPECT_EQ(shown.status, 0) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("register least          16 [1 .. 4096] live bytes"));
}

// Whose code a running program has in its memory: the copy with another name is the same file.
TEST_F(ModuleCommand, BuildingAgainLeavesTheFileThatRunningProgramsHave) {
  ASSERT_EQ(module("build " + file("any.owl", kText)).status, 0);
  fs::create_hard_link(in_library("long_writes.owl"), in_library("held"));
  const Ran built = module("build " + file("any.owl", std::string("# changed\n") + kText));
  ASSERT_EQ(built.status, 0) << built.errors;
  EXPECT_EQ(contents(in_library("held")), kText);
  EXPECT_EQ(contents(in_library("long_writes.owl")), std::string("# changed\n") + kText);
}

TEST_F(ModuleCommand, RefusesAWrongCompositionAtItsPlaceAndKeepsTheLibrary) {
  const Ran built =
      module("build " + file("wrong.owl", "module wrong {\n  input -> filtr(1) -> counter;\n}\n"));
  EXPECT_EQ(built.status, 1);
  EXPECT_THAT(built.errors,
              HasSubstr("wrong.owl:2:12: there is no sub-module 'filtr'; did you mean 'filter'?"));
  EXPECT_FALSE(fs::exists(in_library("wrong.owl")));
}

TEST_F(ModuleCommand, WhatDoesNotFitInTheLibraryIsNamedAndTheOthersStay) {
  ASSERT_EQ(module("build " + file("good.owl", kText)).status, 0);
  file("library/broken.owl", "module broken { }");
  const Ran listed = module("list");
  EXPECT_EQ(listed.status, 0);
  EXPECT_THAT(listed.out, HasSubstr("long_writes"));
  EXPECT_THAT(listed.errors, HasSubstr("broken.owl:1:17: nothing is fed"));
}

TEST_F(ModuleCommand, NeedsAFolderToBuildInto) {
  const Ran built =
      shell("unset SUBSTRATA_OWL_LIBRARY; " SUBSTRATA_TOOL " module build " + file("any.owl", kText));
  EXPECT_EQ(built.status, 1);
  EXPECT_THAT(built.errors, HasSubstr("set SUBSTRATA_OWL_LIBRARY"));
}

TEST_F(ModuleCommand, TriesOneModuleAtFivePlaces) {
  // Page faults may be refused here.
  const Ran tried = module("try " + file("any.owl", kText) + " --registers least=1");
  EXPECT_THAT(tried.out, HasSubstr("in five capsules")) << tried.errors;
  for (const char* place : {"L1-L2", "L2-memory", "NUMAchine bus", "Myrinet interface", "page faults"})
    EXPECT_THAT(tried.out, HasSubstr(std::string("\n") + place));
  EXPECT_THAT(tried.out, ContainsRegex("L1-L2 +modelled +[1-9]"));
  const Ran wrong = module("try histogram --registers counters=0");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.errors, HasSubstr("counters"));
}

}  // namespace
