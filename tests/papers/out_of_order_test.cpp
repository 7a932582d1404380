// The out-of-order processor of the Owl paper's perturbation study, on streams whose time is known.
#include "papers/out_of_order.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

using substrata::papers::Branch;
using substrata::papers::Operation;
using substrata::papers::OutOfOrder;
using substrata::papers::Prediction;
using substrata::papers::Work;

namespace {

constexpr uint64_t bit(unsigned i) { return uint64_t{1} << i; }

// Every load takes `latency` cycles, two memory operations begin in one.
struct Memory {
  uint64_t latency = 3;
  uint64_t store_latency = 3;
  std::map<uint64_t, unsigned> begun{};  // by cycle
  std::vector<uint64_t> loads{};         // when each began, in the order of beginning
  uint64_t fetch(uint64_t place, uint64_t now) const { return place < 1'000'000 ? now : now + 100; }
  bool free(uint64_t now) const {
    const auto found = begun.find(now);
    return found == begun.end() || found->second < 2;
  }
  void begin(uint64_t now) { ++begun[now]; }
  uint64_t load(uint64_t, uint64_t now) {
    loads.push_back(now);
    return now + latency;
  }
  uint64_t store(uint64_t, uint64_t now) const { return now + store_latency; }
};

Operation computes(Work work, uint64_t reads = 0, uint64_t writes = 0) {
  Operation made;
  made.work = work;
  made.reads = reads;
  made.writes = writes;
  return made;
}

Operation loads(uint64_t address, uint64_t reads = 0, uint64_t writes = 0) {
  Operation made = computes(Work::kLoad, reads, writes);
  made.address = address;
  return made;
}

Operation stores(uint64_t address, uint64_t reads = 0) {
  Operation made = computes(Work::kStore, reads);
  made.address = address;
  return made;
}

Operation branches(Branch branch, uint64_t place, uint64_t next) {
  Operation made;
  made.branch = branch;
  made.place = place;
  made.behind = place + 4;
  made.next = next;
  return made;
}

struct Result {
  uint64_t cycles;
  uint64_t operations;
  uint64_t mispredicted;
};

Result run(const std::vector<Operation>& operations, Memory memory = {}) {
  OutOfOrder<Memory> processor(memory);
  size_t at = 0;
  processor.run([&](Operation& each) {
    if (at == operations.size()) return false;
    each = operations[at++];
    return true;
  });
  return {processor.cycles(), processor.operations(), processor.mispredicted()};
}

// Cycles that `more` copies behind as many take, so that filling and draining the pipeline do not count.
uint64_t cycles_of(const std::vector<Operation>& pattern, size_t copies, const Memory& memory = {}) {
  std::vector<Operation> once;
  for (size_t i = 0; i < copies; ++i) once.insert(once.end(), pattern.begin(), pattern.end());
  std::vector<Operation> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  return run(twice, memory).cycles - run(once, memory).cycles;
}

}  // namespace

// OW-12
TEST(OutOfOrderProcessor, IndependentAdditionsRunFourACycle) {
  EXPECT_EQ(cycles_of({computes(Work::kInteger)}, 4000), 1000U);
}

TEST(OutOfOrderProcessor, EachLinkOfAChainTakesItsLatency) {
  const std::map<Work, uint64_t> latencies = {
      {Work::kInteger, 1},
      {Work::kSelect, 2},
      {Work::kCount, 3},
      {Work::kMultiply, 7},
      {Work::kFloatAdd, 4},
      {Work::kFloatMultiply, 4},
      {Work::kFloatDivideSingle, 12},
      {Work::kFloatDivideDouble, 15},
      {Work::kFloatRootSingle, 18},
      {Work::kFloatRootDouble, 33},
  };
  for (const auto& [work, latency] : latencies) {
    EXPECT_EQ(cycles_of({computes(work, bit(1), bit(1))}, 1000), 1000 * latency)
        << "work " << static_cast<int>(work);
  }
}

TEST(OutOfOrderProcessor, AChainOfLoadsTakesThreeCyclesALoadAndIntoFloatingPointFour) {
  EXPECT_EQ(cycles_of({loads(64, bit(1), bit(1))}, 1000), 3000U);
  Operation into_float = loads(64, bit(20), bit(20));
  into_float.work = Work::kFloatLoad;
  EXPECT_EQ(cycles_of({into_float}, 1000), 4000U);
}

TEST(OutOfOrderProcessor, UnitsAndPortsLimitWhatDependsOnNothing) {
  EXPECT_EQ(cycles_of({loads(64)}, 1000), 500U);                   // two ports
  EXPECT_EQ(cycles_of({computes(Work::kMultiply)}, 1000), 1000U);  // one multiplier
  EXPECT_EQ(cycles_of({computes(Work::kFloatAdd)}, 1000), 1000U);  // one adder, pipelined
  EXPECT_EQ(cycles_of({computes(Work::kFloatAdd), computes(Work::kFloatMultiply)}, 1000), 1000U);
  EXPECT_EQ(cycles_of({computes(Work::kFloatDivideDouble)}, 1000), 15000U);  // not pipelined
}

TEST(OutOfOrderProcessor, NothingIsFetchedAndNeverIssued) {
  // Issued, the multiplications alone would fill the integer queue.
  EXPECT_EQ(cycles_of({computes(Work::kNothing, bit(1), bit(1))}, 4000), 1000U);
}

TEST(OutOfOrderProcessor, WhatIsIndependentPassesWhatWaits) {
  // Sixteen additions behind a chain of 3-cycle loads: four cycles for both, not seven.
  std::vector<Operation> pattern = {loads(64, bit(1), bit(1))};
  for (int i = 0; i < 15; ++i) pattern.push_back(computes(Work::kInteger));
  EXPECT_EQ(cycles_of(pattern, 1000), 4000U);
}

// Of two loads that miss for 1000 cycles, with so many of an operation between them; that may wait for the
// first, the second does not.
uint64_t cycles_of_two_misses(size_t between, const Operation& each) {
  std::vector<Operation> all = {loads(64, 0, bit(1))};
  all.insert(all.end(), between, each);
  all.push_back(loads(128));
  return run(all, Memory{1000, 3}).cycles;
}

TEST(OutOfOrderProcessor, TheWindowHoldsEightyOperations) {
  // The misses overlap when no more than 79 others lie between them; nothings take no queue.
  EXPECT_LT(cycles_of_two_misses(78, computes(Work::kNothing)), 1100U);
  EXPECT_GT(cycles_of_two_misses(79, computes(Work::kNothing)), 2000U);
}

TEST(OutOfOrderProcessor, TheIntegerQueueHoldsTwenty) {
  // 19 additions that wait for the first miss leave one place to the second, 20 none.
  EXPECT_LT(cycles_of_two_misses(19, computes(Work::kInteger, bit(1))), 1100U);
  EXPECT_GT(cycles_of_two_misses(20, computes(Work::kInteger, bit(1))), 2000U);
}

TEST(OutOfOrderProcessor, TheFloatingPointQueueHoldsFifteen) {
  EXPECT_LT(cycles_of_two_misses(15, computes(Work::kFloatAdd, bit(1))), 1100U);
  EXPECT_GT(cycles_of_two_misses(16, computes(Work::kFloatAdd, bit(1))), 2000U);
}

TEST(OutOfOrderProcessor, ALoadReadsWhatAnOlderStoreHolds) {
  // The store waits for a miss, and the load for the store, but for no line.
  Memory memory{1000, 3};
  const Result through = run({loads(64, 0, bit(1)), stores(256, bit(1)), loads(260, 0, bit(2))}, memory);
  const Result beside = run({loads(64, 0, bit(1)), stores(256, bit(1)), loads(264, 0, bit(2))}, memory);
  EXPECT_GT(through.cycles, beside.cycles);
  EXPECT_LT(through.cycles, beside.cycles + 20);
}

TEST(OutOfOrderProcessor, ThirtyTwoStoresWaitForTheirLines) {
  // A line in a hundred cycles: 32 stores a hundred cycles, whatever else could be done.
  EXPECT_NEAR(static_cast<double>(cycles_of({stores(64)}, 3200, Memory{3, 100})), 10000, 400);
  EXPECT_EQ(cycles_of({stores(64)}, 3200, Memory{3, 1}), 1600U);
}

TEST(OutOfOrderProcessor, FetchEndsBehindATakenTurn) {
  EXPECT_EQ(cycles_of({computes(Work::kInteger), branches(Branch::kJump, 100, 200)}, 1000), 1000U);
  EXPECT_EQ(cycles_of({computes(Work::kInteger), computes(Work::kInteger), computes(Work::kInteger),
                       branches(Branch::kJump, 100, 200)},
                      1000),
            1000U);
}

TEST(OutOfOrderProcessor, AMispredictedTurnCostsSevenCyclesAndWhatItWaitedFor) {
  // An indirect jump that goes elsewhere each time.
  std::vector<Operation> all;
  for (uint64_t i = 0; i < 1000; ++i) all.push_back(branches(Branch::kIndirect, 100, 1000 + 8 * i));
  const Result result = run(all);
  EXPECT_EQ(result.mispredicted, 1000U);
  EXPECT_NEAR(static_cast<double>(result.cycles), 7000, 10);
  // Behind a multiplication that it depends on: the six more of the chain are added.
  std::vector<Operation> waiting;
  for (uint64_t i = 0; i < 1000; ++i) {
    waiting.push_back(computes(Work::kMultiply, 0, bit(1)));
    Operation branch = branches(Branch::kIndirect, 100, 1000 + 8 * i);
    branch.reads = bit(1);
    waiting.push_back(branch);
  }
  EXPECT_NEAR(static_cast<double>(run(waiting).cycles), 14000, 10);
}

TEST(OutOfOrderProcessor, FetchWaitsForEachLineThatTheInstructionCacheDoesNotHave) {
  // Sixteen operations a line, in four cycles once it is there.
  std::vector<Operation> all;
  for (uint64_t i = 0; i < 1600; ++i) {
    Operation each = computes(Work::kInteger);
    each.place = 1'000'000 / 64 * 64 + 64 + 4 * i;
    all.push_back(each);
  }
  EXPECT_NEAR(static_cast<double>(run(all).cycles), 100 * 104, 110);
}

TEST(OutOfOrderProcessor, GivesEveryOperationOnce) {
  std::vector<Operation> all;
  for (uint64_t i = 0; i < 12345; ++i) {
    switch (i % 5) {
      case 0:
        all.push_back(loads(8 * (i % 700), bit(i % 7), bit(i % 5)));
        break;
      case 1:
        all.push_back(stores(8 * (i % 300), bit(i % 5)));
        break;
      case 2:
        all.push_back(computes(Work::kFloatMultiply, bit(i % 11), bit(i % 3)));
        break;
      case 3:
        all.push_back(branches(Branch::kConditional, i % 64 * 4, i % 3 == 0 ? i % 64 * 4 + 4 : 0));
        break;
      default:
        all.push_back(computes(Work::kInteger, bit(i % 13) | bit(i % 3), bit(i % 4)));
    }
  }
  EXPECT_EQ(run(all).operations, 12345U);
  EXPECT_EQ(run({}).operations, 0U);
}

TEST(OutOfOrderProcessor, AResultFarBeyondAnyWheelStillArrives) {
  EXPECT_GE(run({loads(64, 0, bit(1)), computes(Work::kInteger, bit(1))}, Memory{1'000'000, 3}).cycles,
            1'000'000U);
}

TEST(BranchPrediction, LearnsALoopsEndAndAPattern) {
  // A loop of eight rounds has a history of its own that shows its end.
  Prediction prediction;
  unsigned late = 0;
  for (unsigned i = 0; i < 8000; ++i) {
    const bool wrong = prediction.wrong(branches(Branch::kConditional, 64, i % 8 != 7 ? 0 : 68));
    if (i >= 4000 && wrong) ++late;
  }
  EXPECT_EQ(late, 0U);
}

TEST(BranchPrediction, LearnsThatOneBranchRepeatsAnother) {
  // The first is as if drawn by lot; the second always goes as the first did.
  Prediction prediction;
  uint64_t state = 1;
  unsigned second_wrong = 0;
  for (unsigned i = 0; i < 40000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const bool taken = (state >> 40 & 1) != 0;
    prediction.wrong(branches(Branch::kConditional, 64, taken ? 0 : 68));
    const bool wrong = prediction.wrong(branches(Branch::kConditional, 512, taken ? 0 : 516));
    if (i >= 20000 && wrong) ++second_wrong;
  }
  EXPECT_LT(second_wrong, 2000U);  // of 20000
}

TEST(BranchPrediction, ReturnsGoBehindTheirCallsUpToThirtyTwoDeep) {
  for (const unsigned depth : {1U, 32U, 33U}) {
    Prediction prediction;
    for (unsigned i = 0; i < depth; ++i) prediction.wrong(branches(Branch::kCall, 100 * i, 5000));
    unsigned wrong = 0;
    for (unsigned i = depth; i-- > 0;) {
      if (prediction.wrong(branches(Branch::kReturn, 5000, 100 * i + 4))) ++wrong;
    }
    EXPECT_EQ(wrong, depth > 32 ? 1U : 0U) << depth;
  }
}

TEST(BranchPrediction, AnIndirectTurnGoesWhereItWentLast) {
  Prediction prediction;
  EXPECT_TRUE(prediction.wrong(branches(Branch::kIndirect, 100, 500)));
  EXPECT_FALSE(prediction.wrong(branches(Branch::kIndirect, 100, 500)));
  EXPECT_TRUE(prediction.wrong(branches(Branch::kIndirectCall, 100, 600)));
  EXPECT_FALSE(prediction.wrong(branches(Branch::kReturn, 600, 104)));
  EXPECT_FALSE(prediction.wrong(branches(Branch::kJump, 104, 900)));
}
