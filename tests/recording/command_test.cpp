// `substrata record`, `stat`, `report`, `export` and `correlate` as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "recording/timeline.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

Ran tool(const std::string& arguments) { return shell(std::string(SUBSTRATA_TOOL) + " " + arguments); }

constexpr const char* kEvents = " -e perf::TASK-CLOCK,perf::PAGE-FAULTS ";
// Writes a megabyte, which touches pages, and ends with a status of its own.
constexpr const char* kCommand = " -- sh -c 'head -c 1000000 /dev/zero | md5sum >/dev/null; exit 3'";

bool perf_works() { return tool("stat -e perf::TASK-CLOCK -- true").status == 0; }
#define NEEDS_PERF() \
  if (!perf_works()) \
  GTEST_SKIP() << "perf::TASK-CLOCK does not open here: " << tool("stat -e perf::TASK-CLOCK -- true").errors

// CO-2, CO-3, CO-8, CO-9
TEST(RecordCommand, SamplesTheProcessTreeAndSaysWhereItComesFrom) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool(std::string("record") + kEvents + "-i 1ms -o " + path + kCommand);
  EXPECT_EQ(ran.status, 3) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr(path));
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  ASSERT_EQ(read.writers.size(), 1u);
  const Writer& writer = read.writers[0];
  EXPECT_EQ(property(writer.end_properties, "exit_status"), "3");
  EXPECT_EQ(property(writer.properties, "interval_ns"), "1000000");
  for (const char* name : {"host", "machine.boot_id", "machine.kernel", "machine.processors",
                           "software.substrata", "start.raw_ns", "start.real_ns", "command"})
    EXPECT_NE(property(writer.properties, name), "") << name;
  ASSERT_EQ(writer.series.size(), 4u);
  EXPECT_EQ(writer.series[0].name, "perf::TASK-CLOCK");
  EXPECT_EQ(writer.series[0].unit, "ns");
  EXPECT_EQ(writer.series[0].scope, "process tree");
  EXPECT_FALSE(writer.series[0].modelled);
  EXPECT_EQ(writer.series[2].scope, "recorder");
  const Series& faults = writer.series[1];
  ASSERT_GE(faults.values.size(), 2u);
  EXPECT_GT(faults.values.back(), 100) << "sh, head and md5sum: the children count";
  EXPECT_TRUE(std::is_sorted(faults.values.begin(), faults.values.end()));
  EXPECT_GT(writer.series[2].values.back(), 0) << "the recorder's own processor time";

  const Ran report = tool("report " + path);
  EXPECT_EQ(report.status, 0) << report.errors;
  for (const char* text : {"perf::PAGE-FAULTS", "measured", "overhead", "exit status 3", "md5sum"})
    EXPECT_THAT(report.out, HasSubstr(text));
  EXPECT_THAT(report.out, testing::Not(HasSubstr("CUT OFF")));
}

TEST(RecordCommand, AModelIsCalledAModelEverywhere) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool("record -e 'thermal_model:::*' -i 1ms -o " + path +
                       " -- sh -c 'echo ${SUBSTRATA_THERMAL_MODEL-unset}'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out, "unset\n") << "the command's environment is its own";
  EXPECT_THAT(tool("report " + path).out, HasSubstr("modelled"));
  for (const char* form : {"csv", "json", "perfetto", "openmetrics"})
    EXPECT_THAT(tool("export " + path + " --to " + form).out, HasSubstr("modelled")) << form;
  EXPECT_THAT(tool("stat -e 'thermal_model:::*' -- true").errors, HasSubstr("modelled"));
}

// A good recording was replaced by an empty one.
TEST(RecordCommand, ACommandThatCannotBeginLeavesTheOldRecording) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub"), program = folder.file("program");
  std::ofstream(program) << "#!/no/such/interpreter\n";
  shell("chmod +x " + program);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const std::string before = contents(path), older = contents(path + ".old");
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- no-such-command").status, 127);
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- /").status, 126);
  // The kernel refuses this one when the recording is open already.
  EXPECT_EQ(tool("record -e 'example:::*' -o " + path + " -- " + program).status, 127);
  EXPECT_TRUE(contents(path) == before);
  EXPECT_TRUE(contents(path + ".old") == older);
}

TEST(RecordCommand, AnEarlierRecordingIsKeptAsOld) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const std::string first = contents(path);
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  EXPECT_TRUE(contents(path + ".old") == first);
  EXPECT_FALSE(contents(path) == first);
}

TEST(RecordCommand, ARankKeepsTheRecordingOfAnEarlierJobAsOld) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const auto job = [&](const std::string& name) {
    return shell("PMIX_NAMESPACE=" + name +
                 " OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 " SUBSTRATA_TOOL
                 " record -q -e 'example:::*' -o " +
                 path + " -- true");
  };
  ASSERT_EQ(job("first").status, 0);
  const std::string first = contents(path);
  ASSERT_EQ(job("second").status, 0);
  EXPECT_TRUE(contents(path + ".old") == first);
}

TEST(StatCommand, AMissingCommandGivesTheStatusOfAShell) {
  EXPECT_EQ(tool("stat -- no-such-command").status, 127);
  EXPECT_EQ(tool("top --batch -- no-such-command").status, 127);
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

// Its total was another one than the head of the report had.
TEST(RecordCommand, TheRecordersOwnTimeBeginsAtItsFirstRow) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  ASSERT_EQ(tool("record -q -e 'example:::*' -o " + path + " -- true").status, 0);
  const Recording read = read_file(path);
  for (const Series& series : read.writers.at(0).series) {
    if (series.name == "recorder:cpu") {
      EXPECT_EQ(series.values.front(), 0);
    }
  }
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

// The model is driven by the use of the processors: that both go together was called 'not by chance'.
TEST(CorrelateCommand, RefusesAModelWithItsOwnInput) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    SeriesInfo clock = count_series("perf::TASK-CLOCK", "ns"), heat = gauge_series("heat");
    clock.component = "perf_event";
    heat.component = "thermal_model";
    const std::uint32_t set = writer.declare({clock, heat});
    for (int i = 0; i < 40; ++i) {
      const std::int64_t values[2] = {i * i % 17, i % 7};
      const std::uint8_t flags[2] = {0, kModelled};
      writer.sample(set, kSecond + i * 100'000'000LL, 0, values, flags);
    }
    writer.end(50 * kSecond, {});
  }
  for (const char* order : {" TASK-CLOCK heat", " heat TASK-CLOCK"}) {
    const Ran ran = tool("correlate " + path + order);
    EXPECT_EQ(ran.status, 1) << order;
    EXPECT_THAT(ran.errors, HasSubstr("the model's own"));
  }
}

TEST(RecordCommand, RegionsThatTheCommandMarksAreRecorded) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool(
      std::string("record") + kEvents + "-o " + path +
      " -- sh -c 'for w in \"begin first part\" nonsense \"mark here\" end \"begin rest\"; do echo \"$w\" "
      ">> \"$SUBSTRATA_MARKS\"; done'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const Recording read = read_file(path);
  const Timeline timeline = lay_out(read);
  ASSERT_EQ(timeline.regions.size(), 2u);
  EXPECT_EQ(timeline.regions[0].name, "first part");
  EXPECT_FALSE(timeline.regions[0].open);
  EXPECT_TRUE(timeline.regions[1].open);
  ASSERT_EQ(timeline.moments.size(), 1u);
  EXPECT_THAT(tool("report " + path).out, HasSubstr("rest (not ended)"));
}

// CO-3: the command itself kills its recorder once something was flushed.
TEST(RecordCommand, KilledItLeavesAFileThatOpensAndSaysWhereItEnds) {
  NEEDS_PERF();
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  // `exec` makes the recorder the parent of the inner shell.
  shell("exec " + std::string(SUBSTRATA_TOOL) + " record" + kEvents + "-i 1ms --flush 1ms -o " + path +
        " -- sh -c 'while [ $(wc -c < " + path + ") -lt 4000 ]; do :; done; kill -9 $PPID'");
  const Recording read = read_file(path);
  EXPECT_FALSE(read.complete());
  EXPECT_FALSE(read.writers.at(0).ended);
  EXPECT_GE(read.writers[0].sets.at(0).times.size(), 3u);
  const Ran report = tool("report " + path);
  EXPECT_EQ(report.status, 0) << report.errors;
  EXPECT_THAT(report.out, HasSubstr("CUT OFF"));
  EXPECT_THAT(report.out, HasSubstr("The last sample is at"));
  for (const char* form : {"csv", "json", "perfetto", "openmetrics"})
    EXPECT_EQ(tool("export " + path + " --to " + form).status, 0) << form;
}

TEST(RecordCommand, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string out = " -o " + folder.file("r.sub");
  EXPECT_EQ(tool("record").status, 2);
  EXPECT_EQ(tool("stat --").status, 2);
  const Ran command = tool("record" + out + " -e 'example:::*' -- /no/such/program");
  EXPECT_EQ(command.status, 127);
  EXPECT_THAT(command.errors, HasSubstr("/no/such/program"));
  const Ran event = tool("record" + out + " -e nope:::nothing -- true");
  EXPECT_EQ(event.status, 1);
  EXPECT_THAT(event.errors, HasSubstr("nope:::nothing"));
  const Ran interval = tool("record" + out + " -i soon -- true");
  EXPECT_EQ(interval.status, 1);
  EXPECT_THAT(interval.errors, HasSubstr("soon"));
  EXPECT_EQ(tool("record -o /no/such/folder/r.sub -e 'example:::*' -- true").status, 1);
  EXPECT_EQ(tool("report /dev/null").status, 1);
  EXPECT_EQ(tool("report").status, 2);
  EXPECT_EQ(tool("export " + folder.file("r.sub") + " --to xml").status, 2);
}

TEST(StatCommand, JsonTellsTotalsAndGoesToTheFile) {
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

// What a user does with the page, and what it then shows, as text that can be found in the page's elements.
constexpr const char* kProbe = R"(<script>
(function () {
  const svg = () => document.querySelector('#lines svg');
  const view = () => [Number(svg().dataset.from), Number(svg().dataset.to)];
  const box = svg().getBoundingClientRect();
  const point = (share) => ({ clientX: box.left + box.width * share, clientY: box.top + 60, button: 0, bubbles: true });
  const out = { width: box.width, height: box.height, before: view() };
  out.series = Array.from(document.querySelectorAll('#lines g.series'), (g) => g.dataset.name);
  out.drawn = Array.from(document.querySelectorAll('#lines g.series path'), (p) => p.getAttribute('d').length);
  out.regions = document.querySelectorAll('#lines g.region').length;
  out.heat = document.querySelectorAll('figure.heat').length;
  svg().dispatchEvent(new PointerEvent('pointerdown', point(0.5)));
  svg().dispatchEvent(new PointerEvent('pointermove', point(0.7)));
  svg().dispatchEvent(new PointerEvent('pointerup', point(0.7)));
  out.dragged = view();
  svg().dispatchEvent(new WheelEvent('wheel', Object.assign(point(0.6), { deltaY: -300, ctrlKey: true })));
  out.wheeled = view();
  svg().dispatchEvent(new PointerEvent('pointermove', point(0.6)));
  out.tip = document.getElementById('tip').textContent;
  svg().dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  out.reset = view();
  document.querySelector('#choose input').click();
  out.fewer = document.querySelectorAll('#lines g.series').length;
  const found = document.createElement('pre');
  found.id = 'found';
  found.textContent = JSON.stringify(out);
  document.body.appendChild(found);
}());
</script></body>)";

Ran browse(const TemporaryFolder& folder, const std::string& page) {
  return shell("cd " + folder.path() +
               " && timeout 90 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
               "--user-data-dir=" +
               folder.file("profile") +
               " --enable-logging=stderr --virtual-time-budget=3000 --dump-dom file://" + page);
}

// CO-4: it renders, it has the series, zoom works, the console stays silent.
TEST(ReportPage, InHeadlessChromiumItRendersAndZooms) {
  if (kSanitized) GTEST_SKIP() << "the page is not what a sanitizer looks at";
  const TemporaryFolder folder;
  std::ofstream(folder.file("plain.html")) << "<!DOCTYPE html><title>plain</title><p>works here</p>";
  if (const Ran plain = browse(folder, folder.file("plain.html"));
      plain.out.find("works here") == std::string::npos)
    GTEST_SKIP() << "chromium (Debian package chromium) does not run here: " << plain.errors.substr(0, 300);
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    sample_functions(
        writer, 200, 0.05, [](double t) { return 1000 * t + 300 * (static_cast<int>(t) % 2); },
        [](double t) { return 40000 + 500 * t; });
    writer.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
    writer.mark({MarkKind::kEnd, 6 * kSecond, -1, "solve"});
    writer.mark({MarkKind::kBegin, 6 * kSecond, -1, "check"});
    writer.mark({MarkKind::kEnd, 9 * kSecond, -1, "check"});
    writer.attach(
        {"mpi-summary", "application/json",
         R"({"ranks":[{"rank":0,"phases":[{"name":"HPL","messages_sent":3,"sizes_sent":{"8":1,"65536":2}}]}]})"});
    writer.end(11 * kSecond, {});
  }
  ASSERT_EQ(tool("report --html " + folder.file("r.html") + " " + path).status, 0);
  std::string page = contents(folder.file("r.html"));
  page.replace(page.find("</body>"), 7, kProbe);
  std::ofstream(folder.file("probed.html")) << page;
  const Ran ran = browse(folder, folder.file("probed.html"));
  EXPECT_THAT(ran.errors, testing::Not(HasSubstr("CONSOLE"))) << ran.errors;
  const std::string opening = "<pre id=\"found\">";
  const std::size_t begin = ran.out.rfind(opening);
  ASSERT_NE(begin, std::string::npos) << ran.errors;
  const std::size_t from = begin + opening.size();
  const json found = json::parse(ran.out.substr(from, ran.out.find("</pre>", from) - from));
  EXPECT_EQ(found.at("series"), json::parse(R"(["work","heat"])"));
  for (const json& length : found.at("drawn")) EXPECT_GT(length, 500) << "a line through two hundred samples";
  EXPECT_GT(found.at("width"), 100);
  EXPECT_GT(found.at("height"), 150);
  EXPECT_EQ(found.at("regions"), 2);
  EXPECT_EQ(found.at("heat"), 3) << "signatures, correlations, messages";
  const auto span = [&](const char* name) {
    return found.at(name)[1].get<double>() - found.at(name)[0].get<double>();
  };
  EXPECT_NEAR(span("before"), 10, 1e-6);
  EXPECT_LT(span("dragged"), 5);
  EXPECT_LT(span("wheeled"), span("dragged"));
  EXPECT_GE(found.at("wheeled")[0].get<double>(), found.at("dragged")[0].get<double>());
  EXPECT_EQ(found.at("reset"), found.at("before"));
  EXPECT_EQ(found.at("fewer"), 1);
  EXPECT_THAT(found.at("tip").get<std::string>(), HasSubstr("heat: 4"));
  EXPECT_THAT(found.at("tip").get<std::string>(), HasSubstr("modelled"));
}

// CO-5: a series that follows another by a second with gain 3, through the file and the command.
TEST(ReportCommand, ShowsWhatItReadsOnATerminalOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    writer.end(kSecond, {});
  }
  EXPECT_EQ(tool("report " + path).errors, "");
  if (shell("command -v script").status != 0) GTEST_SKIP() << "there is no script(1) to make a terminal";
  const Ran seen = shell("script -qec '" SUBSTRATA_TOOL " report " + path + "' /dev/null");
  EXPECT_THAT(seen.out, HasSubstr("reading " + path));
  EXPECT_LT(seen.out.find("reading"), seen.out.rfind("\x1b[K")) << "the line is taken away";
}

TEST(CorrelateCommand, TellsLagAndGain) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    const std::uint32_t set = writer.declare({gauge_series("load", ""), gauge_series("heat")});
    const auto load = [](int i) { return i * i * 7919 % 1009 + (i / 20 % 2) * 2000; };
    for (int i = 0; i < 400; ++i) {
      const std::int64_t values[2] = {load(i), 5000 + 3 * load(i - 10)};
      const std::uint8_t flags[2] = {0, 0};
      writer.sample(set, kSecond + i * 100'000'000LL, 0, values, flags);
    }
    writer.end(50 * kSecond, {});
  }
  const Ran ran = tool("correlate " + path + " load heat --json");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json found = json::parse(ran.out);
  EXPECT_NEAR(found.at("lag_s").get<double>(), 1, 0.05);
  EXPECT_NEAR(found.at("gain").get<double>(), 3, 0.1);
  EXPECT_LT(found.at("p").get<double>(), 0.01);
  EXPECT_EQ(found.at("b_origin"), "modelled");
  EXPECT_THAT(tool("correlate " + path + " load heat").out, HasSubstr("s after A"));
  const Ran none = tool("correlate " + path + " load nothing");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.errors, HasSubstr("heat"));
}

#ifdef MPI_PROGRAM_SOURCE
// Only record did.
TEST(StatCommand, CountsTheMessagesOfAnMpiProgram) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program");
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const Ran ran = shell("OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL
                        " stat -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 " +
                        program);
  ASSERT_EQ(ran.status, 0) << ran.errors << ran.out;
  EXPECT_THAT(ran.errors, testing::ContainsRegex(" [1-9][0-9]* messages +mpi:::messages "));
}

// It was refused, though it is for job scripts too.
TEST(RecordCommand, MessagesOfRanksThatAScriptStartsAreSampled) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program"), script = folder.file("job"),
                    path = folder.file("r.sub");
  if (shell("command -v mpicc.openmpi && mpirun --version | grep -q 'Open MPI'").status != 0)
    GTEST_SKIP() << "mpicc.openmpi is not installed, or mpirun is not that of Open MPI";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  std::ofstream(script) << "mpirun --allow-run-as-root --oversubscribe -n 4 " << program << "\n";
  const Ran run =
      shell("OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL " record -q --mpi -e 'example:::*' -i 5ms -o " +
            path + " -- sh " + script);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  const Recording read = read_file(path);
  std::int64_t messages = 0;
  for (const Series& series : read.writers.at(0).series)
    if (series.name == "mpi:::messages") messages = series.values.back();
  EXPECT_GT(messages, 0);
}

// CO-2, CO-7: the messages of all ranks over time, one recorder for the node, the shim's own summary as the
// oracle.
TEST(RecordCommand, MessagesOfAnMpiProgramAreSampledAndItsSectionsAreRegions) {
  const TemporaryFolder folder;
  const std::string program = folder.file("program"), path = folder.file("r.sub");
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const Ran run = shell(
      "OMPI_MCA_mpi_yield_when_idle=1 " SUBSTRATA_TOOL " record -e 'example:::*' -i 5ms -o " + path +
      " -- mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n 4 " + program);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  const Writer& writer = read.writers.at(0);
  const auto attached = std::find_if(writer.attachments.begin(), writer.attachments.end(),
                                     [](const Attachment& one) { return one.name == "mpi-summary"; });
  ASSERT_NE(attached, writer.attachments.end());
  const json summary = json::parse(attached->content);
  long long messages = 0, bytes = 0;
  for (const json& rank : summary.at("ranks")) {
    messages += rank.at("messages_sent").get<long long>();
    bytes += rank.at("bytes_sent").get<long long>();
  }
  EXPECT_GT(messages, 0);
  const auto last = [&](const std::string& name) {
    for (const Series& series : writer.series)
      if (series.name == name && !series.values.empty()) return series.values.back();
    return std::int64_t{-1};
  };
  EXPECT_EQ(last("mpi:::messages"), messages);
  EXPECT_EQ(last("mpi:::bytes"), bytes);
  EXPECT_EQ(last("mpi:::ranks"), 4);
  for (const json& rank : summary.at("ranks")) {
    std::int64_t sent = -1;
    for (const Series& series : writer.series)
      if (series.name == "mpi:::rank:bytes" &&
          series.scope == rank_scope(rank.at("rank").get<std::int64_t>()))
        sent = series.values.back();
    EXPECT_EQ(sent, rank.at("bytes_sent").get<std::int64_t>()) << rank.at("rank");
  }
  // Sums and ranks were read one after the other and did not agree.
  std::map<std::int64_t, std::int64_t> by_rank, in_all;
  for (const Series& series : writer.series) {
    const std::vector<std::int64_t>& times = writer.sets[series.set].times;
    for (std::size_t row = 0; row < times.size(); ++row) {
      if (series.name == "mpi:::bytes") in_all[times[row]] = series.values[row];
      if (series.name == "mpi:::rank:bytes") by_rank[times[row]] += series.values[row];
    }
  }
  EXPECT_EQ(by_rank, in_all);
  EXPECT_THAT(tool("report " + path).out, HasSubstr("total of a rank"));
  EXPECT_THAT(tool("export --to csv " + path).out, HasSubstr("mpi:::rank:bytes (rank 3)"));
  const Timeline timeline = lay_out(read);
  std::vector<std::string> names;
  for (const Region& region : timeline.regions) names.push_back(region.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"Ring", "Exchange"}));
}

// CO-6: two "nodes", one in namespaces of its own with another host name and a clock that is ahead by exactly
// 5000 s.
TEST(RecordCommand, TheClockOfAnotherNodeIsMeasuredOverMpi) {
  if (shell("command -v mpicc.openmpi && command -v mpirun.openmpi").status != 0)
    GTEST_SKIP() << "mpicc.openmpi or mpirun.openmpi is not installed";
  constexpr const char* kNode =
      "unshare -u -T --monotonic 5000 --boottime 5000 --fork sh -c 'hostname node-b; exec \"$@\"' sh ";
  if (const Ran ran = shell(std::string(kNode) + "true"); ran.status != 0)
    GTEST_SKIP() << "no time and host name namespaces here: " << ran.errors;
  const TemporaryFolder folder;
  const std::string program = folder.file("program");
  ASSERT_EQ(shell("mpicc.openmpi -O1 -o " + program + " " MPI_PROGRAM_SOURCE).status, 0);
  const std::string record = SUBSTRATA_TOOL " record -e 'example:::*' -i 5ms -o r.%h.sub -- ";
  const Ran run =
      shell("cd " + folder.path() +
            " && OMPI_MCA_mpi_yield_when_idle=1 mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl "
            "self,vader,tcp -n 2 " +
            record + program + " : -n 2 " + kNode + record + program);
  ASSERT_EQ(run.status, 0) << run.errors << run.out;
  std::string others;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (const std::string name = entry.path().filename().string();
        name.rfind("r.", 0) == 0 && name != "r.node-b.sub")
      others = entry.path().string();
  const Recording read = read_files({others, folder.file("r.node-b.sub")});
  ASSERT_EQ(read.writers.size(), 4u) << "one file a node, a writer a rank";
  std::vector<ClockReading> readings;
  for (const Writer& writer : read.writers)
    readings.insert(readings.end(), writer.clocks.begin(), writer.clocks.end());
  ASSERT_EQ(readings.size(), 2u) << "at MPI_Init and at MPI_Finalize, by one rank";
  for (const ClockReading& reading : readings)
    EXPECT_LE(std::abs(reading.offset + 5000 * kSecond), reading.uncertainty);
  const Timeline timeline = lay_out(read);
  EXPECT_EQ(timeline.hosts, 2u);
  EXPECT_EQ(std::count_if(timeline.clocks.begin(), timeline.clocks.end(),
                          [](const WriterClock& clock) { return clock.alignment == Alignment::kMeasured; }),
            2)
      << "the reading of one rank holds for its node";
  EXPECT_LT(timeline.seconds, 2500) << "the 5000 s are gone";
  EXPECT_THAT(tool("report " + folder.file("r.*.sub")).out, HasSubstr("by measured offsets, known within"));
}
#endif

// CO-1: the high-level interface's regions, with their own times; those of another thread within them are not
// mixed in.
TEST(RecordCommand, RegionsOfTheHighLevelInterfaceAreRecorded) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = shell("cd " + folder.path() + " && " SUBSTRATA_TOOL " record -e 'example:::*' -o " + path +
                        " -- " HIGH_LEVEL_PROGRAM);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const Recording read = read_file(path);
  const Timeline timeline = lay_out(read);
  std::vector<std::string> names;
  for (const Region& region : timeline.regions) {
    names.push_back(region.name);
    EXPECT_FALSE(region.open) << region.name;
    EXPECT_LE(region.begin, region.end);
  }
  EXPECT_THAT(names, testing::ElementsAre("outer part", "inner", "given up"));
  EXPECT_EQ(timeline.regions.at(1).depth, 1u);
  EXPECT_LE(timeline.regions[0].begin, timeline.regions[1].begin);
  EXPECT_GE(timeline.regions[0].end, timeline.regions[1].end);
  EXPECT_THAT(property(read.writers.at(0).end_properties, "note.threads"), HasSubstr("1 high-level regions"));
}

// CO-8: what recording costs is measured by runs with and without it, in turns, and told.
TEST(RecordCommand, ItsCostIsMeasuredByInterleavedRuns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const Ran ran = tool("record --overhead 3 -e 'example:::*' -o " + path +
                       " -- sh -c 'echo run; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'");
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_EQ(ran.out, "run\n") << "only the recorded run speaks";
  EXPECT_THAT(tool("report " + path).out,
              HasSubstr("3 interleaved pairs of runs with and without recording"));
}

TEST(ListCommand, OneLineAnEvent) {
  const Ran ran = tool("list example:::");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(count_of(ran.out, "\n"), 6u) << "two of the eight names are others of the same events";
  EXPECT_EQ(tool("list no-event-is-called-so").status, 1);
}

}  // namespace
