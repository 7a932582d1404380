// Locks and barriers of workloads as accesses of the modelled processors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "numachine/last_run.hpp"
#include "simulation.hpp"

namespace substrata::numachine::test {
namespace {

const ObjectMisses* find_object(const LastRun& run, const std::string& name) {
  for (const ObjectMisses& object : run.objects) {
    if (object.name == name) return &object;
  }
  return nullptr;
}
const Waits* find_waits(const LastRun& run, const std::string& name) {
  for (const Waits& waits : run.waits) {
    if (waits.name == name) return &waits;
  }
  return nullptr;
}

// A program whose lock two processors hold at once loses an increment; one that is never woken ends as a deadlock.
TEST(WorkloadLocks, OfEverySchemeLeaveEveryProgramRightAndCountEachPassage) {
  for (const char* workload : {"true-sharing:rounds=50", "migratory:rounds=20", "ocean:n=34"}) {
    for (const char* scheme : {"locks=test_and_set", "locks=queue", "locks=queue:barriers=counter"}) {
      for (const std::uint32_t processes : {1U, 2U, 5U, 16U}) {
        Simulation run(workload, processes, scheme);
        std::uint64_t passed = 0;
        for (const Waits& waits : last_run().waits) {
          if (waits.kind == WaitKind::kLock) passed += waits.uses;
        }
        EXPECT_EQ(passed, run.report.outcome.locks) << workload << " " << scheme << " " << processes;
      }
    }
  }
}

TEST(WorkloadLocks, MakeNoAccessesAndAreNotNamedWhereTheyHaveAFixedCost) {
  const Simulation run("true-sharing:rounds=50:words=1", 8);
  EXPECT_EQ(find_object(last_run(), "lock 0"), nullptr);
  EXPECT_TRUE(last_run().waits.empty());
}

TEST(WorkloadLocks, ThatAreContendedAreNamedWithTheTimeLostToThem) {
  const Simulation run("true-sharing:rounds=50:words=1", 8, "locks=test_and_set");
  const LastRun found = last_run();
  const ObjectMisses* const object = find_object(found, "lock 0");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->cause, Cause::kLock);
  const Waits* const waits = find_waits(found, "lock 0");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->uses, 8U * 50U);
  EXPECT_GT(waits->waited, 0U);
  EXPECT_GT(waits->held, 0U);
  Time lost = 0;
  for (const LostTime& each : found.lost) lost += each.locks;
  EXPECT_EQ(lost, waits->wait);
}

TEST(WorkloadLocks, ThatNobodyElseWantsAreNotWaitedFor) {
  const Simulation run("true-sharing:rounds=50:words=1", 1, "locks=test_and_set");
  EXPECT_EQ(last_run().waits.at(0).waited, 0U);
}

// All who spin read the word again when it is given back; in a queue one does.
TEST(WorkloadLocks, InAQueueMakeFewerMissesOnTheLockThanTestAndTestAndSet) {
  const auto misses_with = [](const char* scheme) {
    const Simulation run("true-sharing:rounds=50:words=1", 16, scheme);
    const LastRun found = last_run();
    const ObjectMisses* const object = find_object(found, "lock 0");
    return object != nullptr ? object->misses() : 0;
  };
  const std::uint64_t queue = misses_with("locks=queue");
  EXPECT_GT(queue, 0U);
  EXPECT_LT(queue, misses_with("locks=test_and_set"));
}

TEST(WorkloadBarriers, ThatCountAreNamedWithTheLoadImbalance) {
  const Simulation run("ocean:n=34", 8, "barriers=counter");
  const LastRun found = last_run();
  EXPECT_NE(find_object(found, "barrier 0"), nullptr);
  const Waits* const waits = find_waits(found, "barrier 0");
  ASSERT_NE(waits, nullptr);
  EXPECT_EQ(waits->kind, WaitKind::kBarrier);
  EXPECT_GT(waits->wait, 0U);
  EXPECT_GT(waits->uses, 0U);
  EXPECT_EQ(waits->uses % 8, 0U);
}

}  // namespace
}  // namespace substrata::numachine::test
