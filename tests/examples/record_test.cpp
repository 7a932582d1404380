// Checks what the instrumented examples write: the CSV, the table per region, and how they read their
// arguments.
#include "measured/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "measured/arguments.hpp"
#include "support/lines.hpp"

namespace {

using measured::Origin;
using measured::Scope;
using testing::HasSubstr;

measured::Record sample_record() {
  measured::Record record;
  record.program = "sample";
  record.regions = {"compute", "communicate"};
  record.columns = {
      {.domain = "processor",
       .event = "perf::TASK-CLOCK",
       .unit = "ns",
       .origin = Origin::kMeasured,
       .scope = Scope::kProcess,
       .gauge = false,
       .reason = ""},
      {.domain = "temperature",
       .event = "thermal_model:::core0",
       .unit = "mdegC",
       .origin = Origin::kModelled,
       .scope = Scope::kNode,
       .gauge = true,
       .reason = ""},
      {.domain = "network",
       .event = "net:::lo:rx:packets",
       .unit = "packets",
       .origin = Origin::kAbsent,
       .scope = Scope::kNode,
       .gauge = false,
       .reason = "no such component"},
  };
  // Out of order, as ranks are gathered one after the other.
  record.rows = {
      {.time_ns = 1000,
       .rank = 0,
       .region = 0,
       .iteration = 0,
       .values = {10, 40000, 0},
       .present = {true, true, false}},
      {.time_ns = 5000,
       .rank = 0,
       .region = 1,
       .iteration = 0,
       .values = {30, 41000, 0},
       .present = {true, true, false}},
      {.time_ns = 3000,
       .rank = 1,
       .region = 0,
       .iteration = 0,
       .values = {20, 0, 0},
       .present = {true, false, false}},
      {.time_ns = 9000,
       .rank = 1,
       .region = 1,
       .iteration = 0,
       .values = {50, 43000, 0},
       .present = {true, true, false}},
  };
  return record;
}

std::string csv_of(const measured::Record& record) {
  std::ostringstream out;
  measured::write_csv(out, record);
  return out.str();
}

// CO-1
TEST(Csv, RowsAreOrderedByTimeAndUnreadValuesAreEmpty) {
  std::vector<std::string> lines = substrata::tests::lines_of(csv_of(sample_record()));
  const auto first =
      std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line[0] != '#'; });
  EXPECT_THAT(std::vector<std::string>(first, lines.end()),
              testing::ElementsAre(
                  "time_ns,rank,region,iteration,perf::TASK-CLOCK,thermal_model:::core0,net:::lo:rx:packets",
                  "1000,0,compute,0,10,40000,", "3000,1,compute,0,20,,", "5000,0,communicate,0,30,41000,",
                  "9000,1,communicate,0,50,43000,"));
}

// CO-9
TEST(Csv, HeaderSaysUnitAndOriginOfEveryColumn) {
  const std::string csv = csv_of(sample_record());
  EXPECT_THAT(
      csv,
      HasSubstr("# column perf::TASK-CLOCK: unit ns; measured; domain processor; per process; amount within "
                "the region\n"));
  EXPECT_THAT(
      csv,
      HasSubstr("# column thermal_model:::core0: unit mdegC; modelled; domain temperature; per node; level "
                "at the end of the region\n"));
  EXPECT_THAT(csv, HasSubstr("# column net:::lo:rx:packets: unit packets; absent; no such component\n"));
  for (const char* fixed : {"time_ns", "rank", "region", "iteration"}) {
    EXPECT_THAT(csv, HasSubstr("# column " + std::string(fixed) + ":"));
  }
}

TEST(Csv, FieldsWithCommasAndQuotesAreQuotedAndHeaderLinesStayOneLine) {
  measured::Record record = sample_record();
  record.columns[0].event = "odd,\"name\"";
  record.columns[2].reason = "first line\n1,2,3";
  const std::string csv = csv_of(record);
  EXPECT_THAT(csv, HasSubstr("iteration,\"odd,\"\"name\"\"\",thermal_model"));
  EXPECT_THAT(csv, HasSubstr("absent; first line 1,2,3\n"));
}

TEST(SaveCsv, UnwritablePathFailsAndNoPathWritesNothing) {
  EXPECT_TRUE(measured::save_csv("", sample_record()));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(measured::save_csv("/proc/nowhere/record.csv", sample_record()));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/proc/nowhere/record.csv"));
}

// The words of the table's line that begins with `name`.
std::vector<std::string> table_line(const std::string& table, const std::string& name) {
  for (const std::string& line : substrata::tests::lines_of(table)) {
    std::istringstream words(line);
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (!found.empty() && found[0] == name) return found;
  }
  return {};
}

TEST(PhaseTable, GivesTheMeanOfEachEventPerRegion) {
  std::ostringstream out;
  measured::write_phase_table(out, sample_record());
  const std::string table = out.str();
  EXPECT_THAT(table_line(table, "perf::TASK-CLOCK"),
              testing::ElementsAre("perf::TASK-CLOCK", "ns", "measured", "15.00", "40.00"));
  EXPECT_THAT(table_line(table, "iterations"), testing::ElementsAre("iterations", "1", "1"));
  // 1 and 3 us; 4 and 6 us.
  EXPECT_THAT(table_line(table, "elapsed"),
              testing::ElementsAre("elapsed", "time", "us", "measured", "2.00", "5.00"));
  // A value that was not read does not enter the mean.
  EXPECT_THAT(table_line(table, "thermal_model:::core0"),
              testing::ElementsAre("thermal_model:::core0", "mdegC", "modelled,", "whole", "node,", "level",
                                   "40000", "42000"));
  EXPECT_THAT(table_line(table, "net:::lo:rx:packets"),
              testing::ElementsAre("net:::lo:rx:packets", "packets", "absent", "-", "-"));
  EXPECT_THAT(table, HasSubstr("absent: net:::lo:rx:packets: no such component\n"));
}

measured::Arguments arguments(std::initializer_list<const char*> given) {
  std::vector<const char*> all = {"program"};
  all.insert(all.end(), given);
  return measured::Arguments(static_cast<int>(all.size()), all.data(), {{"size", "100"}, {"csv", ""}});
}

TEST(Arguments, DefaultsHoldUntilGiven) {
  EXPECT_EQ(arguments({}).number("size", 1, 1000), 100);
  EXPECT_EQ(arguments({"--size", "7"}).number("size", 1, 1000), 7);
  EXPECT_EQ(arguments({"--csv", "a b.csv"}).text("csv"), "a b.csv");
}

TEST(Arguments, WrongOnesAreRefusedWithAMessage) {
  EXPECT_THROW(arguments({"--sise", "7"}), std::invalid_argument);
  EXPECT_THROW(arguments({"7"}), std::invalid_argument);
  EXPECT_THROW(arguments({"--size"}), std::invalid_argument);
  for (const char* bad : {"", "x", "7x", "0", "1001", "99999999999999999999", "1.5"}) {
    EXPECT_THROW(arguments({"--size", bad}).number("size", 1, 1000), std::invalid_argument) << bad;
  }
  try {
    arguments({"--sise", "7"});
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("unknown argument '--sise'"));
    EXPECT_THAT(error.what(), HasSubstr("--size (100)"));
  }
}

}  // namespace
