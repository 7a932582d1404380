// The report of the high-level interface: its JSON, its place, and what becomes of older reports.
#include "papi/high_level/report.hpp"
#include "support/temporary_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using substrata::high_level::Passes;
using substrata::high_level::ProcessReport;
using substrata::high_level::TextSink;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string detailed_json(const ProcessReport& report) {
  std::string text;
  write_detailed_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string summary_json(const ProcessReport& report) {
  std::string text;
  write_summary_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

std::function<void(const TextSink&)> text(const std::string& whole) {
  return [whole](const TextSink& sink) { sink(whole); };
}

void end(Passes* passes, int64_t pass, const char* region, const std::vector<int64_t>& values) {
  passes->end(pass, passes->region(region), values.data());
}

// One thread: the region "outer", and "work" in it, twice.
Passes two_regions(bool only_sums = false, bool outer_ends = true, bool again = true) {
  Passes passes(2, only_sums);
  const int64_t outer = passes.begin(-1);
  const int64_t work = passes.begin(outer);
  passes.read(work, std::vector<int64_t>{100, 10, 3, 40200}.data());
  end(&passes, work, "work", {200, 20, 10, 40500});
  if (again) end(&passes, passes.begin(outer), "work", {300, 30, 11, 40900});
  if (outer_ends) end(&passes, outer, "outer", {800, 80, 40, 41000});
  return passes;
}

ProcessReport report_of(Passes passes) {
  ProcessReport report;
  report.interface_version = "7.3.0.0";
  report.processor = "A \"quoted\" processor";
  report.max_mhz = 2000;
  report.min_mhz = 1000;
  report.columns = {{"perf::TASK-CLOCK", "perf_event", false}, {"coretemp:::t", "coretemp", true}};
  report.threads.push_back(std::move(passes));
  return report;
}

// PA-15: the shape PAPI 7.0 writes, observed; readers depend on it.
TEST(DetailedReport, HasTheShapeOfPapis) {
  EXPECT_EQ(detailed_json(report_of(two_regions(false, true, false))), R"({
  "papi_version":"7.3.0.0",
  "cpu_info":"A \"quoted\" processor",
  "max_cpu_rate_mhz":"2000",
  "min_cpu_rate_mhz":"1000",
  "event_definitions":{
    "perf::TASK-CLOCK":{
      "component":"perf_event",
      "type":"delta"
    },
    "coretemp:::t":{
      "component":"coretemp",
      "type":"instant"
    }
  },
  "threads":{
    "0":{
      "regions":{
        "0":{
          "name":"outer",
          "parent_region_id":"-1",
          "cycles":"800",
          "real_time_nsec":"80",
          "perf::TASK-CLOCK":"40",
          "coretemp:::t":"41000"
        },
        "1":{
          "name":"work",
          "parent_region_id":"0",
          "cycles":{
            "region_value":"200",
            "read_1":"100"
          },
          "real_time_nsec":{
            "region_value":"20",
            "read_1":"10"
          },
          "perf::TASK-CLOCK":{
            "region_value":"10",
            "read_1":"3"
          },
          "coretemp:::t":{
            "region_value":"40500",
            "read_1":"40200"
          }
        }
      }
    }
  }
}
)");
}

TEST(DetailedReport, RegionsThatNeverEndedAreLeftOutAndTheRestNumberedWithoutGaps) {
  const std::string text = detailed_json(report_of(two_regions(false, false)));
  EXPECT_THAT(text, Not(HasSubstr("outer")));
  EXPECT_THAT(text,
              HasSubstr("\"0\":{\n          \"name\":\"work\",\n          \"parent_region_id\":\"-1\""));
  EXPECT_THAT(text, Not(HasSubstr("\"2\":")));
}

TEST(DetailedReport, ControlCharactersOfARegionsNameAreEscaped) {
  Passes passes(2);
  end(&passes, passes.begin(-1), "a\nb\\", {0, 0, 0, 0});
  EXPECT_THAT(detailed_json(report_of(std::move(passes))), HasSubstr("\"name\":\"a\\u000ab\\\\\""));
}

TEST(SummaryReport, AddsThePassagesOfARegion) {
  const std::string text = summary_json(report_of(two_regions()));
  EXPECT_THAT(text, HasSubstr("\"work\":{\n      \"passages\":\"2\",\n      \"threads\":\"1\""));
  EXPECT_THAT(text, HasSubstr("\"perf::TASK-CLOCK\":{\n        \"sum\":\"21\",\n        \"min\":\"10\",\n"
                              "        \"max\":\"11\""));
  // A level has no sum.
  EXPECT_THAT(text, HasSubstr("\"coretemp:::t\":{\n        \"last\":\"40900\",\n        \"min\":\"40500\""));
}

TEST(SummaryReport, IsTheSameWhereOnlySumsWereKept) {
  EXPECT_EQ(summary_json(report_of(two_regions(true))), summary_json(report_of(two_regions())));
}

// A file's time is that of the kernel's last tick: a report of the first milliseconds has one from before the program.
void wait_for_the_next_tick() {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return time.tv_nsec;
  };
  for (const long before = now(); now() == before;) usleep(100);
}

class ReportPlace : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "ALPS_APP_PE", "PMI_RANK", "SLURM_PROCID"})
      unsetenv(name);
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.path().c_str(), 1);
    wait_for_the_next_tick();
  }
  void TearDown() override {
    unsetenv("PAPI_OUTPUT_DIRECTORY");
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("PMI_RANK");
  }
  substrata::tests::TemporaryFolder folder_;
};

TEST_F(ReportPlace, RankOfTheLauncherNamesTheFile) {
  setenv("PMI_RANK", "7", 1);
  EXPECT_EQ(substrata::high_level::destination().file, "rank_0007.json");
  setenv("OMPI_COMM_WORLD_RANK", "12", 1);
  EXPECT_EQ(substrata::high_level::destination().file, "rank_0012.json");
  EXPECT_EQ(substrata::high_level::destination().parent, folder_.path());
}

TEST_F(ReportPlace, WithoutALauncherTheProcessNumberNamesTheFile) {
  char name[64];
  std::snprintf(name, sizeof(name), "rank_%06ld.json", static_cast<long>(getpid()));
  EXPECT_EQ(substrata::high_level::destination().file, name);
  setenv("PMI_RANK", "x7", 1);
  EXPECT_EQ(substrata::high_level::destination().file, name);
}

TEST_F(ReportPlace, ReportsOfAnEarlierRunAreMovedAsideAndThoseOfThisRunAreNot) {
  using substrata::high_level::put_old_reports_aside;
  ASSERT_TRUE(
      substrata::high_level::write_report(folder_.path(), "papi_hl_output", "rank_0000.json", text("{}\n"))
          .ok());
  ASSERT_TRUE(put_old_reports_aside(folder_.path()).ok());
  EXPECT_EQ(text_of(folder_.path() + "/papi_hl_output/rank_0000.json"), "{}\n");
  const timespec long_ago[2] = {{1000000, 0}, {1000000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_.path() + "/papi_hl_output").c_str(), long_ago, 0), 0);
  ASSERT_TRUE(put_old_reports_aside(folder_.path()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/papi_hl_output"));
  size_t aside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    aside += entry.path().filename().string().starts_with("papi_hl_output-1970") ? 1 : 0;
  EXPECT_EQ(aside, 1u);
}

// The clock's second changes between the report of one process and the first region of another of the same program.
void wait_for_the_next_second() {
  for (const time_t now = time(nullptr); time(nullptr) == now;) usleep(1000);
}

TEST_F(ReportPlace, AProcessWhoseFirstRegionComesAfterAnothersReportLeavesItInPlace) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t late = fork();
  ASSERT_GE(late, 0);
  if (late == 0) {
    close(gate[1]);
    char go = 0;
    [[maybe_unused]] const ssize_t got = read(gate[0], &go, 1);
    _exit(substrata::high_level::put_old_reports_aside(folder_.path()).ok() ? 0 : 1);
  }
  ASSERT_TRUE(
      substrata::high_level::write_report(folder_.path(), "papi_hl_output", "rank_0000.json", text("{}\n"))
          .ok());
  wait_for_the_next_second();
  close(gate[0]);
  close(gate[1]);
  int status = -1;
  ASSERT_EQ(waitpid(late, &status, 0), late);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(folder_.path() + "/papi_hl_output/rank_0000.json"), "{}\n");
}

TEST_F(ReportPlace, AProcessForkedAfterAnothersReportLeavesItInPlace) {
  ASSERT_TRUE(
      substrata::high_level::write_report(folder_.path(), "papi_hl_output", "rank_0000.json", text("{}\n"))
          .ok());
  wait_for_the_next_second();
  const pid_t late = fork();
  ASSERT_GE(late, 0);
  if (late == 0) _exit(substrata::high_level::put_old_reports_aside(folder_.path()).ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(late, &status, 0), late);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(folder_.path() + "/papi_hl_output/rank_0000.json"), "{}\n");
}

TEST_F(ReportPlace, ALinkUnderTheUnfinishedReportsNameIsNotFollowed) {
  const std::string victim = folder_.file("victim");
  folder_.write("victim", "precious");
  ASSERT_EQ(symlink(victim.c_str(),
                    folder_.file(".papi_hl_output-" + std::to_string(getpid()) + ".unfinished").c_str()),
            0);
  EXPECT_TRUE(
      substrata::high_level::write_report(folder_.path(), "papi_hl_output", "rank_0000.json", text("{}\n"))
          .ok());
  EXPECT_EQ(text_of(victim), "precious");
  EXPECT_EQ(text_of(folder_.path() + "/papi_hl_output/rank_0000.json"), "{}\n");
}

TEST_F(ReportPlace, AReportLargerThanAFileMayBeIsRefusedAndTheProgramLives) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit small{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &small);
    const substrata::Status status = substrata::high_level::write_report(
        folder_.path(), "papi_hl_output", "rank_0000.json", text(std::string(5000, ' ')));
    _exit(status.code == substrata::Code::kSystem ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "signal " << WTERMSIG(status);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    EXPECT_TRUE(entry.is_directory()) << entry.path() << " is left over";
}

TEST_F(ReportPlace, AFolderThatAnotherKeepsLockedDoesNotHoldTheProgramUp) {
  const int other = open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    _exit(substrata::high_level::put_old_reports_aside(folder_.path()).ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "signal " << WTERMSIG(status);
  close(other);
}

TEST_F(ReportPlace, AFolderThatCannotBeMadeIsReportedWithItsReason) {
  std::ofstream(folder_.path() + "/file") << "no folder";
  const substrata::Status status = substrata::high_level::write_report(
      folder_.path() + "/file", "papi_hl_output", "rank_0000.json", text("{}"));
  EXPECT_EQ(status.code, substrata::Code::kSystem);
  EXPECT_THAT(status.note, HasSubstr(folder_.path()));
}

}  // namespace
