// The findings at the head of a report: each rule on a run that has the ailment, and on one that has not.
#include "recording/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <sstream>

#include "page_data.hpp"
#include "recording/advice_rules.hpp"
#include "recording/base_unit.hpp"
#include "recording/html_report.hpp"
#include "recording/memory_sink.hpp"
#include "recording/placement.hpp"
#include "recording/text_report.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A run of ten seconds, a row a second, of series that are functions of time.
class Made {
 public:
  struct Line {
    SeriesInfo info;
    std::function<double(double)> at;
  };
  Made& with(SeriesInfo info, std::function<double(double)> at) {
    lines_.push_back({std::move(info), std::move(at)});
    return *this;
  }
  Made& counts(const std::string& name, double a_second, const std::string& unit = "") {
    return with(count_series(name, unit), [=](double t) { return a_second * t; });
  }
  Made& heat(double first, double last, const std::string& name = "coretemp:::package") {
    return with(gauge_series(name), [=](double t) { return 1000 * (first + (last - first) * t / 10); });
  }
  Made& region(const std::string& name, int rank, double begin, double end) {
    marks_.push_back({MarkKind::kBegin, at(begin), rank, name});
    marks_.push_back({MarkKind::kEnd, at(end), rank, name});
    return *this;
  }
  Made& used(const std::string& user, const std::string& system) {
    end_ = {{"command.user_s", user}, {"command.system_s", system}};
    return *this;
  }
  Made& attached(const std::string& name, const std::string& content) {
    attachments_.push_back({name, "application/json", content});
    return *this;
  }

  Recording recording() const {
    MemorySink sink(machine("node1", "boot"));
    std::vector<SeriesInfo> infos;
    for (const Line& line : lines_) infos.push_back(line.info);
    if (!infos.empty()) {
      const std::uint32_t set = sink.declare(infos);
      for (int t = 0; t <= 10; ++t) {
        std::vector<std::int64_t> values;
        for (const Line& line : lines_) values.push_back(static_cast<std::int64_t>(line.at(t)));
        const std::vector<std::uint8_t> flags(values.size(), 0);
        sink.sample(set, at(t), 1000, values.data(), flags.data());
      }
    }
    for (const Mark& mark : marks_) sink.mark(mark);
    sink.end(at(10), end_);
    Recording out = sink.recording();
    out.writers.front().attachments = attachments_;
    return out;
  }
  Advice advice() const {
    const Recording made = recording();
    std::deque<Series> renamed;
    return advise(in_base_units(lay_out(made), &renamed));
  }
  std::vector<std::string> rules() const {
    std::vector<std::string> out;
    for (const Finding& one : advice().findings) out.push_back(one.rule);
    return out;
  }

 private:
  static std::int64_t at(double seconds) { return kSecond + static_cast<std::int64_t>(seconds * 1e9); }
  std::vector<Line> lines_;
  std::vector<Mark> marks_;
  Properties end_;
  std::vector<Attachment> attachments_;
};

Made counters(double instructions_a_cycle, double misses_a_thousand) {
  Made run;
  run.counts("PAPI_TOT_CYC", 3e9).counts("PAPI_TOT_INS", 3e9 * instructions_a_cycle);
  run.counts("PAPI_L3_TCM", 3e6 * instructions_a_cycle * misses_a_thousand);
  return run;
}

TEST(Advice, FewInstructionsAndManyMissesAreBoundByMemory) {
  const Advice advice = counters(0.4, 25).advice();
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].rule, "memory-bound");
  EXPECT_THAT(advice.findings[0].evidence, HasSubstr("0.40 instructions a cycle, 25.0 misses"));
}

TEST(Advice, AFastProgramOrOneWithoutMissesIsNotBoundByMemory) {
  EXPECT_THAT(counters(2.5, 25).rules(), Not(Contains("memory-bound")));
  EXPECT_THAT(counters(0.4, 1).rules(), Not(Contains("memory-bound")));
}

// The rule looked at misses of the second level only where those of the third were recorded too.
TEST(Advice, WithoutAThirdLevelMissesOfTheSecondCount) {
  Made run;
  run.counts("PAPI_TOT_CYC", 3e9).counts("PAPI_TOT_INS", 1.2e9).counts("PAPI_L2_TCM", 3e7);
  EXPECT_THAT(run.rules(), testing::ElementsAre("memory-bound"));
}

// The second level's misses, of which the third level serves nearly all, were taken for those of the last.
TEST(Advice, MissesThatTheThirdLevelServesAreNotThoseOfTheLast) {
  Made run = counters(0.4, 1);
  run.counts("PAPI_L2_TCM", 3e7);
  EXPECT_THAT(run.rules(), testing::IsEmpty());
}

TEST(Advice, ARankThatTakesLongerThanTheOthersIsNamed) {
  Made run;
  for (int rank = 0; rank < 4; ++rank) run.region("solve", rank, 1, rank == 2 ? 9 : 4);
  const Advice advice = run.advice();
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].rule, "rank-imbalance");
  EXPECT_THAT(advice.findings[0].evidence, HasSubstr("in solve rank 2 took 8 s"));
}

TEST(Advice, RanksThatTakeEquallyLongAreFine) {
  Made run;
  for (int rank = 0; rank < 4; ++rank) run.region("solve", rank, 1, 5 + 0.1 * rank);
  EXPECT_THAT(run.rules(), Not(Contains("rank-imbalance")));
  EXPECT_THAT(run.advice().quiet, Contains("rank-imbalance"));
}

Made clocked(double last_ghz, double last_degrees) {
  Made run;
  run.with(count_series("PAPI_TOT_CYC"),
           [=](double t) { return 1e9 * (3.5 * t + (last_ghz - 3.5) * t * t / 20); });
  run.with(count_series("perf::TASK-CLOCK", "ns"), [](double t) { return 1e9 * t; });
  return run.heat(60, last_degrees);
}

TEST(Advice, AClockThatFallsWhileThePackageBecomesHotIsThrottling) {
  EXPECT_THAT(clocked(2.0, 85).rules(), testing::ElementsAre("throttling"));
}

TEST(Advice, ASteadyClockOrACoolPackageIsNotThrottling) {
  EXPECT_THAT(clocked(3.5, 85).rules(), Not(Contains("throttling")));
  EXPECT_THAT(clocked(2.0, 61).rules(), Not(Contains("throttling")));
}

std::string ranks_of_mpi(double computed) {
  const std::string one = ",\"computed_ns\":" + std::to_string(static_cast<long>(computed * 1e9)) +
                          ",\"elapsed_ns\":10000000000,\"phases\":[]}";
  return "{\"ranks\":[{\"rank\":0" + one + ",{\"rank\":1" + one + "]}";
}

TEST(Advice, RanksThatComputeLittleWaitInMpi) {
  const Advice advice = Made().attached("mpi-summary", ranks_of_mpi(4)).advice();
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].rule, "mpi-waiting");
  EXPECT_THAT(advice.findings[0].evidence, HasSubstr("60 %"));
}

TEST(Advice, RanksThatComputeDoNotWait) {
  EXPECT_THAT(Made().attached("mpi-summary", ranks_of_mpi(9)).rules(), Not(Contains("mpi-waiting")));
}

TEST(Advice, AHotPackageIsNamedWithItsDegrees) {
  const Advice advice = Made().heat(50, 97).advice();
  ASSERT_EQ(advice.findings.size(), 1u);
  EXPECT_EQ(advice.findings[0].rule, "hot-package");
  EXPECT_THAT(advice.findings[0].evidence, HasSubstr("97.0 degrees C"));
  EXPECT_THAT(advice.findings[0].evidence, HasSubstr("(modelled)")) << "the series is";
}

TEST(Advice, APackageNearItsOwnLimitIsHot) {
  Made run;
  run.heat(50, 72).heat(75, 75, "coretemp:::package:max");
  EXPECT_THAT(run.rules(), testing::ElementsAre("hot-package"));
}

TEST(Advice, ALimitIsNoTemperatureAndACoolPackageIsFine) {
  Made run;
  run.heat(50, 60).heat(100, 100, "coretemp:::package:crit");
  EXPECT_THAT(run.rules(), testing::IsEmpty());
}

TEST(Advice, MuchTimeInTheSystemIsNamed) {
  EXPECT_THAT(Made().used("1.0", "3.0").rules(), testing::ElementsAre("kernel-time"));
  EXPECT_THAT(Made().used("3.0", "0.3").rules(), testing::IsEmpty());
}

Task busy(int rank, int processor) {
  Task out;
  out.pid = out.tid = 100 + rank;
  out.rank = rank;
  out.allowed = {0, 1};
  out.ran_s = out.waited_s = 5;
  out.ran = {{processor, 5}};
  return out;
}

TEST(Advice, RanksThatShareACoreAreNamed) {
  Placement placement;
  placement.seconds = 10;
  placement.processors = {{0, 0, 0, 0, 0}, {1, 1, 0, 0, 0}};
  placement.tasks = {busy(0, 1), busy(4, 1)};
  const Advice shared = Made().attached(kPlacementName, placement_as_json(placement)).advice();
  ASSERT_EQ(shared.findings.size(), 1u);
  EXPECT_EQ(shared.findings[0].text, "ranks 0 and 4 share core 1");
  placement.tasks = {busy(0, 0), busy(4, 1)};
  for (Task& task : placement.tasks) task.waited_s = 0;
  EXPECT_THAT(Made().attached(kPlacementName, placement_as_json(placement)).rules(), testing::IsEmpty());
}

// Ten seconds of tasks on a machine whose processors are cores of their own.
struct Placed {
  int packages = 1, cores = 4, fast = 0;  // how many cores are faster than the others
  std::vector<Task> tasks;

  Made run() const {
    Placement placement;
    placement.seconds = 10;
    for (int i = 0; i < cores; ++i) {
      const int package = i * packages / cores;
      placement.processors.push_back({i, i, package, package, i < fast ? 1 : 0});
    }
    placement.tasks = tasks;
    for (Task& task : placement.tasks)
      if (task.allowed.empty())
        for (int i = 0; i < cores; ++i) task.allowed.push_back(i);
    return Made().attached(kPlacementName, placement_as_json(placement));
  }
};
Task task_on(int rank, int processor) {
  Task out = busy(rank, processor);
  out.allowed.clear();
  out.ran_s = 10;
  out.waited_s = 0;
  out.ran = {{processor, 10}};
  return out;
}
Task thread_of(int rank, int thread, int processor, std::vector<int> allowed) {
  Task out = task_on(rank, processor);
  out.tid += thread;
  out.allowed = std::move(allowed);
  return out;
}
Task moving(std::int64_t moves) {
  Task out = task_on(3, 0);
  out.ran = {{0, 5}, {3, 5}};
  out.moves = moves;
  return out;
}
Made loaded(double slowest) {
  Made run;
  for (int rank = 0; rank < 4; ++rank) run.region("solve", rank, 0, rank == 2 ? slowest : 5);
  return run;
}

// For each rule of the file the weakest run of its ailment, and the nearest one without it.
struct Ailment {
  Made ill, well;
};
std::map<std::string, Ailment> ailments() {
  const auto crowd = [&](double waited) {
    Placed out{.cores = 1, .tasks = {task_on(0, 0), task_on(1, 0)}};
    for (Task& task : out.tasks) {
      task.ran_s = 10 - waited;
      task.waited_s = waited;
    }
    return out.run();
  };
  const auto beside_others = [&](double waited) {
    Placed out{.cores = 2, .tasks = {task_on(0, 0), task_on(1, 1)}};
    for (Task& task : out.tasks) {
      task.ran_s = 10 - waited;
      task.waited_s = waited;
    }
    return out.run();
  };
  return {
      {"memory-bound", {counters(1.0, 10.01), counters(1.0, 9.9)}},
      {"rank-imbalance", {loaded(6.9), loaded(6.5)}},
      {"throttling", {clocked(3.0, 66), clocked(3.3, 66)}},
      {"mpi-waiting",
       {Made().attached("mpi-summary", ranks_of_mpi(6.9)),
        Made().attached("mpi-summary", ranks_of_mpi(7.1))}},
      {"hot-package", {Made().heat(50, 90), Made().heat(50, 89.9)}},
      {"kernel-time", {Made().used("0.65", "0.35"), Made().used("0.75", "0.25")}},
      {"oversubscribed", {crowd(1.1), crowd(0.9)}},
      {"busy-machine", {beside_others(2.6), beside_others(2.4)}},
      {"shared-core",
       {Placed{.tasks = {task_on(0, 1), task_on(4, 1)}}.run(),
        Placed{.tasks = {task_on(0, 1), task_on(4, 2)}}.run()}},
      {"confined",
       {Placed{.tasks = {thread_of(0, 0, 0, {0, 1}), thread_of(0, 1, 1, {0, 1}), thread_of(0, 2, 1, {0, 1})}}
            .run(),
        Placed{.tasks = {thread_of(0, 0, 0, {0, 1, 2}), thread_of(0, 1, 1, {0, 1, 2}),
                         thread_of(0, 2, 2, {0, 1, 2})}}
            .run()}},
      {"idle-package",
       {Placed{.packages = 2, .tasks = {task_on(0, 0), task_on(1, 1)}}.run(),
        Placed{.packages = 2, .tasks = {task_on(0, 0), task_on(1, 2)}}.run()}},
      {"slow-core",
       {Placed{.fast = 2, .tasks = {task_on(0, 0), task_on(1, 2)}}.run(),
        Placed{.fast = 2, .tasks = {task_on(0, 0), task_on(1, 1)}}.run()}},
      {"wandering",
       {Placed{.packages = 2, .tasks = {moving(10)}}.run(),
        Placed{.packages = 2, .tasks = {moving(9)}}.run()}},
  };
}

std::vector<std::string> rules_of_the_file() {
  std::vector<std::string> out;
  std::istringstream lines(kAdviceRules);
  for (std::string line; std::getline(lines, line);)
    if (line.size() > 2 && line.front() == '[' && line != "[busy]")
      out.push_back(line.substr(1, line.size() - 2));
  return out;
}

class EveryRule : public testing::TestWithParam<std::string> {};

TEST_P(EveryRule, FiresOnItsAilmentAlone) {
  const auto all = ailments();
  const auto found = all.find(GetParam());
  ASSERT_NE(found, all.end()) << "the rule has no run of its ailment";
  EXPECT_THAT(found->second.ill.rules(), testing::ElementsAre(GetParam()));
}

TEST_P(EveryRule, IsQuietWithoutItsAilment) {
  const auto all = ailments();
  const auto found = all.find(GetParam());
  ASSERT_NE(found, all.end()) << "the rule has no run without its ailment";
  const Advice advice = found->second.well.advice();
  EXPECT_THAT(found->second.well.rules(), testing::IsEmpty());
  EXPECT_THAT(advice.quiet, testing::Not(testing::IsEmpty())) << "it looked";
}

TEST_P(EveryRule, SaysWhatToDo) {
  const auto all = ailments();
  const auto found = all.find(GetParam());
  ASSERT_NE(found, all.end());
  for (const Finding& one : found->second.ill.advice().findings) {
    EXPECT_NE(one.cure, "");
    EXPECT_NE(one.evidence, "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryRule, testing::ValuesIn(rules_of_the_file()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// On a machine that others used, ranks were said to wait in MPI 96 % of their time; they waited for a processor.
TEST(Advice, RanksThatWaitForAFreeProcessorDoNotWaitInMpi) {
  Placed placed{.cores = 2, .tasks = {task_on(0, 0), task_on(1, 1)}};
  for (Task& task : placed.tasks) {
    task.ran_s = 1;
    task.waited_s = 8.5;
  }
  EXPECT_THAT(placed.run().attached("mpi-summary", ranks_of_mpi(1)).rules(),
              testing::ElementsAre("busy-machine"));
}

TEST(Advice, ARuleWithoutItsDataIsListedAndFindsNothing) {
  const Advice advice = Made().advice();
  EXPECT_THAT(advice.findings, testing::IsEmpty());
  EXPECT_EQ(advice.without.size() + advice.quiet.size(), 7u);
  std::ostringstream out;
  write_advice(out, advice);
  EXPECT_THAT(out.str(), HasSubstr("memory-bound (needs PAPI_TOT_CYC"));
}

TEST(Advice, AReportOpensWithTheFindings) {
  const Recording made = counters(0.4, 25).recording();
  std::ostringstream out;
  write_text_report(out, lay_out(made), "made");
  EXPECT_EQ(out.str().rfind("Findings\n  bound by memory", 0), 0u) << out.str();
}

TEST(TextReport, OfAnMpiProgramHasTheRatesOfItsBlasByPhase) {
  const auto rank = [](int number, const char* ns) {
    return "{\"rank\":" + std::to_string(number) +
           ",\"blas\":[{\"phase\":\"Multiply\",\"function\":\"dgemm\",\"calls\":2,\"operations\":4000000000,"
           "\"ns\":" +
           ns + "}]}";
  };
  const Recording made = Made()
                             .attached("mpi-summary", "{\"ranks\":[" + rank(0, "1000000000") + "," +
                                                          rank(1, "2000000000") + "]}")
                             .recording();
  std::ostringstream out;
  write_text_report(out, lay_out(made), "made");
  EXPECT_THAT(out.str(), testing::ContainsRegex("Multiply +dgemm +2 +4 +8000M +3.000 +2 +3 +4\n"));
}

// It was "0.000 ms": nanoseconds were expected of a series in seconds.
TEST(TextReport, TheRecordersOwnProcessorTimeIsThatOfItsSeries) {
  SeriesInfo cpu = count_series("recorder:cpu", "ns");
  cpu.scope = "recorder";
  const Recording made = Made().with(cpu, [](double t) { return 2e7 * t; }).recording();
  std::ostringstream out;
  write_text_report(out, lay_out(made), "made");
  EXPECT_THAT(out.str(),
              HasSubstr("the recorder used 200.000 ms of processor time, 2.000 % of one processor"));
}

TEST(Advice, ThePageOfAReportHasTheFindings) {
  const Recording made = counters(0.4, 25).recording();
  std::ostringstream out;
  write_html_report(out, lay_out(made), "made");
  EXPECT_THAT(data_of(out.str()).at("findings")[0].at("text").get<std::string>(),
              HasSubstr("bound by memory"));
  const Recording fine = counters(2.5, 1).recording();
  std::ostringstream other;
  write_html_report(other, lay_out(fine), "made");
  EXPECT_TRUE(data_of(other.str()).at("findings").empty());
}

}  // namespace
