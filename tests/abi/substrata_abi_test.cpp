// What libsubstrata exports, and the types and functions of its public headers, beside the records in this folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/glob.hpp"
#include "support/program.hpp"

namespace {

using substrata::tests::has_tool;
using substrata::tests::Ran;
using substrata::tests::run;

using Names = std::set<std::string>;

const std::string kPublicNode = "SUBSTRATA";
const std::string kPrivateNode = "SUBSTRATA_PRIVATE_" VERSION;

// A constructor or destructor has a second name for the same function, for derived classes: the first one for both.
std::string first_name(std::string name) {
  for (const char* second : {"C2E", "D2E"})
    if (const size_t at = name.find(second); name.starts_with("_Z") && at != std::string::npos)
      name[at + 1] = '1';
  return name;
}

// The names of a dynamic symbol table that have this version node, without it; `which` is nm's option.
Names names_of(const std::string& libraries, const std::string& which, const std::string& node) {
  const Ran listed = run(std::string(NM) + " -D " + which + " " + libraries);
  EXPECT_EQ(listed.status, 0) << listed.out;
  std::istringstream words(listed.out);
  Names names;
  for (std::string word; words >> word;) {
    const size_t at = word.find('@');
    if (at != std::string::npos && word.substr(word.find_first_not_of('@', at)) == node)
      names.insert(first_name(word.substr(0, at)));
  }
  return names;
}

Names exported(const std::string& node) { return names_of(LIBRARY, "--defined-only", node); }

std::vector<std::string> without(const Names& all, const Names& left_out) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), left_out.begin(), left_out.end(), std::back_inserter(rest));
  return rest;
}

const std::vector<std::string> kNone;

TEST(SubstrataAbi, EveryRecordedFunctionIsExported) {
  std::ifstream file(RECORDS "/libsubstrata.symbols");
  const Names recorded{std::istream_iterator<std::string>(file), {}};
  ASSERT_GT(recorded.size(), 100u);
  EXPECT_EQ(without(recorded, exported(kPublicNode)), kNone);
}

TEST(SubstrataAbi, NoOtherFunctionIsExportedThanThoseRecorded) {
  std::ifstream file(RECORDS "/libsubstrata.symbols");
  const Names recorded{std::istream_iterator<std::string>(file), {}};
  Names ours = exported(kPublicNode);
  ours.erase(kPublicNode);  // the node itself
  EXPECT_EQ(without(ours, recorded), kNone) << "an intended one is recorded by tests/abi/record";
}

TEST(SubstrataAbi, NoCxxSymbolIsExportedOutsideThePrivateNode) {
  const Ran outside = run(std::string(NM) + " -D --defined-only '" LIBRARY "' | grep ' _Z' | grep -v '@@" +
                          kPrivateNode + "$'");
  EXPECT_EQ(outside.out, "");
}

TEST(SubstrataAbi, ThePrivateNodeHoldsAllThatTheCompanionsNeed) {
  const Names needed = names_of(COMPANIONS, "--undefined-only", kPrivateNode);
  ASSERT_GT(needed.size(), 50u);
  EXPECT_EQ(without(needed, exported(kPrivateNode)), kNone);
}

TEST(SubstrataAbi, ThePrivateNodeHoldsNothingThatNoCompanionNeeds) {
#ifndef EVERY_COMPANION
  GTEST_SKIP() << "a library that needs the private node is not built here: no MPI library was found, or "
                  "sanitizers are on";
#endif
  Names ours = exported(kPrivateNode);
  ours.erase(kPrivateNode);
  EXPECT_EQ(without(ours, names_of(COMPANIONS, "--undefined-only", kPrivateNode)), kNone)
      << "SUBSTRATA_PRIVATE_API marks these, in vain";
}

// Of the other libraries: libraries.symbols has "LIBRARY NAME" lines, sorted; a name
// may be a pattern, as MPI's functions are.
TEST(SubstrataAbi, EveryOtherLibraryExportsTheNamesOfItsRecordAlone) {
  std::map<std::string, Names> recorded;
  std::ifstream file(RECORDS "/libraries.symbols");
  for (std::string library, name; file >> library >> name;) recorded[library].insert(name);
  std::istringstream libraries(OTHERS);
  for (std::string path; libraries >> path;) {
    const std::string file_name = std::filesystem::path(path).filename();
    const std::string library = file_name.substr(0, file_name.find(".so")) + ".so";
    const Ran listed = run(std::string(NM) + " -D --defined-only '" + path +
                           "' | awk '$2 != \"A\" {sub(/@.*/, \"\", $3); print $3}'");
    std::istringstream lines(listed.out);
    Names unused = recorded[library];
    for (std::string name; lines >> name;) {
      const auto known =
          std::find_if(recorded[library].begin(), recorded[library].end(),
                       [&](const std::string& pattern) { return substrata::glob(pattern, name); });
      EXPECT_TRUE(known != recorded[library].end()) << library << " exports " << name;
      if (known != recorded[library].end()) unused.erase(*known);
    }
    EXPECT_EQ(unused, Names()) << library << " does not export what its record has";
  }
}

// For a thread-local object with a destructor the C library needs memory, and ends the process where there is none.
TEST(SubstrataAbi, NoLibraryHasAThreadLocalObjectWithADestructor) {
  const Ran needed = run(std::string(NM) + " -A -D --undefined-only " LIBRARY " " COMPANIONS " " OTHERS
                                           " | grep __cxa_thread_atexit");
  EXPECT_EQ(needed.out, "");
}

class Interface : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tool("abidiff")) GTEST_SKIP() << "abidiff is missing (package abigail-tools)";
#ifndef __x86_64__
    GTEST_SKIP() << "the record is of x86-64";
#endif
  }
  static Ran compare(const std::string& interface) {
    return run("abidiff '" RECORDS "/interface.abi' '" + interface + "'");
  }
};

TEST_F(Interface, TypesFunctionsAndNumbersOfThePublicHeadersAreThoseRecorded) {
  const Ran outcome = compare(INTERFACE);
  EXPECT_EQ(outcome.status, 0) << outcome.out << "An intended change is recorded by tests/abi/record.";
}

// The comparison sees a member that was put into the plug-ins' Configuration.
TEST_F(Interface, AStructureThatGrewInItsMiddleIsFound) {
  const Ran outcome = compare(CHANGED_INTERFACE);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.out.find("substrata::Configuration"), std::string::npos) << outcome.out;
}

}  // namespace
