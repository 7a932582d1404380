// PAPI's utilities by name: exit status, output shape as PAPI's, and that what they print is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace substrata::tests;
using testing::HasSubstr;

Ran utility(const std::string& command) { return shell(std::string(SUBSTRATA_PROGRAMS) + "/" + command); }

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

// The lines that match as a whole.
std::vector<std::smatch::string_type> matching(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> list;
  for (const std::string& line : lines(text))
    if (std::regex_match(line, expression)) list.push_back(line);
  return list;
}

bool can_count(const std::string& event) {
  const Ran ran = utility("papi_command_line " + event);
  return ran.status == 0 && ran.out.find("Successfully added: " + event) != std::string::npos;
}

// PA-13
TEST(PapiAvail, ListsEveryPresetInPapisColumns) {
  const std::string out = printed(utility("papi_avail"));
  EXPECT_THAT(out, HasSubstr("    Name        Code    Avail Deriv Description (Note)\n"));
  EXPECT_GE(matching(out, "PAPI_[A-Z0-9_]+ +0x800000[0-9a-f]{2}  (Yes|No)  +(Yes|No)  +.+").size(), 108u);
  EXPECT_THAT(out, testing::ContainsRegex(
                       "Of [0-9]+ possible events, [0-9]+ are available, of which [0-9]+ are derived"));
  for (const char* field :
       {"PAPI version             : ", "Total cores              : ", "Number Hardware Counters : "})
    EXPECT_THAT(out, HasSubstr(field));
}

// PA-23
TEST(PapiAvail, EveryPresetItCallsAvailableCanBeAdded) {
  const std::string out = printed(utility("papi_avail -a"));
  EXPECT_THAT(out, HasSubstr("    Name        Code    Deriv Description (Note)\n"));
  const std::vector<std::string> presets = matching(out, "PAPI_[A-Z0-9_]+ +0x8[0-9a-f]+ .*");
  EXPECT_THAT(out, HasSubstr("Of " + std::to_string(presets.size()) + " available events"));
  for (const std::string& line : presets) {
    const std::string name = line.substr(0, line.find(' '));
    EXPECT_TRUE(can_count(name)) << name;
  }
  EXPECT_EQ(matching(utility("papi_avail -c").out, "PAPI_[A-Z0-9_]+ +0x8[0-9a-f]+ .*"), presets);
}

// 200 characters were repeated in each row.
TEST(PapiAvail, AReasonOfManyPresetsIsPrintedOnce) {
  const std::string out = utility("papi_avail").out;
  for (const char* reason :
       {"no table defines it for this processor", "the kernel has no PMU", "no hardware PMU is visible"})
    EXPECT_LE(count_of(out, reason), 1u) << reason;
}

TEST(PapiAvail, FiltersAndDescribes) {
  const Ran filtered = utility("papi_avail --tlb");
  EXPECT_EQ(filtered.status, 0);
  EXPECT_THAT(filtered.out, HasSubstr("PAPI_TLB_DM"));
  EXPECT_THAT(filtered.out, testing::Not(HasSubstr("PAPI_TOT_CYC")));
  EXPECT_THAT(printed(utility("papi_avail -e PAPI_TOT_CYC")),
              HasSubstr("Event Code:                   0x8000003b\n"));
  EXPECT_EQ(utility("papi_avail -e PAPI_NO_SUCH").status, 1);
  EXPECT_EQ(utility("papi_avail --no-such-option").status, 2);
}

TEST(PapiNativeAvail, BoxesHoldEveryComponentsEvents) {
  const std::string out = printed(utility("papi_native_avail --noqual"));
  EXPECT_THAT(out, HasSubstr(" Native Events in Component: example\n"));
  EXPECT_EQ(matching(out, "\\| example:::[a-z]+ +\\|").size(), 4u);
  for (const std::string& line : lines(out))
    if (!line.empty() && line.front() == '|') {
      EXPECT_EQ(line.size(), 80u) << line;
    }
  std::smatch total;
  ASSERT_TRUE(std::regex_search(out, total, std::regex("Total events reported: ([0-9]+)\n")));
  EXPECT_EQ(std::stoul(total[1]), count_of(out, "|\n--------"));
}

// PA-23, PA-37
TEST(PapiNativeAvail, EveryEventItListsCanBeAdded) {
  const Ran ran = utility("papi_native_avail --noqual -x net:::");
  const std::vector<std::string> events = matching(ran.out, "\\| [a-z_]+:::?[^ ]+ +\\|");
  EXPECT_GE(events.size(), 4u);
  std::string names;
  for (const std::string& line : events)
    names += " '" + line.substr(2, line.find_first_of(" |", 2) - 2) + "'";
  const Ran counted = utility("papi_command_line" + names);
  EXPECT_EQ(count_of(counted.out, "Successfully added"), events.size()) << counted.out;
}

TEST(PapiNativeAvail, IncludesExcludesAndDescribes) {
  const Ran included = utility("papi_native_avail -i reads");
  EXPECT_THAT(included.out, HasSubstr("example:::reads"));
  EXPECT_THAT(included.out, testing::Not(HasSubstr("example:::zero")));
  const Ran excluded = utility("papi_native_avail -x reads");
  EXPECT_THAT(excluded.out, testing::Not(HasSubstr("example:::reads")));
  const Ran one = utility("papi_native_avail -e example:::constant");
  EXPECT_EQ(one.status, 0);
  EXPECT_THAT(one.out, HasSubstr("Always 42"));
  EXPECT_EQ(utility("papi_native_avail -e example:::nothing").status, 1);
}

// PA-12, PA-31
TEST(PapiNativeAvail, ListsWhatALibraryPublishes) {
  const std::string out = printed(utility("papi_native_avail -i Solver -sde " PUBLISHER));
  EXPECT_EQ(matching(out, "\\| sde:::Solver::(SOLVED|ITERATIONS) +\\|").size(), 2u) << out;
  EXPECT_THAT(out, HasSubstr("systems solved"));
  const Ran absent = utility("papi_native_avail -sde /no/such/library.so");
  EXPECT_EQ(absent.status, 1);
  EXPECT_THAT(absent.errors, HasSubstr("/no/such/library.so"));
  EXPECT_EQ(utility("papi_native_avail -sde").status, 2);
}

// PA-20
TEST(PapiHybridNativeAvail, ReportsTheTypesOfCores) {
  const Ran here = utility("papi_hybrid_native_avail -i TASK-CLOCK");
  ASSERT_EQ(here.status, 0) << here.errors;
  EXPECT_THAT(here.out, testing::ContainsRegex("Total events reported: [0-9]+\n"));
  const TemporaryFolder devices;
  devices.write("cpu_core/cpus", "0-15\n");
  devices.write("cpu_atom/cpus", "16-23\n");
  devices.write("software/type", "1\n");
  const Ran hybrid = utility("papi_hybrid_native_avail --noumasks -i no-such --devices " + devices.path());
  ASSERT_EQ(hybrid.status, 0) << hybrid.errors;
  EXPECT_THAT(hybrid.out, HasSubstr("Core type cpu_atom             processors 16-23\n"
                                    "Core type cpu_core             processors 0-15\n"));
  EXPECT_EQ(utility("papi_hybrid_native_avail --mic 1").status, 1);
}

TEST(PapiComponentAvail, ReportsWhichAreActive) {
  const std::string out = printed(utility("papi_component_avail -d"));
  const std::size_t active = out.find("Active components:\n");
  ASSERT_NE(active, std::string::npos);
  EXPECT_LT(out.find("Compiled-in components:\n"), active);
  EXPECT_NE(out.find("Name:   example ", active), std::string::npos);
  EXPECT_THAT(out, testing::ContainsRegex("Native: [0-9]+, Preset: [0-9]+, Counters: [0-9]+"));
}

TEST(PapiCommandLine, CountsEventsOfSeveralComponents) {
  const Ran ran = utility("papi_command_line example:::constant memory:::READS");
  ASSERT_EQ(ran.status, 0) << ran.out << ran.errors;
  EXPECT_THAT(ran.out,
              HasSubstr("Successfully added: example:::constant\nSuccessfully added: memory:::READS\n"));
  EXPECT_THAT(ran.out, HasSubstr("example:::constant : \t42 \n"));
  EXPECT_THAT(utility("papi_command_line -x example:::constant").out, HasSubstr("0x2a"));
}

TEST(PapiCommandLine, FailsWhenAnEventIsRefused) {
  const Ran ran = utility("papi_command_line no:::such example:::zero");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, HasSubstr("Failed adding: no:::such\nbecause: "));
  EXPECT_THAT(ran.out, HasSubstr("example:::zero : \t0 \n"));
}

// PA-38
TEST(PapiCost, MeasuresWithEventsThatCanBeCounted) {
  const std::string out = printed(utility("papi_cost -t 200 -p -s -d -b 5 TESTS_QUIET"));
  for (const char* call :
       {"loop latency", "PAPI_start/stop", "PAPI_read (", "PAPI_read_ts", "PAPI_accum", "PAPI_reset"})
    EXPECT_THAT(out, HasSubstr(std::string("Total cost for ") + call));
  EXPECT_EQ(count_of(out, "over 200 iterations\nmin cycles   : "), 6u);
  EXPECT_EQ(utility("papi_cost -t 0").status, 2);
}

// PA-36, PA-38
TEST(PapiMultiplexCost, MeasuresEveryMode) {
  const Ran ran = utility("papi_multiplex_cost -m 1 -x 2 -t 20");
  if (!can_count("perf::TASK-CLOCK")) GTEST_SKIP() << "no processor counter to multiplex: " << ran.errors;
  const std::string out = printed(ran);
  for (const char* mode : {"none", "kernel", "software"})
    EXPECT_EQ(matching(out, std::string(mode) + " +[12] +[0-9.]+ .*").size(), 2u) << out;
  EXPECT_EQ(utility("papi_multiplex_cost -m 0").status, 2);
}

TEST(PapiClockres, ExaminesFourClocks) {
  const std::string out = printed(utility("papi_clockres"));
  for (const char* clock : {"real_cyc", "real_usec", "virt_cyc", "virt_usec"})
    EXPECT_THAT(out, HasSubstr(std::string("PAPI_get_") + clock + ": min "));
}

TEST(PapiDecode, GivesOneLineAPreset) {
  const std::string out = printed(utility("papi_decode"));
  EXPECT_EQ(lines(out).front(), "name,derived,postfix,short_descr,long_descr,note,[native,...]");
  EXPECT_GE(matching(out, "PAPI_[A-Z0-9_]+,[A-Z_0-9]+,[^\"]*,\"[^\"]*\",\"[^\"]*\",.*").size(), 108u);
}

TEST(PapiErrorCodes, GivesThemAll) {
  const std::string out = printed(utility("papi_error_codes"));
  EXPECT_EQ(matching(out, "Error code +-?[0-9]+: .+").size(), 29u);
  EXPECT_THAT(out, HasSubstr("There are 29 error codes defined\n"));
}

TEST(PapiEventChooser, ListsWhatFitsBeside) {
  const std::string out = printed(utility("papi_event_chooser NATIVE example:::zero"));
  EXPECT_THAT(out, HasSubstr("example:::reads\t0x"));
  EXPECT_THAT(out, testing::Not(HasSubstr("net:::")));
  EXPECT_THAT(out, testing::ContainsRegex("Total events reported: [1-9]"));
  EXPECT_EQ(utility("papi_event_chooser").status, 1);
  EXPECT_EQ(utility("papi_event_chooser PRESET PAPI_NO_SUCH").status, 1);
}

// PA-38
TEST(PapiHardwareAvail, ReportsTheMemoryOfEachNode) {
  const std::string out = printed(utility("papi_hardware_avail"));
  EXPECT_THAT(out, testing::ContainsRegex("Numa Node 0 Memory +: [1-9][0-9]*MB"));
  EXPECT_THAT(out, HasSubstr("\\-> Status: "));
}

TEST(PapiMemInfo, ReportsTheCaches) {
  const std::string out = printed(utility("papi_mem_info"));
  EXPECT_THAT(out, HasSubstr("Cache Information."));
  EXPECT_EQ(count_of(out, "  Total size: "), count_of(out, "  Line size: "));
}

TEST(PapiVersion, ReportsTheVersion) {
  const std::string out = printed(utility("papi_version"));
  EXPECT_TRUE(std::regex_match(out, std::regex("PAPI Version: 7\\.3\\.0\\.0\n"))) << out;
}

TEST(PapiXmlEventInfo, IsWellFormedAndNamesTheEvents) {
  const std::string out = printed(utility("papi_xml_event_info"));
  EXPECT_THAT(out,
              testing::ContainsRegex("<event index=\"[0-9]+\" name=\"example:::constant\" desc=\"[^\"]+\">"));
  if (shell("command -v python3").status != 0) GTEST_SKIP() << "no python3 to parse the XML with";
  const Ran parsed = shell(std::string(SUBSTRATA_PROGRAMS) +
                           "/papi_xml_event_info | python3 -c 'import sys, xml.etree.ElementTree as tree; "
                           "print(len(tree.parse(sys.stdin).findall(\".//event\")))'");
  EXPECT_EQ(parsed.status, 0) << parsed.errors;
  EXPECT_EQ(std::stoul(parsed.out), count_of(out, "<event index="));
  EXPECT_EQ(utility("papi_xml_event_info -c 9999").status, 1);
}

// Two ranks of two threads; the second rank's are 3 and 4 times as long as the first thread's.
std::string report(int first, int second) {
  const auto region = [](const std::string& id, const std::string& name, long long k) {
    return "\"" + id + "\":{\"name\":\"" + name + "\",\"parent_region_id\":\"-1\",\"cycles\":\"" +
           std::to_string(4000 * k) + "\",\"real_time_nsec\":\"" + std::to_string(2000000000 * k) +
           "\",\"perf::TASK-CLOCK\":\"" + std::to_string(1500000000 * k) + "\",\"PAPI_TOT_INS\":\"" +
           std::to_string(3000 * k * k) + "\",\"PAPI_TOT_CYC\":\"" + std::to_string(2000 * k) +
           "\",\"PAPI_FP_OPS\":\"" + std::to_string(7000000 * k) + "\",\"coretemp:::x\":\"" +
           std::to_string(45000 + k) + "\"}";
  };
  return "{\"papi_version\":\"7.3.0.0\",\"event_definitions\":{\"PAPI_TOT_INS\":{\"component\":\"perf_"
         "event\","
         "\"type\":\"delta\"},\"coretemp:::x\":{\"component\":\"coretemp\",\"type\":\"instant\"}},"
         "\"threads\":{\"0\":{\"regions\":{" +
         region("0", "a", first) + "}},\"1\":{\"regions\":{" + region("0", "a", second) + "," +
         region("1", "alone", 5) + "}}}}";
}

// PA-13, PA-15: names, keys and figures as PAPI's own script gives them for the same reports.
TEST(PapiHlOutputWriter, SumsUpAndJoinsReportsAsPapisOwn) {
  const TemporaryFolder folder;
  folder.write("reports/rank_0000.json", report(1, 2));
  folder.write("reports/rank_0007.json", report(3, 4));
  folder.write("reports/other.json", "no report");
  const std::string command = "cd " + folder.path() + " && " SUBSTRATA_PROGRAMS "/papi_hl_output_writer ";
  if (utility("papi_hl_output_writer --help").status == 127) GTEST_SKIP() << "not built: no nlohmann-json";
  Ran ran = shell(command + "--source reports");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(contents(folder.file("papi_sum.json")), ran.out);
  EXPECT_THAT(ran.out, HasSubstr(R"(    "a": {
        "Region count": 4,
        "Real time in s": 8.0,
        "CPU time in s": 15.0,
        "IPC": 4.5,
        "MFLOPS/s": 3.5,
        "coretemp:::x": {
            "min": 45001,
            "median": 45002.5,
            "max": 45004
        },
        "Number of ranks": 2,
        "Number of threads per rank": 2
    },
)"));
  ran = shell(command + "--source reports --notation raw");
  EXPECT_THAT(ran.out, HasSubstr(R"(        "PAPI_TOT_INS": {
            "total": 90000,
            "min": 3000,
            "median": 19500.0,
            "max": 48000
        },
)"));
  ran = shell(command + "--source reports --type detail");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(contents(folder.file("papi.json")), ran.out);
  EXPECT_THAT(ran.out, HasSubstr(R"(        "7": {
            "threads": {
                "0": {
                    "regions": {
                        "0": {
                            "name": "a",
                            "Real time in s": 6.0,
                            "CPU time in s": 4.5,
                            "IPC": 4.5,
                            "MFLOPS/s": 3.5,
                            "coretemp:::x": 45003.0
)"));
  folder.write("reports/rank_0008.json", "{\"threads\": {\"0\": {}}}");
  EXPECT_EQ(shell(command + "--source reports").status, 1) << "a report without regions";
  EXPECT_EQ(shell(command + "--source nowhere").status, 1);
  EXPECT_EQ(shell(command + "--type other").status, 2);
}

TEST(PapiHlOutputWriter, RefusesAReportOfListsInListsAndLives) {
  if (utility("papi_hl_output_writer --help").status == 127) GTEST_SKIP() << "not built: no nlohmann-json";
  const TemporaryFolder folder;
  constexpr size_t kNested = 500'000;
  folder.write("reports/rank_0000.json", R"({"threads":{"0":{"regions":{"0":{"name":"a","x":)" +
                                             std::string(kNested, '[') + std::string(kNested, ']') + "}}}}}");
  const Ran ran =
      shell("cd " + folder.path() +
            " && " SUBSTRATA_PROGRAMS "/papi_hl_output_writer --type detail --notation raw --source reports");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("lists lie in lists too deeply"));
}

// One that looks through all passes for each takes three minutes of a processor, this one some seconds.
TEST(PapiHlOutputWriter, JoinsManyPassesWithinTwoMinutesOfAProcessor) {
  if (utility("papi_hl_output_writer --help").status == 127) GTEST_SKIP() << "not built: no nlohmann-json";
  const TemporaryFolder folder;
  constexpr int kPasses = substrata::tests::kSanitized ? 50'000 : 500'000;
  std::string text = R"({"threads":{"0":{"regions":{)";
  for (int i = 0; i < kPasses; ++i)
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"name":"a","real_time_nsec":"2"})";
  folder.write("reports/rank_0000.json", text + "}}}}");
  const std::string out = printed(shell("cd " + folder.path() +
                                        " && ulimit -t 120 && " SUBSTRATA_PROGRAMS
                                        "/papi_hl_output_writer --notation raw --source reports"));
  EXPECT_THAT(out, HasSubstr("\"region_count\": " + std::to_string(kPasses)));
  EXPECT_THAT(out, HasSubstr("\"total\": " + std::to_string(2 * kPasses)));
}

}  // namespace
