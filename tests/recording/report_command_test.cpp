// `substrata report` and `correlate` as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
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

TEST(ReportCommand, ARooflineIsPartOfThePage) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    writer.end(kSecond, {});
  }
  std::ofstream(folder.file("roofs.json")) << R"({"processor":"the one of this test","flops_per_second":[]})";
  const std::string page = " --html " + folder.file("r.html") + " --roofline " + folder.file("roofs.json");
  ASSERT_EQ(tool("report " + path + page).status, 0);
  EXPECT_THAT(contents(folder.file("r.html")), HasSubstr("the one of this test"));
  const Ran none = tool("report " + path + " --html " + folder.file("r.html") + " --roofline /no/such");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.errors, HasSubstr("/no/such"));
}

TEST(ReportCommand, HistogramsOfSeveralMonitorsArePartOfThePage) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    writer.end(kSecond, {});
  }
  std::ofstream(folder.file("one.json")) << R"({"histograms":[{"title":"the first monitor"}]})";
  std::ofstream(folder.file("two.json")) << R"({"histograms":[{"title":"the second monitor"}]})";
  ASSERT_EQ(tool("report " + path + " --html " + folder.file("r.html") + " --histograms " +
                 folder.file("one.json") + " " + folder.file("two.json"))
                .status,
            0);
  EXPECT_THAT(contents(folder.file("r.html")),
              AllOf(HasSubstr("the first monitor"), HasSubstr("the second monitor")));
}

TEST(CorrelateCommand, ReportsLagAndGain) {
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
  const json found = json::parse(printed(tool("correlate " + path + " load heat --json")));
  EXPECT_NEAR(found.at("lag_s").get<double>(), 1, 0.05);
  EXPECT_NEAR(found.at("gain").get<double>(), 3, 0.1);
  EXPECT_LT(found.at("p").get<double>(), 0.01);
  EXPECT_EQ(found.at("b_origin"), "modelled");
  EXPECT_THAT(tool("correlate " + path + " load heat").out, HasSubstr("s after A"));
  const Ran none = tool("correlate " + path + " load nothing");
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.errors, HasSubstr("heat"));
}

// A run of a second that did so much work.
std::string run_in(const TemporaryFolder& folder, const std::string& name, int work) {
  const std::string path = folder.file(name);
  FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
  sample_functions(
      writer, 11, 0.1, [&](double t) { return work * t; }, [](double) { return 40000; });
  writer.end(2 * kSecond, {});
  return " " + path;
}

TEST(CompareCommand, TwoRecordingsAreTheOldAndTheNewOne) {
  const TemporaryFolder folder;
  const std::string before = run_in(folder, "old.sub", 1000), after = run_in(folder, "new.sub", 2000);
  const Ran ran =
      tool("compare" + before + after + " --html " + folder.file("page.html") + " -o " + folder.file("text"));
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(contents(folder.file("text")), testing::ContainsRegex("work +1000 +2000 +2\\.000"));
  EXPECT_THAT(contents(folder.file("page.html")), HasSubstr("\"comparison\":true"));
}

TEST(CompareCommand, SeveralRunsOfEachSideAreNamedWithWith) {
  const TemporaryFolder folder;
  std::string before, after;
  for (int i = 0; i < 3; ++i) {
    before += run_in(folder, "old" + std::to_string(i), 1000 + 10 * i);
    after += run_in(folder, "new" + std::to_string(i), 1200 + 10 * i);
  }
  const json all = json::parse(printed(tool("compare --json" + before + " --with" + after)));
  EXPECT_EQ(all.at("before").size(), 3u);
  for (const json& one : all.at("numbers")) {
    if (one.at("name") != "work") continue;
    EXPECT_EQ(one.at("change"), "more");
    EXPECT_GT(one.at("noise"), 0);
  }
}

TEST(CompareCommand, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string one = run_in(folder, "one", 1000);
  EXPECT_EQ(tool("compare" + one).status, 2);
  EXPECT_EQ(tool("compare" + one + one + one).status, 2);
  const Ran least = tool("compare" + one + one + " --least much");
  EXPECT_EQ(least.status, 1);
  EXPECT_THAT(least.errors, HasSubstr("'much'"));
  EXPECT_THAT(tool("compare" + one + " /no/such").errors, HasSubstr("/no/such"));
}

}  // namespace
