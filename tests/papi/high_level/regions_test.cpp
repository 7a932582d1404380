// Regions as a client runs them: each case in a process of its own, because the report is written when it
// ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "support/sanitized.hpp"
#include "support/temporary_folder.hpp"

namespace {

using testing::HasSubstr;
using testing::Not;

class Regions : public testing::Test {
 protected:
  // Runs the body in a child that ends by exit(0) if it returned true; gives the text of its reports.
  std::vector<std::string> reports_of(const std::string& events, const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) {
      for (const char* name : {"OMPI_COMM_WORLD_RANK", "ALPS_APP_PE", "PMI_RANK", "SLURM_PROCID",
                               "PAPI_REPORT", "PAPI_HL_VERBOSE", "PAPI_MULTIPLEX"})
        unsetenv(name);
      setenv("PAPI_OUTPUT_DIRECTORY", folder_.c_str(), 1);
      setenv("PAPI_EVENTS", events.c_str(), 1);
      const bool good = body();
      std::exit(good ? 0 : 3);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the client gave " << status;
    return reports_in("papi_hl_output");
  }
  std::vector<std::string> reports_in(const std::string& name) const {
    std::vector<std::string> texts;
    const std::string place = folder_ + "/" + name;
    if (!std::filesystem::exists(place)) return texts;
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      std::ifstream file(entry.path());
      texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>{});
    }
    return texts;
  }

  const substrata::tests::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

#define SKIP_UNDER_THREAD_SANITIZER()     \
  if (substrata::tests::kThreadSanitizer) \
  GTEST_SKIP() << "the thread sanitizer follows no fork of a process with threads"

TEST_F(Regions, ThreadsHaveIdsFromTheFirstRegionOn) {
  reports_of("example:::ticks", [] {
    return PAPI_hl_region_begin("first") == PAPI_OK && PAPI_hl_region_end("first") == PAPI_OK &&
           PAPI_is_initialized() == (PAPI_LOW_LEVEL_INITED | PAPI_THREAD_LEVEL_INITED) &&
           PAPI_thread_id() == static_cast<unsigned long>(getpid());
  });
}

// PA-24: the file is written without a PMU, and in the first call of the program.
TEST_F(Regions, OfAGroupOfMetricsReportTheMetricsAndTheirEvents) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
      PAPI_query_named_event("perf::TASK-CLOCK") != PAPI_OK)
    GTEST_SKIP() << "perf::TASK-CLOCK does not open here";
  const std::vector<std::string> texts = reports_of("@SYSTEM", [] {
    return PAPI_hl_region_begin("work") == PAPI_OK && PAPI_hl_region_end("work") == PAPI_OK;
  });
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("\"perf::TASK-CLOCK\":"));
  EXPECT_THAT(texts[0], testing::ContainsRegex("\"metric:::CPUS\":\"[0-9.]+\""));
}

TEST_F(Regions, TakeASingleMetricByItsName) {
  const std::vector<std::string> texts = reports_of("metric:::NET_RX_BW", [] {
    return PAPI_hl_region_begin("work") == PAPI_OK && PAPI_hl_region_end("work") == PAPI_OK;
  });
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], testing::ContainsRegex("\"metric:::NET_RX_BW\":\"[0-9.]+\""));
}

TEST_F(Regions, OneReportAProcessWithEveryThreadAndNestedRegion) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    bool good = PAPI_hl_region_begin("outer") == PAPI_OK && PAPI_hl_region_begin("inner") == PAPI_OK &&
                PAPI_hl_read("inner") == PAPI_OK && PAPI_hl_region_end("inner") == PAPI_OK &&
                PAPI_hl_region_end("outer") == PAPI_OK;
    std::thread other([&good] {
      good =
          good && PAPI_hl_region_begin("elsewhere") == PAPI_OK && PAPI_hl_region_end("elsewhere") == PAPI_OK;
    });
    other.join();
    return good;
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], HasSubstr("\"papi_version\":\"7.3.0.0\""));
  EXPECT_THAT(reports[0], HasSubstr("\"example:::ticks\":{\n      \"component\":\"example\""));
  EXPECT_THAT(reports[0], HasSubstr("\"name\":\"inner\",\n          \"parent_region_id\":\"0\""));
  EXPECT_THAT(reports[0], HasSubstr("\"read_1\":"));
  EXPECT_THAT(reports[0],
              HasSubstr("\"1\":{\n      \"regions\":{\n        \"0\":{\n          \"name\":\"elsewhere\""));
}

// PA-24: with the setting PAPI writes one thread, ours wrote each.
TEST_F(Regions, ThreadsAreOneWherePapiHlThreadMultipleSaysSo) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    setenv("PAPI_HL_THREAD_MULTIPLE", "0", 1);
    bool good = PAPI_hl_region_begin("outer") == PAPI_OK && PAPI_hl_region_end("outer") == PAPI_OK;
    std::thread([&] {
      good = good && PAPI_hl_region_begin("other") == PAPI_OK && PAPI_hl_region_begin("inner") == PAPI_OK;
      good = good && PAPI_hl_region_end("inner") == PAPI_OK && PAPI_hl_region_end("other") == PAPI_OK;
    }).join();
    return good;
  });
  ASSERT_EQ(reports.size(), 1u);
  const size_t regions = reports[0].find("\"regions\"");
  ASSERT_NE(regions, std::string::npos);
  EXPECT_EQ(reports[0].find("\"regions\"", regions + 1), std::string::npos) << reports[0];
  EXPECT_THAT(reports[0], HasSubstr("\"name\":\"outer\",\n          \"parent_region_id\":\"-1\""));
  EXPECT_THAT(reports[0], HasSubstr("\"name\":\"other\",\n          \"parent_region_id\":\"-1\""));
  EXPECT_THAT(reports[0], HasSubstr("\"name\":\"inner\",\n          \"parent_region_id\":\"1\""));
}

TEST_F(Regions, EventsThatDoNotExistAreLeftOutAndTimeIsAlwaysReported) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("NO_SUCH_EVENT,example:::ticks=instant", [] {
    return PAPI_hl_region_begin("r") == PAPI_OK && PAPI_hl_region_end("r") == PAPI_OK;
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], Not(HasSubstr("NO_SUCH_EVENT")));
  EXPECT_THAT(reports[0], HasSubstr("\"type\":\"instant\""));
  EXPECT_THAT(reports[0], HasSubstr("\"real_time_nsec\":"));
}

// The report and what was left out of it are printed where the program's user asks, and the report is the file's.
TEST_F(Regions, PapiReportAndPapiHlVerbosePrintAndPapiMultiplexCounts) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::string printed = folder_ + "/printed";
  const std::vector<std::string> reports = reports_of("NO_SUCH_EVENT,example:::ticks", [&] {
    for (const char* name : {"PAPI_REPORT", "PAPI_HL_VERBOSE", "PAPI_MULTIPLEX"}) setenv(name, "1", 1);
    return std::freopen(printed.c_str(), "w", stdout) != nullptr && PAPI_hl_region_begin("r") == PAPI_OK &&
           PAPI_hl_region_end("r") == PAPI_OK;
  });
  ASSERT_EQ(reports.size(), 1u);
  std::ifstream file(printed);
  const std::string text(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>{});
  EXPECT_THAT(text, HasSubstr("PAPI-HL Warning: NO_SUCH_EVENT is left out"));
  EXPECT_THAT(text, HasSubstr("PAPI-HL Output:\n" + reports[0]));
  EXPECT_THAT(reports[0], HasSubstr("\"example:::ticks\":\""));
}

TEST_F(Regions, NothingIsWrittenWithoutARegion) {
  SKIP_UNDER_THREAD_SANITIZER();
  EXPECT_TRUE(reports_of("example:::ticks", [] {
                return PAPI_hl_region_end("r") == PAPI_EMISC && PAPI_hl_read("r") == PAPI_EMISC &&
                       PAPI_hl_stop() == PAPI_ENOEVNT && PAPI_hl_region_begin(nullptr) == PAPI_EINVAL;
              }).empty());
}

TEST_F(Regions, AnEndOfAnotherNameIsRefusedAndTheRegionGoesOn) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    return PAPI_hl_region_begin("r") == PAPI_OK && PAPI_hl_region_end("s") == PAPI_EINVAL &&
           PAPI_hl_read("s") == PAPI_EINVAL && PAPI_hl_region_end("r") == PAPI_OK &&
           PAPI_hl_region_end("r") == PAPI_EINVAL;
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], Not(HasSubstr("\"s\"")));
}

TEST_F(Regions, StopEndsMeasuringUntilTheNextBegin) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    return PAPI_hl_region_begin("first") == PAPI_OK && PAPI_hl_region_end("first") == PAPI_OK &&
           PAPI_hl_stop() == PAPI_OK && PAPI_hl_stop() == PAPI_ENOEVNT &&
           PAPI_hl_region_begin("second") == PAPI_OK && PAPI_hl_region_end("second") == PAPI_OK;
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], HasSubstr("second"));
}

TEST_F(Regions, AForkedChildReportsItsOwnRegionsOnly) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    if (PAPI_hl_region_begin("parents") != PAPI_OK || PAPI_hl_region_end("parents") != PAPI_OK) return false;
    const pid_t child = fork();
    if (child == 0) {
      const bool good = PAPI_hl_region_begin("childs") == PAPI_OK && PAPI_hl_region_end("childs") == PAPI_OK;
      std::exit(good ? 0 : 4);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  });
  ASSERT_EQ(reports.size(), 2u);
  for (const std::string& report : reports)
    EXPECT_NE(report.find("parents") == std::string::npos, report.find("childs") == std::string::npos)
        << report;
}

TEST_F(Regions, SummaryIsWrittenBesideOnRequest) {
  SKIP_UNDER_THREAD_SANITIZER();
  const std::vector<std::string> reports = reports_of("example:::ticks", [] {
    setenv("SUBSTRATA_HL_SUMMARY", "1", 1);
    bool good = true;
    for (int i = 0; i < 3; ++i)
      good = good && PAPI_hl_region_begin("r") == PAPI_OK && PAPI_hl_region_end("r") == PAPI_OK;
    return good;
  });
  EXPECT_EQ(reports.size(), 1u);
  const std::vector<std::string> summaries = reports_in("papi_hl_summary");
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_THAT(summaries[0], HasSubstr("\"passages\":\"3\""));
}

// As a launcher does whose second rank begins when the first has ended already.
TEST_F(Regions, ARankThatBeginsAfterAnotherRanksEndLeavesItsReportInPlace) {
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "ALPS_APP_PE", "PMI_RANK", "SLURM_PROCID"})
      unsetenv(name);
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.c_str(), 1);
    setenv("PAPI_EVENTS", "example:::ticks", 1);
    execl("/bin/sh", "sh", "-c",
          "PMI_RANK=0 \"$0\" && now=$(date +%s) && while [ $(date +%s) = $now ]; do :; done && "
          "PMI_RANK=1 sh -c '\"$0\"; exit' \"$0\"",
          HIGH_LEVEL_PROGRAM, nullptr);
    _exit(127);
  }
  int status = -1;
  ASSERT_EQ(waitpid(launcher, &status, 0), launcher);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reports_in("papi_hl_output").size(), 2u);
}

// A life in which four threads measure regions without end while `end` ends the library or the process. How the life
// ended.
int life_of_regions(useconds_t duration, const std::function<void()>& end) {
  const pid_t child = fork();
  if (child != 0) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }
  alarm(30);  // its default action ends a life that hangs
  PAPI_library_init(PAPI_VER_CURRENT);
  for (int i = 0; i < 4; ++i)
    std::thread([] {
      for (;;) {
        PAPI_hl_region_begin("x");
        PAPI_hl_region_end("x");
      }
    }).detach();
  usleep(duration);
  end();
  std::exit(0);
}

class RegionsOfThreads : public Regions {
 protected:
  void SetUp() override {
    SKIP_UNDER_THREAD_SANITIZER();
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.c_str(), 1);
    setenv("PAPI_EVENTS", "example:::ticks", 1);
  }
  void TearDown() override {
    unsetenv("PAPI_OUTPUT_DIRECTORY");
    unsetenv("PAPI_EVENTS");
  }
  static void expect_lives_end_well(int lives, const std::function<void()>& end) {
    for (int i = 0; i < lives; ++i)
      ASSERT_EQ(life_of_regions(static_cast<useconds_t>(1000 + 200 * i), end), 0) << "life " << i;
  }
};

TEST_F(RegionsOfThreads, DoNotEndAProcessThatExitsMeanwhile) {
  expect_lives_end_well(40, [] {});
}

TEST_F(RegionsOfThreads, DoNotEndAProcessThatShutsDownAndExitsMeanwhile) {
  expect_lives_end_well(40, [] { PAPI_shutdown(); });
}

TEST_F(RegionsOfThreads, DoNotEndAProcessThatShutsDownAndInitialisesAgainMeanwhile) {
  expect_lives_end_well(20, [] {
    for (int i = 0; i < 50; ++i) {
      PAPI_shutdown();
      PAPI_library_init(PAPI_VER_CURRENT);
    }
  });
}

TEST_F(RegionsOfThreads, BegunByAnExitHandlerAfterTheReportAreRefused) {
  const pid_t child = fork();
  if (child == 0) {
    // Registered before the regions' own handler, so called after it.
    std::atexit([] { _exit(PAPI_hl_region_begin("late") == PAPI_EMISC ? 0 : 5); });
    PAPI_hl_region_begin("x");
    PAPI_hl_region_end("x");
    std::exit(3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(reports_in("papi_hl_output").size(), 1u);
}

}  // namespace
