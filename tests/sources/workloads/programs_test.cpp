// Every built-in workload gives right results at every process count and under random timing.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "small_specs.hpp"
#include "sources/workloads/catalogue.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/trivial_machine.hpp"

namespace substrata::workloads {
namespace {

class EveryWorkload : public testing::TestWithParam<const char*> {};

// FE-9
TEST_P(EveryWorkload, GivesTheRightResultOnAnyNumberOfProcesses) {
  for (const ProcessId processes : {1U, 2U, 3U, 8U, 64U}) {
    TrivialMachine machine({});
    const Report report = run_workload(GetParam(), 5, machine, {.processes = processes});
    EXPECT_TRUE(report.ran && report.correct) << report.message;
    EXPECT_GT(report.outcome.time, 0U);
  }
}

// FE-9, FE-11: programs are properly synchronised, so no timing and no run-ahead may change a result.
TEST_P(EveryWorkload, GivesTheRightResultUnderRandomTiming) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    TrivialMachine machine({.jitter = 1 + seed * 37, .quantum = seed * 50, .seed = seed});
    const EngineSettings settings{.processes = static_cast<ProcessId>(2 + seed),
                                  .run_ahead = 1 + (seed * 5) % 23};
    const Report report = run_workload(GetParam(), seed, machine, settings);
    EXPECT_TRUE(report.ran && report.correct) << report.message << " (schedule " << seed << ")";
  }
}

// FE-11
TEST_P(EveryWorkload, GivesTheSameOperationsForTheSameSeed) {
  std::set<std::uint64_t> digests;
  for (int repeat = 0; repeat < 2; ++repeat) {
    TrivialMachine machine({.jitter = 20, .seed = 9});
    const Report report = run_workload(GetParam(), 7, machine, {.processes = 6, .digest = true});
    ASSERT_TRUE(report.ran) << report.message;
    digests.insert(report.outcome.digest);
  }
  EXPECT_EQ(digests.size(), 1U);
}

// FE-11
TEST_P(EveryWorkload, GivesAnotherOrderOfOperationsForAnotherSchedule) {
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    TrivialMachine machine({.jitter = 20, .seed = seed});
    digests.insert(run_workload(GetParam(), 7, machine, {.processes = 6, .digest = true}).outcome.digest);
  }
  EXPECT_EQ(digests.size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Small, EveryWorkload, testing::ValuesIn(kSmallSpecs), spec_name);

// FE-9: a workload that is added without a test fails here.
TEST(Workloads, AreAllTested) {
  std::set<std::string_view> tested;
  for (const char* spec : kSmallSpecs) tested.insert(split_spec(spec).name);
  for (const Workload* workload : workloads()) EXPECT_TRUE(tested.contains(workload->name)) << workload->name;
}

TEST(Workloads, AreListedInAlphabeticalOrderWithSummaries) {
  std::string_view last;
  for (const Workload* workload : workloads()) {
    EXPECT_LT(last, workload->name);
    EXPECT_FALSE(workload->summary.empty());
    last = workload->name;
  }
  EXPECT_EQ(find_workload("radix")->name, "radix");
  EXPECT_EQ(find_workload("no"), nullptr);
}

// FE-11: 256 processes in one machine's memory.
TEST(Workloads, RunOn256Processes) {
  TrivialMachine machine({});
  const Report report = run_workload("radix:keys=4096:radix=64:bits=12", 1, machine, {.processes = 256});
  EXPECT_TRUE(report.correct) << report.message;
}

TEST(Workloads, CheckFindsAWrongResult) {
  for (const Workload* workload : workloads()) {
    std::string error;
    const auto program = make_program(workload->name, 1, error);
    ASSERT_NE(program, nullptr) << error;
    Memory memory;
    program->lay_out(memory, 2);
    memory.commit();
    EXPECT_NE(program->check(memory), "") << workload->name << " takes memory full of zeros for its result";
  }
}

TEST(Workloads, CountsOperationsAsThePlainProgramHasThem) {
  TrivialMachine machine({});
  const Report report = run_workload("stream:elements=100:rounds=3", 1, machine, {.processes = 4});
  // Initialisation 1 write; copy 1+1, scale 1+1, add 2+1, triad 2+1, for each element.
  EXPECT_EQ(report.outcome.reads, 100U * 3 * 6);
  EXPECT_EQ(report.outcome.writes, 100U * (1 + 3 * 4));
  EXPECT_EQ(report.outcome.barriers, 3U * 4);
  const Report gauss = run_workload("gauss:n=10", 1, machine, {.processes = 5});
  EXPECT_EQ(gauss.outcome.messages, 10U * 4 + 8);  // each pivot row to 4 others, then 8 rows to process 0
}

// Every process that still has a row offers it to all the others, so a step is as many broadcasts.
TEST(Workloads, GaussWithPivotingSolvesWhatEliminationInOrderCannotBegin) {
  TrivialMachine machine({});
  for (const char* spec : {"gauss:n=1:pivoting=1", "gauss:n=3:pivoting=1", "gauss:n=40:pivoting=1:seed=7"}) {
    const Report report = run_workload(spec, 1, machine, {.processes = 5});
    EXPECT_TRUE(report.correct) << spec << ": " << report.message;
  }
  const Report report = run_workload("gauss:n=10:pivoting=1", 1, machine, {.processes = 5});
  const std::uint64_t offered = (report.outcome.messages - 8) / 4;  // 8 rows are gathered by process 0
  EXPECT_EQ(report.outcome.messages, 4 * offered + 8);
  EXPECT_GE(offered, 2U * (5 + 4 + 3 + 2 + 1));  // one process after the other has none left
  EXPECT_LE(offered, 6U * 5 + 4 + 3 + 2 + 1);    // all have one as long as they can
}

TEST(Workloads, BadSpecsAreReportedAndNothingRuns) {
  TrivialMachine machine({});
  for (const char* spec : {"", "nosuch", "fft:points=3", "fft:points=0", "fft:what=1", "radix:keys"}) {
    const Report report = run_workload(spec, 1, machine, {.processes = 2});
    EXPECT_FALSE(report.ran) << spec;
    EXPECT_NE(report.message, "") << spec;
  }
  EXPECT_NE(run_workload("nosuch", 1, machine, {}).message.find("radix"), std::string::npos);
  EXPECT_NE(run_workload("fft:what=1", 1, machine, {}).message.find("points"), std::string::npos);
  EXPECT_NE(run_workload("fft", 1, machine, {.processes = 0}).message.find("1 to"), std::string::npos);
}

}  // namespace
}  // namespace substrata::workloads
