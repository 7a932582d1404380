// Reads and writes of data that are not cached, to the bus cycle; the times of their parts: timing_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "transactions.hpp"

namespace substrata::numachine::test {
namespace {

// Section 3.3.2: data may be marked as uncached. Lines 0 to 127 are; line 0 is at home on station 0, 64 on station 1.
class Uncached : public Transactions {
 protected:
  void SetUp() override {
    Transactions::SetUp();
    Parameters p = two_stations();
    p.uncached_lines = 128;
    begin(p);
  }
  std::uint64_t word_latency(std::uint32_t cpu, std::uint64_t line) {
    const std::uint64_t before = model_->truth(cpu).uncached_cycles;
    run({{cpu, line, kRead, 0}});
    return model_->truth(cpu).uncached_cycles - before;
  }
};

TEST_F(Uncached, AReadIsAWordFromMemoryEachTime) {
  for (int again = 0; again < 2; ++again) EXPECT_EQ(word_latency(0, 0), 1u + 2 + 12 + 2);
  EXPECT_EQ(word_latency(0, 64), 1u + 2 + (3 + 1 + 3) + 1 + 2 + 12 + 2 + (3 + 4 + 1 + 3) + 2);
  EXPECT_EQ(model_->truth(0).uncached_reads, 3u);
  EXPECT_EQ(model_->truth(0).reads, 0u);
}

// Table 4.5, event B: cached or uncached
TEST_F(Uncached, AReadIsTheMostRecentRequestAndNoCacheLineRead) {
  count(0, 0, CounterEvent::kMostRecent, false);
  count(0, 1, CounterEvent::kRead, true);
  count(0, 2, CounterEvent::kBusActivity, false);
  word_latency(0, 0);
  EXPECT_EQ(counted(0, 0), 17u);
  EXPECT_EQ(counted(0, 1), 0u);
  EXPECT_EQ(counted(0, 2), 1u + 2);
}

// The word is on the bus from 1 to 3 and at the memory at 5; what comes after it leaves at 3.
TEST_F(Uncached, AWriteIsBufferedAndWhatFollowsLeavesAfterIt) {
  MemoryCard& card = Rack::instance().memory(0);
  run({{0, 0, kWrite, 0}});
  EXPECT_EQ(last_ / kCycle, 1u) << "the processor goes on";
  EXPECT_EQ(card.queue.services().total, 12u);
  EXPECT_EQ(card.incoming.packets.maximum(), 2u);
  const Time begins = start_ * kCycle;
  Time now = begins;
  while (!model_->step(0, 0, 8, true, false, 0, now)) {
  }
  while (!model_->step(0, 128 * 64, 8, false, false, 0, now)) {
  }
  // Asked for a cycle after the write had the bus for two; the memory has the word from 5 to 17.
  EXPECT_EQ(now, begins + (1 + 2 + 1 + 2 + (17 - 6) + 4 + 12 + 9) * kCycle);
}

// Section 3.2.4: stalls of write buffer overflows
TEST_F(Uncached, AFullWriteBufferStallsTheProcessor) {
  Time now = 0;
  for (int i = 0; i < 40; ++i) {
    while (!model_->step(0, 0, 8, true, false, 0, now)) {
    }
  }
  // The last one comes into the buffer when the one before it gets the bus, two cycles each.
  EXPECT_EQ(now / kCycle, 1u + 2 * 38);
  EXPECT_GT(model_->truth(0).pipeline[static_cast<unsigned>(Pipeline::kOtherStall)], 0u);
}

// Figure 4.8b: a write that was buffered before the miss leaves between its probe and its read.
TEST_F(Uncached, TheCircuitForInvalidationMissesWaitsForAWriteBetweenProbeAndRead) {
  for (const bool waits : {true, false}) {
    Parameters p = two_stations();
    p.uncached_lines = 128;
    p.waits_for_writes = waits;
    begin(p);
    latency(0, 128, kRead);
    latency(4, 128, kWrite);
    const std::uint64_t before = model_->truth(0).invalidation_misses_estimated;
    Time now = start_ * kCycle;
    for (int i = 0; i < 2; ++i) {
      while (!model_->step(0, 0, 8, true, false, 0, now)) {
      }
    }
    while (!model_->step(0, 128 * 64, 8, false, false, 0, now)) {
    }
    model_->settle(now);
    EXPECT_EQ(model_->truth(0).misses[static_cast<unsigned>(MissType::kInvalidation)], 1u);
    EXPECT_EQ(model_->truth(0).invalidation_misses_estimated - before, waits ? 1u : 0u);
  }
}

}  // namespace
}  // namespace substrata::numachine::test
