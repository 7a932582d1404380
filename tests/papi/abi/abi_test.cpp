// papi.h against the tables measured on PAPI 7.0 and 7.3, and the Fortran headers that the build writes against papi.h.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "measured.hpp"

namespace {

void expect_all(const std::vector<Fact>& facts, std::size_t at_least) {
  EXPECT_GE(facts.size(), at_least) << "the table was not read whole";
  for (const Fact& fact : facts) EXPECT_EQ(fact.found, fact.expected) << fact.what;
}

// PA-10, PA-11
TEST(Abi, StructuresAndConstantsOfTheSevenThreeGenerationAreThoseMeasured) { expect_all(facts_7_3(), 900); }
TEST(Abi, StructuresAndConstantsOfTheSevenZeroGenerationAreThoseMeasured) { expect_all(facts_7_0(), 880); }

TEST(Abi, TheTwoGenerationsDifferWhereAnOldClientWouldBeOverrun) {
  std::map<std::string, long long> old_one, new_one;
  for (const Fact& fact : facts_7_0()) old_one[fact.what] = fact.found;
  for (const Fact& fact : facts_7_3()) new_one[fact.what] = fact.found;
  EXPECT_EQ(new_one["PAPI_event_info_t size"] - old_one["PAPI_event_info_t size"], 16388);
  EXPECT_EQ(new_one["PAPI_component_info_t size"] - old_one["PAPI_component_info_t size"], 1024);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// PA-14: find modules of CMake and autoconf read the version with such a pattern.
TEST(Abi, VersionLineIsLiteral) {
  const std::string text = text_of(INCLUDE_FOLDER "/papi.h");
  const std::regex line(
      "\n#define[ \t]+PAPI_VERSION[ \t]+PAPI_VERSION_NUMBER\\(([0-9]+),([0-9]+),([0-9]+),([0-9]+)\\)");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, line));
  EXPECT_EQ(found[1].str() + "." + found[2].str(), "7.3");
}

long long fortran_number(const std::string& text) {
  return text.find("2147483647") != std::string::npos && text.find('(') != std::string::npos
             ? -2147483648LL
             : std::stoll(text);
}

// Every constant of the Fortran header, by its own line pattern: the name, then the number. It has the value that the C
// compiler computes from papi.h.
void expect_fortran(const std::string& header, const std::regex& line) {
  std::map<std::string, long long> wanted;
  for (const Fact& fact : facts_7_3())
    if (fact.what.find(' ') == std::string::npos && fact.what.find("_idx") == std::string::npos)
      wanted[fact.what] = static_cast<int>(fact.found);
  const std::string text = text_of(std::string(FORTRAN_FOLDER) + "/" + header);
  if (text.empty()) GTEST_SKIP() << "the build did not write " << header << ": it found no Python";
  std::size_t count = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it, ++count) {
    const std::string name = (*it)[1].str();
    ASSERT_EQ(wanted.count(name), 1u) << header << ": " << name;
    EXPECT_EQ(fortran_number((*it)[2].str()), wanted[name]) << header << ": " << name;
  }
  EXPECT_EQ(count, wanted.size()) << header << " lacks constants or has them twice";
}

TEST(Abi, Fortran77HeaderHasEveryConstant) {
  expect_fortran("f77papi.h", std::regex("PARAMETER \\((\\w+)=(\\(\\(-2147483647\\)-1\\)|-?\\d+)\\)"));
}
TEST(Abi, Fortran90HeaderHasEveryConstant) {
  expect_fortran("f90papi.h", std::regex("(PAPIF?_\\w+) = (\\(\\(-2147483647\\)-1\\)|-?\\d+)"));
}
TEST(Abi, PreprocessedFortranHeaderHasEveryConstant) {
  expect_fortran("fpapi.h", std::regex("#define (\\w+) (\\(\\(-2147483647\\)-1\\)|-?\\d+)"));
}

}  // namespace
