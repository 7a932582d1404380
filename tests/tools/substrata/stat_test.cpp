// `substrata stat` as its users meet it: repetitions, intervals, fields, processors, running processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/lines.hpp"
#include "support/tool.hpp"

namespace {

using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line)
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  return out;
}

bool processors_are_counted() { return tool("stat -a -e perf::CONTEXT-SWITCHES -- true").status == 0; }
bool perf_opens() { return tool("stat -e perf::TASK-CLOCK -- true").status == 0; }

TEST(StatOptions, RepeatedRunsGiveTheirNumberAndAnError) {
  const Ran ran = tool("stat -r 3 -e 'example:::constant' -- echo once");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out, "once\nonce\nonce\n");
  EXPECT_THAT(ran.errors, HasSubstr("(3 runs)"));
  EXPECT_THAT(ran.errors, HasSubstr("+-"));
}

TEST(StatOptions, ASignalToEndEndsTheSeriesOfRuns) {
  const TemporaryFolder folder;
  const std::string count = folder.file("count");
  const Ran ran = tool("stat -r 5 -e 'example:::constant' -- sh -c 'echo x >> " + count +
                       "; kill -TERM $PPID; sleep 60'");
  EXPECT_EQ(ran.status, 143) << ran.errors;
  EXPECT_EQ(contents(count), "x\n") << "no run after the one that was ended";
}

TEST(StatOptions, AProcessIsBusyForNoLongerThanItWasCounted) {
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const Ran ran = shell("sh -c 'while :; do :; done' & p=$!; " SUBSTRATA_TOOL
                        " stat -j -p $p -e perf::TASK-CLOCK -- true; s=$?; kill $p; exit $s");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json report = json::parse(ran.errors);
  const double counted_s = 1e-9 * report.at("events").at(0).at("value").get<double>();
  constexpr double kClocksDiffer = 1.05;
  EXPECT_LE(counted_s, kClocksDiffer * report.at("seconds").get<double>()) << ran.errors;
}

TEST(StatOptions, TheFirstRunThatFailsGivesTheStatus) {
  const TemporaryFolder folder;
  const std::string count = folder.file("count");
  const Ran ran = tool("stat -r 3 -e 'example:::constant' -- sh -c 'echo x >> " + count +
                       "; exit $(wc -l < " + count + ")'");
  EXPECT_EQ(ran.status, 1) << ran.errors;
  EXPECT_EQ(contents(count), "x\nx\nx\n") << "the others run all the same";
}

TEST(StatOptions, FieldsComeInTheOrderOfPerf) {
  const Ran ran = tool("stat -x, -e 'example:::constant' -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const std::vector<std::string> fields = fields_of(lines_of(ran.errors).at(0));
  ASSERT_EQ(fields.size(), 7u) << ran.errors;
  EXPECT_EQ(fields[0], "42");
  EXPECT_EQ(fields[2], "example:::constant");
  EXPECT_EQ(fields[4], "100.00") << "share of the wanted time";
}

TEST(StatOptions, FieldsOfARegionEndInItsName) {
  const Ran ran = tool(
      "stat -x, -i 10ms -e 'example:::constant' -- "
      "sh -c 'echo begin work >> $SUBSTRATA_MARKS; sleep 0.1; echo end work >> $SUBSTRATA_MARKS'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines_of(ran.errors)) rows.push_back(fields_of(line));
  ASSERT_EQ(rows.size(), 2u) << ran.errors;
  EXPECT_EQ(rows[0].size(), 7u) << "the whole, as perf has it";
  ASSERT_EQ(rows[1].size(), 9u) << ran.errors;
  EXPECT_EQ(rows[1][2], "example:::constant");
  EXPECT_EQ(rows[1][7], "work");
  EXPECT_EQ(rows[1][8], "1");
}

TEST(StatOptions, ErrorsOfSeveralRunsAreAFieldOfTheirOwn) {
  const Ran ran = tool("stat -r 2 -x, -e 'example:::constant' -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(fields_of(lines_of(ran.errors).at(0)).at(3), "0.00%");
}

TEST(StatOptions, CountsOfIntervalsAddUpToTheTotal) {
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const TemporaryFolder folder;
  const Ran ran = tool("stat -I 20ms -j -e perf::PAGE-FAULTS -o " + folder.file("o") +
                       " -- sh -c 'for i in 1 2 3 4 5; do head -c 1000000 /dev/zero | md5sum; done'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  std::int64_t sum = 0;
  double before = 0;
  for (const std::string& line : lines_of(contents(folder.file("o")))) {
    const json interval = json::parse(line);
    EXPECT_GT(interval.at("interval"), before);
    before = interval.at("interval");
    EXPECT_GE(interval.at("events")[0].at("value"), 0);
    sum += interval.at("events")[0].at("value").get<std::int64_t>();
  }
  EXPECT_GT(sum, 500) << "five shells' worth of programs";
}

TEST(StatOptions, IntervalsHaveTheirTimesAndTheTotalFollows) {
  const Ran ran = tool("stat -I 20ms -e 'example:::constant' -- sleep 0.07");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_GE(count_of(ran.errors, "example:::constant"), 3u) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("elapsed"));
}

TEST(StatOptions, ProcessorTimeStandsBesideTheProcessorsThatItKept) {
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  EXPECT_THAT(tool("stat -e perf::TASK-CLOCK -- true").errors, HasSubstr("CPUs utilized"));
}

TEST(StatOptions, WhatTheMachineDoesNotCountHasALineAndAReason) {
  const Ran ran = tool("stat -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  if (ran.errors.find("<not supported>") == std::string::npos) GTEST_SKIP() << "every usual event opens here";
  EXPECT_THAT(ran.errors, HasSubstr("\nnot supported: ")) << ran.errors;
}

TEST(StatOptions, PeakMemoryIsThatOfTheLargestProcess) {
  const TemporaryFolder folder;
  ASSERT_EQ(tool("stat -j -e 'example:::constant' -o " + folder.file("o") +
                 " -- dd if=/dev/zero of=/dev/null bs=32M count=1")
                .status,
            0);
  const double bytes = json::parse(contents(folder.file("o"))).at("peak_memory_bytes");
  EXPECT_GT(bytes, 32.0 * 1048576);
  EXPECT_LT(bytes, 48.0 * 1048576);
}

TEST(StatOptions, PeakMemoryOfASmallCommandIsABound) {
  const TemporaryFolder folder;
  ASSERT_EQ(tool("stat -j -e 'example:::constant' -o " + folder.file("o") + " -- true").status, 0);
  EXPECT_EQ(json::parse(contents(folder.file("o"))).value("peak_memory_at_most", false), true);
}

TEST(StatOptions, TheWholeMachineIsCountedWhileTheCommandRuns) {
  if (!processors_are_counted()) GTEST_SKIP() << tool("stat -a -e perf::CONTEXT-SWITCHES -- true").errors;
  const Ran ran = tool("stat -a -e perf::CONTEXT-SWITCHES -- sh -c 'sleep 0.01; exit 5'");
  EXPECT_EQ(ran.status, 5);
  EXPECT_THAT(ran.errors, HasSubstr("whole machine during sh -c"));
}

TEST(StatOptions, CoresApartAddUpToTheProcessorsTogether) {
  if (!processors_are_counted()) GTEST_SKIP() << tool("stat -a -e perf::CONTEXT-SWITCHES -- true").errors;
  const Ran ran = tool("stat -C 0 --per-core -x, -e perf::CONTEXT-SWITCHES -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const std::vector<std::string> fields = fields_of(lines_of(ran.errors).at(0));
  EXPECT_THAT(fields.at(0), testing::MatchesRegex("S[0-9]+-C[0-9]+"));
  EXPECT_EQ(fields.at(1), "1") << "one processor of that core";
  EXPECT_EQ(fields.at(4), "perf::CONTEXT-SWITCHES");
}

TEST(StatOptions, ARunningProcessIsCountedUntilItEnds) {
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const Ran ran = shell("sleep 3 & " SUBSTRATA_TOOL " stat -p $! -e perf::TASK-CLOCK");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("the process ended"));
}

// Both count one process from before its work to its end: it waits until both have opened their events.
TEST(StatBesidePerf, ProcessorTimeAndFaultsOfOneRunAreEqualWithinAPercent) {
  if (!has_tool("perf")) GTEST_SKIP() << "perf (Debian: linux-perf) is not installed";
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const TemporaryFolder folder;
  const Ran ran = shell("cd " + folder.path() + R"( && mkfifo go
sh -c 'read x < go; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; perl -e "\$x = q{a} x 33554432"' & p=$!
perf stat -x, -e task-clock,page-faults -p $p -o perf & q=$!
)" SUBSTRATA_TOOL R"( stat -p $p -x, -e perf::TASK-CLOCK,perf::PAGE-FAULTS -o ours & r=$!
opened() { ls -l /proc/$1/fd 2> /dev/null | grep -c perf_event; }
i=0; while [ $i -lt 400 ] && { [ $(opened $q) -lt 2 ] || [ $(opened $r) -lt 2 ]; }; do i=$((i+1)); sleep 0.05; done
sleep 0.1; echo > go; wait $q; echo $? > status; wait $r)");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  if (contents(folder.file("status")) != "0\n") GTEST_SKIP() << "perf does not count here: " << ran.errors;
  std::map<std::string, double> perf, ours, perf_ns, our_ns;  // a value, and how long its event counted
  const auto take = [&](const char* file, std::map<std::string, double>& values,
                        std::map<std::string, double>& times) {
    for (const std::string& line : lines_of(contents(folder.file(file))))
      if (const auto fields = fields_of(line); fields.size() > 3) {
        const std::string event = fields[2].substr(0, fields[2].find(":u"));  // perf's, of an ordinary user
        values[event] = std::stod(fields[0]);
        times[event] = std::stod(fields[3]);
      }
  };
  take("perf", perf, perf_ns);
  take("ours", ours, our_ns);
  ASSERT_GT(perf["page-faults"], 1000);
  // Of a running process it was 0.
  EXPECT_NEAR(our_ns["perf::TASK-CLOCK"] / perf_ns["task-clock"], 1, 0.01);
  EXPECT_NEAR(ours["perf::TASK-CLOCK"] / perf["task-clock"], 1, 0.01);
  EXPECT_NEAR(ours["perf::PAGE-FAULTS"] / perf["page-faults"], 1, 0.01);
}

TEST(StatOptions, AWrongProcessorIsNamed) {
  const Ran ran = tool("stat -C 0-x -e perf::CONTEXT-SWITCHES -- true");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("'0-x'"));
}

TEST(StatOptions, OptionsThatExcludeEachOtherAreRefused) {
  for (const char* wrong : {"stat", "stat -r 0 -- true", "stat --json -x, -- true", "stat -a -p 1 -- true",
                            "stat --per-core -- true", "stat -a -A --per-core -- true", "stat -a -r 2"})
    EXPECT_EQ(tool(wrong).status, 2) << wrong;
}

TEST(StatMetrics, OfAGroupOfLikwidThatIsNamedAsAFileAreComputed) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("OWN.txt")) << "SHORT Own\nEVENTSET\nFIXC0 INSTR_RETIRED_ANY\nMETRICS\n"
                                           "Runtime [s] time\nRate [1/s] FIXC0/time\nWrong FIXC7\nLONG\nx\n";
  const Ran ran = tool("stat -e 'example:::constant' -g " + folder.file("OWN.txt") + " --json -o " +
                       folder.file("o") + " -- sleep 0.05");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json report = json::parse(contents(folder.file("o")));
  const json& metrics = report.at("metrics");
  ASSERT_EQ(metrics.size(), 2u) << report.dump(1);
  EXPECT_EQ(metrics[0].at("name"), "LIKWID_OWN_RUNTIME");
  EXPECT_NEAR(metrics[0].at("value").get<double>(), report.at("seconds").get<double>(), 1e-9);
  EXPECT_EQ(metrics[0].at("unit"), "s");
  EXPECT_THAT(tool("stat -g " + folder.file("OWN.txt") + " -- true").errors,
              HasSubstr("OWN.txt:7:7: 'Wrong' is left out: EVENTSET has no counter FIXC7"));
}

TEST(StatMetrics, OfAVendorsFileAreComputed) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("own.json"))
      << "[{\"MetricName\": \"Half\", \"MetricExpr\": \"duration_time / 2\", \"ScaleUnit\": \"1000ms\"}]";
  ASSERT_EQ(tool("stat -e 'example:::constant' -g " + folder.file("own.json") + " --json -o " +
                 folder.file("o") + " -- sleep 0.05")
                .status,
            0);
  const json report = json::parse(contents(folder.file("o")));
  ASSERT_EQ(report.at("metrics").size(), 1u);
  EXPECT_NEAR(report.at("metrics")[0].at("value").get<double>(), 500 * report.at("seconds").get<double>(),
              1e-6);
}

TEST(StatMetrics, OfAFileThatIsNotThereAreRefused) {
  const Ran ran = tool("stat -g ./no-such-file.txt -- true");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("'./no-such-file.txt' cannot be read"));
}

TEST(StatMetrics, OfAGroupComeWithTheEventsThatTheyNeed) {
  if (!perf_opens()) GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const TemporaryFolder folder;
  ASSERT_EQ(tool("stat -g FAULT_RATE --json -o " + folder.file("o") + " -- true").status, 0);
  const json report = json::parse(contents(folder.file("o")));
  ASSERT_EQ(report.at("events").size(), 2u) << "faults and the clock, nothing else";
  const double faults = report.at("events")[0].at("value"), ns = report.at("events")[1].at("value");
  EXPECT_NEAR(report.at("metrics")[0].at("value"), faults / (1e-9 * ns), 1e-6 * faults / (1e-9 * ns));
}

// What a command that ends well prints as errors, with definitions of metrics of its own.
std::string table_with(const char* definitions, const std::string& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("own.metrics")) << definitions;
  const Ran ran = shell("SUBSTRATA_METRICS_DIR=" + folder.file("") + " " SUBSTRATA_TOOL " " + arguments);
  EXPECT_EQ(ran.status, 0);
  return ran.errors;
}

TEST(StatMetrics, ThatDivideByNothingHaveNoNumber) {
  const std::string table = table_with(
      "metric NONE\n text x\n term a = example:::constant\n"
      " term b = example:::zero\n formula a / b\n",
      "stat -g NONE -- true");
  EXPECT_THAT(table, HasSubstr("<no number>"));
  EXPECT_THAT(table, HasSubstr("divides by a count of nothing"));
}

// A group without a counter unit had a line of 200 characters for each of its metrics, all of the same reason.
TEST(StatMetrics, WithoutANumberForOneReasonHaveItOnce) {
  const std::string table = table_with(
      "metric ONE\n text x\n term a = no:::such\n formula a\n"
      "metric TWO\n text x\n term a = no:::such\n formula 2 * a\n",
      "stat -g ONE,TWO -- true");
  EXPECT_THAT(table, testing::ContainsRegex("<no number> +ONE +.*no:::such"));
  EXPECT_THAT(table, testing::ContainsRegex("<no number> +TWO +as ONE\n"));
}

TEST(StatMetrics, WithAFaultAreNamedByFileLineAndColumn) {
  const std::string table = table_with("metric BAD\n text x\n term a [s] = e\n formula a + 1\n",
                                       "stat -e example:::constant -- true");
  EXPECT_THAT(table, HasSubstr("own.metrics:4:10: s and 1 cannot be added"));
}

TEST(StatMetrics, OfAModelAreCalledModelled) {
  const Ran ran =
      shell("SUBSTRATA_THERMAL_MODEL=1 " SUBSTRATA_TOOL " stat -g PACKAGE_TEMPERATURE -j -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json metric = json::parse(ran.errors).at("metrics").at(0);
  if (metric.at("value").is_null()) GTEST_SKIP() << metric.at("why");
  if (ran.errors.find("\"thermal_model\"") == std::string::npos) GTEST_SKIP() << "real sensors are read here";
  EXPECT_EQ(metric.at("modelled"), true);
}

TEST(StatMetrics, OfAnUnknownNameListWhatThereIs) {
  const Ran ran = tool("stat -g NOSUCH -- true");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.errors, HasSubstr("MEM_DP"));
}

TEST(StatMetrics, AreListedWithWhatTheyNeed) {
  const std::string out = printed(tool("stat -g list"));
  for (const char* name : {"MEM_DP: ", "TMA_RETIRING", "NET_RX_BW", "GPU_POWER", "PACKAGE_TEMPERATURE"})
    EXPECT_THAT(out, HasSubstr(name));
}

TEST(StatRegions, MarkedByTheCommandAreApart) {
  const TemporaryFolder folder;
  const Ran ran = tool("stat -i 5ms -e example:::constant -j -o " + folder.file("o") +
                       " -- sh -c 'echo begin work >> $SUBSTRATA_MARKS; sleep 0.05; echo end work >> "
                       "$SUBSTRATA_MARKS'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json report = json::parse(contents(folder.file("o")));
  ASSERT_EQ(report.at("regions").size(), 1u);
  EXPECT_EQ(report.at("regions")[0].at("name"), "work");
  EXPECT_NEAR(report.at("regions")[0].at("events")[0].at("value"), 42, 1e-9);
}

// Every command that the guide shows is run as it stands.
TEST(CountingGuide, CommandsWork) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("program")) << "#!/bin/sh\nexec head -c 100000 /dev/zero >/dev/null\n";
  shell("chmod +x " + folder.file("program"));
  unsigned commands = 0;
  for (const std::string& line : lines_of(contents(COUNTING_GUIDE))) {
    if (!line.starts_with("substrata ")) continue;
    const std::string command = line.substr(0, line.find(" #"));
    const bool machine =
        command.find(" -a ") != std::string::npos || command.find(" -C ") != std::string::npos;
    if (machine && !processors_are_counted()) continue;
    const Ran ran =
        shell("cd " + folder.file("") + " && PATH=$(dirname " SUBSTRATA_TOOL "):$PATH && " + command);
    EXPECT_EQ(ran.status, 0) << command << "\n" << ran.errors;
    ++commands;
  }
  EXPECT_GE(commands, 8u);
}

// perf and this program count the same faults of the same command, within one per cent.
TEST(StatBesidePerf, PageFaultsOfACommandAreThoseOfPerf) {
  if (!perf_opens()) GTEST_SKIP() << "perf::PAGE-FAULTS does not open here";
  const std::string command = " -- dd if=/dev/zero of=/dev/null bs=64M count=1 status=none";
  const Ran theirs = shell("perf stat -x, -e page-faults" + command);
  if (theirs.status != 0) GTEST_SKIP() << "perf is not installed or refuses: " << theirs.errors;
  const Ran ours = tool("stat -x, -e perf::PAGE-FAULTS" + command);
  ASSERT_EQ(ours.status, 0) << ours.errors;
  const double a = std::stod(fields_of(lines_of(theirs.errors).at(0)).at(0));
  const double b = std::stod(fields_of(lines_of(ours.errors).at(0)).at(0));
  EXPECT_LE(std::fabs(a - b), 0.01 * a + 5) << theirs.errors << ours.errors;
}

}  // namespace
