// The names the two libpapi libraries export, beside the lists taken from PAPI 7.0 and 7.3.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace {

// One word of each line a command prints.
std::set<std::string> words_of(const std::string& command, size_t word) {
  std::set<std::string> words;
  std::istringstream lines(substrata::tests::shell(command).out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line);
    std::string found;
    for (size_t i = 0; i <= word; ++i) text >> found;
    words.insert(found.substr(0, found.find('@')));
  }
  return words;
}

std::set<std::string> exported_by(const std::string& library) {
  return words_of(std::string(NM) + " -D --defined-only '" + LIBRARIES + "/" + library + "'", 2);
}

std::set<std::string> listed_in(const std::string& file) {
  std::ifstream lines(std::string(TABLES) + "/" + file);
  std::set<std::string> names;
  std::string kind, name;
  while (lines >> kind >> name) names.insert(name);
  return names;
}

class Symbols : public testing::TestWithParam<const char*> {};

// PA-10, PA-11: all of PAPI's names; and nothing else, so that no client's own function is taken over.
TEST_P(Symbols, ExportedNamesAreThoseOfPapi) {
  const std::string version = GetParam();
  std::set<std::string> ours = exported_by("libpapi.so." + version);
  const std::set<std::string> theirs = listed_in("symbols-" + version + ".txt");
  ASSERT_GT(theirs.size(), 300u);
  if (std::string(SANITIZED) != "")
    for (auto name = ours.begin(); name != ours.end();)
      name = name->starts_with("__") ? ours.erase(name) : ++name;
  std::vector<std::string> missing, foreign;
  std::set_difference(theirs.begin(), theirs.end(), ours.begin(), ours.end(), std::back_inserter(missing));
  std::set_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(foreign));
  EXPECT_EQ(missing, std::vector<std::string>{});
  EXPECT_EQ(foreign, std::vector<std::string>{});
}

TEST_P(Symbols, LibraryCallsItselfByItsGeneration) {
  const std::string version = GetParam();
  const std::set<std::string> lines =
      words_of(std::string(READELF) + " -d '" + LIBRARIES + "/libpapi.so." + version + "' | grep SONAME", 4);
  EXPECT_EQ(lines, std::set<std::string>{"[libpapi.so." + version + "]"});
}

INSTANTIATE_TEST_SUITE_P(BothGenerations, Symbols, testing::Values("7.0", "7.3"), [](const auto& instance) {
  return instance.param == std::string("7.0") ? "Seven0" : "Seven3";
});

}  // namespace
