// `substrata stat`, `top`, `doctor` and `list` as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "recorded_command.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

TEST(StatCommand, AMissingCommandGivesTheStatusOfAShell) {
  EXPECT_EQ(tool("stat -- no-such-command").status, 127);
  EXPECT_EQ(tool("top --batch -- no-such-command").status, 127);
}

// The reason of a refusal begins with the event's name, which stood there twice.
TEST(StatCommand, ARefusedEventIsNamedOnce) {
  const Ran ran = tool("stat -e coretemp:::none -- true");
  ASSERT_NE(ran.status, 0);
  const size_t first = ran.errors.find("coretemp:::none");
  ASSERT_NE(first, std::string::npos) << ran.errors;
  EXPECT_EQ(ran.errors.find("coretemp:::none", first + 1), std::string::npos) << ran.errors;
}

// What was done before the command was let go counted as time of the command.
TEST(StatCommand, ItsOwnStartIsNotTimeOfTheCommand) {
  const auto raw_now = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub"), out = folder.file("totals");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const Recording read = read_file(path);
  const double elapsed =
      std::stod(std::string(property(read.writers[0].end_properties, "command.elapsed_s")));
  EXPECT_LT(elapsed, lay_out(read).seconds) << "recording began before the command";
  ASSERT_EQ(tool("stat -e 'example:::*' --json -o " + out + " -- true").status, 0);
  const json totals = json::parse(contents(out));
  const double start = 1e-9 * std::stod(totals.at("machine").at("start.raw_ns").get<std::string>());
  EXPECT_LT(start + totals.at("seconds").get<double>(), raw_now());
}

// Where performance events are forbidden there was nothing of the command at all.
TEST(StatCommand, InAContainerWithoutPerformanceEventsTheCommandIsCounted) {
  const TemporaryFolder folder;
  const std::string out = folder.file("totals");
  const Ran ran = shell(CONTAINER " " SUBSTRATA_TOOL " stat --json -o " + out +
                        " -- sh -c 'head -c 1000000 /dev/zero | md5sum >/dev/null'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json totals = json::parse(contents(out));
  std::map<std::string, double> values;
  for (const json& event : totals.at("events"))
    if (event.at("scope") == "process tree") values[event.at("name")] = event.at("value").get<double>();
  EXPECT_GT(values["process:::cpu:time"], 0);
  EXPECT_GT(values["process:::faults:minor"], 200) << "sh, head and md5sum: the children count";
  EXPECT_THAT(totals.at("machine").at("note.1").get<std::string>(), HasSubstr("perf_event_open"));
}

// Switches and migrations vanished in silence, and the clock was said to count user mode only.
TEST(StatCommand, AnOrdinaryUserIsShownWhatStandsInForWhat) {
  if (std::atoi(contents("/proc/sys/kernel/perf_event_paranoid").c_str()) < 2)
    GTEST_SKIP() << "kernel.perf_event_paranoid is below 2: ordinary users may count these";
  const std::string as_ordinary_user =
      geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  if (shell(as_ordinary_user + SUBSTRATA_TOOL " --version").status != 0)
    GTEST_SKIP() << "an ordinary user cannot run the program where it was built";
  const Ran ran = shell(as_ordinary_user + SUBSTRATA_TOOL " stat -- true");
  EXPECT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("process:::switches:voluntary"));
  EXPECT_THAT(ran.errors, HasSubstr("<not supported>          perf::CPU-MIGRATIONS"));
  if (!perf_works()) return;
  EXPECT_THAT(ran.errors, HasSubstr("except for clocks, which count both"));
}

// Two events of which one opened ended the command before it began.
TEST(StatCommand, AnEventThatDoesNotOpenLeavesTheOthersCounted) {
  const Ran ran =
      shell(CONTAINER " " SUBSTRATA_TOOL " stat -e perf::TASK-CLOCK,process:::cpu:time -- sh -c 'exit 3'");
  EXPECT_EQ(ran.status, 3) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("<not supported>          perf::TASK-CLOCK"));
  EXPECT_THAT(ran.errors, HasSubstr("\nnot supported: perf::TASK-CLOCK: "));
  EXPECT_THAT(ran.errors, testing::ContainsRegex("[0-9] +[a-z]* +process:::cpu:time"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("note: perf::TASK-CLOCK")));
}

TEST(RecordCommand, AnEventThatDoesNotOpenLeavesTheOthersRecorded) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = shell(CONTAINER " " SUBSTRATA_TOOL " record -e perf::TASK-CLOCK,process:::cpu:time -o " +
                        path + " -- sh -c 'exit 3'");
  EXPECT_EQ(ran.status, 3) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("<not supported> perf::TASK-CLOCK: "));
  const Ran report = tool("report " + path);
  EXPECT_THAT(report.out, HasSubstr("process:::cpu:time"));
  EXPECT_THAT(report.out, HasSubstr("perf::TASK-CLOCK")) << "the reason";
}

TEST(StatCommand, EventsOfWhichNoneOpensOrANameWithoutAnEventAreErrors) {
  const Ran none =
      shell(CONTAINER " " SUBSTRATA_TOOL " stat -e perf::TASK-CLOCK,perf::PAGE-FAULTS -- echo began");
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.errors, HasSubstr("none of the events can be counted here: perf::TASK-CLOCK"));
  const Ran unknown = tool("stat -e process:::no_such_event,process:::cpu:time -- echo began");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_EQ(unknown.out, "");
  EXPECT_THAT(unknown.errors, HasSubstr("process:::no_such_event"));
}

TEST(TopCommand, InAContainerWithoutPerformanceEventsItSaysSo) {
  const Ran ran = shell(CONTAINER " " SUBSTRATA_TOOL " top --batch -n 1 -i 1ms -- sleep 10");
  EXPECT_THAT(ran.out, HasSubstr("process:::cpu:time"));
  EXPECT_THAT(ran.errors, HasSubstr("perf::TASK-CLOCK"));
}

TEST(DoctorCommand, SaysThatAContainerForbidsTheKernelsEvents) {
  const Ran ran = shell(CONTAINER " " SUBSTRATA_TOOL " doctor");
  EXPECT_THAT(ran.out, HasSubstr("4 events (perf::TASK-CLOCK"));
  EXPECT_THAT(ran.out, HasSubstr("process:::* counts"));
}

// A model in this process sees nothing of the command: that was shown as 0 accesses.
TEST(StatCommand, WhatNoModelObservedIsNotZero) {
  const Ran ran = tool("stat -e 'memory:::*' -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.errors, testing::ContainsRegex("no value +memory:::ACCESSES"));
  EXPECT_THAT(ran.errors, HasSubstr("note: nothing was observed by memory"));
}

// The largest of no errors was shown as 0 ms.
TEST(StatCommand, ALevelOfAModelThatObservedNothingIsNotZero) {
  const Ran ran = tool("stat -e myrinet:::CLOCK_ERROR_MAX -e 'thermal_model:::*' -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.errors, testing::ContainsRegex("no value +myrinet:::CLOCK_ERROR_MAX"));
  EXPECT_THAT(ran.errors, HasSubstr("note: nothing was observed by myrinet"));
  EXPECT_THAT(ran.errors, testing::ContainsRegex("W +thermal_model:::package0:power"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("nothing was observed by thermal_model")));
}

// 51550 mdegC is not what a person reads.
TEST(StatCommand, ShowsUnitsThatPeopleRead) {
  const Ran ran = tool("stat -e 'thermal_model:::*' -- true");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.errors, testing::ContainsRegex(" degC +thermal_model:::package0:temperature"));
  EXPECT_THAT(ran.errors, testing::ContainsRegex(" W +thermal_model:::package0:power"));
}

// A temperature that nothing measured was shown to everyone.
TEST(StatCommand, ShowsNoModelledTemperatureUnasked) {
  const Ran ran = shell("env -u SUBSTRATA_THERMAL_MODEL " SUBSTRATA_TOOL " stat -- true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("elapsed"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("thermal_model")));
}

TEST(StatCommand, JsonReportsTotalsAndGoesToTheFile) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const Ran ran = tool(std::string("stat") + kEvents + "-e 'thermal_model:::*' --json -o " +
                       folder.file("s.json") + kCommand);
  EXPECT_EQ(ran.status, 3) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  const json report = json::parse(contents(folder.file("s.json")));
  EXPECT_EQ(report.at("exit_status"), 3);
  ASSERT_GE(report.at("events").size(), 3u);
  EXPECT_EQ(report.at("events")[1].at("name"), "perf::PAGE-FAULTS");
  EXPECT_GT(report.at("events")[1].at("value"), 100);
  EXPECT_EQ(report.at("events")[2].at("modelled"), true);
  EXPECT_LE(report.at("events")[2].at("min"), report.at("events")[2].at("max"));
}

TEST(StatCommand, TheTableGoesToStandardErrorAndTheCommandKeepsItsOutput) {
  NEEDS_PERF();
  const Ran ran = tool(std::string("stat") + kEvents + "-- echo hello");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_THAT(ran.errors, HasSubstr("perf::TASK-CLOCK"));
  EXPECT_THAT(ran.errors, HasSubstr("elapsed"));
}

TEST(StatCommand, AKilledCommandGivesTheStatusOfAShell) {
  const Ran ran = tool("stat -e 'example:::*' -- sh -c 'kill -9 $$'");
  EXPECT_EQ(ran.status, 137);
  EXPECT_THAT(ran.errors, HasSubstr("killed by signal 9"));
}

TEST(ListCommand, OneLineAnEvent) {
  EXPECT_EQ(count_of(printed(tool("list example:::")), "\n"), 6u)
      << "two of the eight names are others of the same events";
  EXPECT_EQ(tool("list no-event-is-called-so").status, 1);
}

}  // namespace
