// What a processor does between its misses, by hand calculation: the TLB, instruction mixes, predicted branches,
// profiling stores, hidden latency. A processor cycle is 6667 ps, a bus cycle 20000 ps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine::test {
namespace {

constexpr Time kProcessorCycle = Parameters::processor_ps;
constexpr Time kBusCycle = Parameters::bus_ps;

class Executing : public testing::Test {
 protected:
  void TearDown() override {
    model_.reset();
    Rack::instance().reset();
  }
  void begin(const ExecutionParameters& execution, std::uint64_t overlap = 0) {
    model_.reset();
    Rack::instance().reset();
    Parameters p;
    p.shape.stations = 1;
    p.execution = execution;
    p.overlap_cycles = overlap;
    model_ = std::make_unique<Model>(p, 0);
    now_ = 0;
  }
  void read(std::uint64_t address) {
    model_->translate(0, address, 8, now_);
    if (model_->quick(0, address, 8, false, now_)) return;
    while (!model_->step(0, address, 8, false, false, 0, now_)) {
    }
  }
  const Truth& truth() {
    model_->settle(now_);
    return model_->truth(0);
  }
  std::uint32_t sram(std::uint32_t word) { return Rack::instance().processor(0).sram(word); }

  const Rack::Use use_{Rack::instance()};
  std::unique_ptr<Model> model_;
  Time now_ = 0;
};

// ---- item 5 of table 4.10

// Random begins at 1 and goes down by one an instruction: 1 for the access, 10 for the handler of a miss.
TEST(TheTlb, PutsAPairOfPagesWhereRandomPoints) {
  Tlb tlb(2);
  tlb.executed(1);
  EXPECT_FALSE(tlb.map(0)) << "into place 0";
  tlb.executed(10);
  tlb.executed(1);
  EXPECT_FALSE(tlb.map(1)) << "into place 1";
  tlb.executed(10);
  tlb.executed(1);
  EXPECT_TRUE(tlb.map(0));
  tlb.executed(1);
  EXPECT_FALSE(tlb.map(2)) << "into place 1";
  EXPECT_TRUE(tlb.map(0));
  EXPECT_FALSE(tlb.map(1));
}

TEST_F(Executing, ATlbMissIsAnExceptionAndItsHandler) {
  begin({.tlb_pairs = 48});
  read(0);
  // 8 cycles killed, 8 to fill the pipeline, 10 of the handler, 1 of the load; then 28 bus cycles from a whole one on.
  constexpr Time kBefore = (8 + 8 + 10 + 1) * kProcessorCycle;
  EXPECT_EQ(now_, ((kBefore + kBusCycle - 1) / kBusCycle + 28) * kBusCycle);
  EXPECT_EQ(truth().tlb_misses, 1u);
  EXPECT_EQ(truth().tlb_cycles, 8u + 8 + 10);
  EXPECT_EQ(truth().exceptions, 1u);
  EXPECT_EQ(truth().instructions(), 10u + 1);
}

// Each entry of the R4400 maps an even page and the odd one after it.
TEST_F(Executing, TwoPagesShareAnEntryOfTheTlb) {
  begin({.tlb_pairs = 48});
  read(0);
  read(4096);
  EXPECT_EQ(truth().tlb_misses, 1u);
  read(8192);
  EXPECT_EQ(truth().tlb_misses, 2u);
}

TEST_F(Executing, ATlbMissNeedsNoCacheMiss) {
  begin({.tlb_pairs = 1});
  read(0);
  read(8192);
  const Time before = now_;
  read(0);
  EXPECT_EQ(now_ - before, (8 + 8 + 10 + 1) * kProcessorCycle) << "the primary cache has the line";
  EXPECT_EQ(truth().tlb_misses, 3u);
}

TEST_F(Executing, WithoutATlbEveryPageIsMapped) {
  begin({.predictor_entries = 16});
  for (std::uint64_t page = 0; page < 500; ++page) read(page * 4096);
  EXPECT_EQ(truth().tlb_misses, 0u);
  EXPECT_EQ(truth().exceptions, 0u);
}

// The same register once more, as a list and a count of instructions.
TEST_F(Executing, FortyEightPairsMissWhereASlowTlbDoes) {
  begin({.tlb_pairs = 48});
  std::vector<std::uint64_t> pairs(48, 999);
  std::uint64_t instructions = 0, misses = 0;
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t page = random() % 130;
    read(page * 4096);
    ++instructions;
    if (std::count(pairs.begin(), pairs.end(), page / 2) != 0) continue;
    ++misses;
    pairs[47 - instructions % 48] = page / 2;
    instructions += 10;
  }
  EXPECT_GT(misses, 65u) << "more than the pairs there are";
  EXPECT_EQ(truth().tlb_misses, misses);
  EXPECT_EQ(truth().tlb_cycles, misses * 26);
}

// ---- items 1 and 2

TEST_F(Executing, AnInstructionMixPartsWhatIsComputed) {
  begin({.mix_branches = 200, .mix_floats = 100, .mix_nops = 50, .mix_slips = 30, .mix_float_slips = 20});
  for (int i = 0; i < 100; ++i) model_->compute_mix(0, 10, now_);
  const Truth& t = truth();
  const auto in = [&t](Pipeline state) { return t.pipeline[static_cast<unsigned>(state)]; };
  EXPECT_EQ(in(Pipeline::kBranchTaken), 100u);
  EXPECT_EQ(in(Pipeline::kBranchUntaken), 100u);
  EXPECT_EQ(in(Pipeline::kOtherFloat), 100u);
  EXPECT_EQ(in(Pipeline::kOtherInteger), 700u) << "the NOPs among them";
  EXPECT_EQ(in(Pipeline::kIntegerSlip), 30u);
  EXPECT_EQ(in(Pipeline::kFloatSlip), 20u);
  EXPECT_EQ(t.nops, 50u);
  EXPECT_EQ(t.instructions(), 1000u);
  EXPECT_EQ(now_, (1000 + 30 + 20) * kProcessorCycle) << "slips take time, instructions a cycle each";
}

// Three blocks, each ended by a branch with a NOP behind it; the counts of the blocks give the NOPs (section 3.2.2).
TEST_F(Executing, NopsInDelaySlotsAreCountedByBlocks) {
  const auto run = [this] {
    for (int i = 0; i < 30; ++i)
      model_->branch_to(0, 0, static_cast<std::uint64_t>(100 + i % 3), false, now_);
  };
  begin({.empty_delay_slots = true});
  run();
  EXPECT_EQ(truth().nops, 30u);
  const Time plain = now_;
  begin({.empty_delay_slots = true, .blocks = BlockProfile::kCount});
  Rack::instance().processor(0).write(kSramEnable, 1);
  run();
  EXPECT_EQ(sram(100) + sram(101) + sram(102), 30u);
  EXPECT_EQ(truth().nops, 0u);
  EXPECT_EQ(now_, plain) << "the store lies in the delay slot (section 3.4.2)";
}

// ---- item 6

// A loop of ten: foreseen but for the first way round, and for its end. Two bits of trust keep the loop's way in mind.
TEST(TheBranchPredictor, MissesTheEndOfALoopOnce) {
  BranchPredictor predictor(64);
  int missed = 0;
  for (int loop = 0; loop < 5; ++loop) {
    for (int i = 0; i < 9; ++i) missed += predictor.foresees(0x400100, 0x400100) ? 0 : 1;
    missed += predictor.foresees(0x400100, 0x400200) ? 0 : 1;
  }
  EXPECT_EQ(missed, 1 + 5);
}

TEST(TheBranchPredictor, LearnsAnotherWayAfterItWasWrongFourTimes) {
  BranchPredictor predictor(64);
  for (int i = 0; i < 10; ++i) predictor.foresees(8, 16);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(predictor.foresees(8, 32)) << i;
  EXPECT_TRUE(predictor.foresees(8, 32));
}

TEST(TheBranchPredictor, HasOnePlaceForBranchesOfOneIndex) {
  BranchPredictor predictor(4);
  EXPECT_FALSE(predictor.foresees(1, 9));
  EXPECT_FALSE(predictor.foresees(5, 9));
  EXPECT_FALSE(predictor.foresees(1, 9));
  EXPECT_TRUE(predictor.foresees(1, 9));
}

TEST_F(Executing, AMispredictedBranchKillsItsDelaySlot) {
  begin({.predictor_entries = 64});
  // From the first block nothing is foreseen; then 5 goes to 6 and back again and again.
  for (const std::uint64_t block : {5, 6, 5, 6, 5, 6, 7}) model_->branch_to(0, 0, block, false, now_);
  const Truth& t = truth();
  EXPECT_EQ(t.branches, 7u);
  EXPECT_EQ(t.branches_mispredicted, 2u + 1) << "5 to 6 and 6 to 5 the first time, 6 to 7";
  EXPECT_EQ(t.pipeline[static_cast<unsigned>(Pipeline::kBranchDelayKilled)], 3u);
  EXPECT_EQ(now_, (7 + 3) * kProcessorCycle);
}

TEST_F(Executing, WithoutAPredictorTheProgramsWordCounts) {
  begin({.tlb_pairs = 48});
  for (int i = 0; i < 8; ++i) model_->branch_to(0, 0, 5, i % 4 == 0, now_);
  EXPECT_EQ(truth().branches_mispredicted, 2u);
}

// ---- items 22 and 23, figures 3.2 and 3.3

// Block 7 computes 300 processor cycles, which are 100.005 bus cycles, block 9 half of that; each ten times.
class Blocks : public Executing {
 protected:
  void run(BlockProfile profile) {
    begin({.blocks = profile});
    Rack::instance().processor(0).write(kSramEnable, 1);
    for (int i = 0; i < 10; ++i) {
      model_->enter_block(0, 7, now_);
      model_->compute_mix(0, 300, now_);
      model_->enter_block(0, 9, now_);
      model_->compute_mix(0, 150, now_);
    }
    last_entry_ = now_;
    model_->enter_block(0, 7, now_);
  }
  Time last_entry_ = 0;
};

TEST_F(Blocks, AreCountedByOneStoreEachWhoseAddressIsThePhase) {
  run(BlockProfile::kCount);
  EXPECT_EQ(sram(7), 11u);
  EXPECT_EQ(sram(9), 10u);
  EXPECT_EQ(Rack::instance().processor(0).phase(), 7u);
  EXPECT_EQ(truth().profiling_instructions, 21u);
  EXPECT_EQ(truth().stores, 21u);
  EXPECT_EQ(truth().instructions(), 10u * 450 + 21);
}

TEST_F(Blocks, AreTimedByFiveInstructionsWithATimestampThatGoesOn) {
  run(BlockProfile::kTime);
  EXPECT_EQ(sram(7) + sram(9), last_entry_ / kBusCycle) << "from the first entry to the last one";
  // 305 processor cycles are 101.67 bus cycles, 155 are 51.67.
  EXPECT_GE(sram(7), 1016u);
  EXPECT_LE(sram(7), 1017u + 1);
  EXPECT_EQ(truth().profiling_instructions, 21u * 5);
  EXPECT_EQ(truth().stores, 21u);
  EXPECT_EQ(Rack::instance().processor(0).phase(), 0u)
      << "the store's data is the time, its address no phase";
}

TEST_F(Blocks, AreTimedByThreeInstructionsWithATimestampThatResetsItself) {
  run(BlockProfile::kDifference);
  EXPECT_EQ(sram(7) + sram(9), last_entry_ / kBusCycle);
  EXPECT_GE(sram(7), 1010u - 1) << "303 processor cycles are 101 bus cycles";
  EXPECT_LE(sram(7), 1010u + 1);
  EXPECT_EQ(truth().profiling_instructions, 21u * 3);
}

TEST_F(Blocks, AreNotCountedWhileTheSramIsOff) {
  begin({.blocks = BlockProfile::kCount});
  model_->enter_block(0, 7, now_);
  EXPECT_EQ(sram(7), 0u);
  EXPECT_EQ(now_, kProcessorCycle) << "the store is executed all the same";
}

// ---- items 18 and 19

// Two reads of 28 bus cycles, 83 processor cycles each. 30 instructions are executed meanwhile in the first one's time,
// and nothing in the second one's: 53 and 83 cycles are lost.
TEST_F(Executing, WhatIsComputedInTheTimeOfAMissIsNoApparentMissCycle) {
  begin({}, 40);
  const auto read = [this](std::uint64_t line) {
    while (!model_->step(0, line * 64, 8, false, false, 0, now_)) {
    }
  };
  read(0);
  const Time before = now_;
  model_->compute(0, 30, now_);
  EXPECT_EQ(now_, before);
  read(1);
  const Truth& t = truth();
  EXPECT_EQ(t.whole_miss_cycles, 2u * 83);
  EXPECT_EQ(t.apparent_miss_cycles, 53u + 83);
  EXPECT_EQ(t.instructions(), 32u) << "AMCPI 136/32, MCPI 166/32";
}

TEST_F(Executing, NoMoreOfAMissIsHiddenThanTheProcessorCanOverlap) {
  begin({}, 10);
  while (!model_->step(0, 0, 8, false, false, 0, now_)) {
  }
  model_->compute(0, 1000, now_);
  EXPECT_EQ(truth().apparent_miss_cycles, 83u - 29) << "10 bus cycles are 29 whole processor cycles";
}

}  // namespace
}  // namespace substrata::numachine::test
