// Loads with intent to store and prefetch hints, to the bus cycle: what they bring, take away, hide and drop.
#include <gtest/gtest.h>

#include <cstdint>

#include "transactions.hpp"

namespace substrata::numachine::test {
namespace {

// Section 3.3.2: a load that says a store is likely brings ownership, which the store need not ask for
TEST_F(Transactions, ALoadWithIntentToStoreSavesTheOwnershipMiss) {
  Parameters p = two_stations();
  p.intent_lines = 64;
  begin(p);
  EXPECT_EQ(latency(0, 0, kRead), 28u);
  EXPECT_EQ(latency(0, 0, kWrite), 0u);
  EXPECT_EQ(model_->truth(0).read_exclusives, 1u);
  EXPECT_EQ(model_->truth(0).upgrades, 0u);
  latency(0, 128, kRead);
  EXPECT_EQ(latency(0, 128, kWrite), 8u) << "without the hint";
}

// Section 3.3.2: while line 0 is worked on, line 1 comes: 28 bus cycles, 560 ns, in which it computes for 83 whole
// processor cycles
TEST_F(Transactions, AHintBringsTheNextLineWhileItComputes) {
  for (const std::uint64_t hinted : {0, 2}) {
    Parameters p = two_stations();
    p.prefetch_lines = hinted;
    begin(p);
    Time now = start_ * kCycle;
    while (!model_->step(0, 0, 8, false, false, 0, now)) {
    }
    const Time done = now;
    model_->compute(0, 100, now);
    EXPECT_EQ(now - done, (hinted != 0 ? 100 - 83 : 100) * Parameters::processor_ps);
    const std::uint64_t before = miss_cycles(0);
    EXPECT_EQ(before, hinted != 0 ? 28u + 28 : 28u) << "a card sees the hint's request as a load's";
    while (!model_->step(0, 64, 8, false, false, 0, now)) {
    }
    EXPECT_EQ(miss_cycles(0) - before, hinted != 0 ? 0u : 28u);
    EXPECT_EQ(model_->truth(0).prefetches, hinted != 0 ? 1u : 0u) << "there is no hint behind the last line";
    model_->settle(now);
    EXPECT_EQ(model_->truth(0).loads, 2u) << "a hint is no load";
  }
}

// Section 3.3.2: "can try to prefetch a line into exclusive state"
TEST_F(Transactions, AHintWithIntentToStoreBringsOwnership) {
  Parameters p = two_stations();
  p.prefetch_lines = p.intent_lines = 2;
  begin(p);
  latency(0, 0, kRead);
  EXPECT_EQ(latency(0, 1, kWrite), 0u);
  EXPECT_EQ(model_->truth(0).read_exclusives, 2u);
}

// Processor 1 fetches line 1 from station 1, which locks the block until 69; the hint is at its home at 31.
TEST_F(Transactions, ARefusedHintIsDropped) {
  Parameters p = two_stations();
  p.prefetch_first = p.prefetch_lines = 1;
  begin(p);
  latency(4, 1, kWrite);
  run({{0, 0, kRead, 0}, {1, 1, kRead, 5}});
  EXPECT_EQ(model_->truth(0).prefetches, 1u);
  EXPECT_EQ(model_->truth(0).prefetches_dropped, 1u);
  EXPECT_EQ(model_->truth(0).nacks, 0u) << "it is not sent again";
  EXPECT_EQ(latency(0, 1, kRead), 28u);
}

// A hint for ownership of what processors only share. Lines 0 and 1 are at home on station 0; there is a hint for line
// 1 alone.
class OwnershipHint : public Transactions {
 protected:
  void SetUp() override {
    Transactions::SetUp();
    Parameters p = two_stations();
    p.prefetch_first = p.prefetch_lines = 1;
    p.prefetches_own = true;
    begin(p);
  }
};

// Section 3.3.2: "start the invalidation process sooner than if the processor waited for the write to occur"
TEST_F(OwnershipHint, IsAnUpgradeOfASharedLineAndTheStoreFindsItsOwn) {
  latency(0, 1, kRead);
  EXPECT_EQ(latency(0, 0, kRead), 28u + (1 + 2 + 4 + 1)) << "no other copy";
  EXPECT_EQ(latency(0, 1, kWrite), 0u);
  EXPECT_EQ(latency(0, 0, kRead), 0u) << "it owns line 1, and no hint is needed";
  const Truth& t = model_->truth(0);
  EXPECT_EQ(t.prefetches, 1u);
  EXPECT_EQ(t.upgrades, 1u);
  EXPECT_EQ(t.read_exclusives, 0u);
  EXPECT_EQ(t.misses[static_cast<unsigned>(MissType::kOwnershipSuccessful)], 1u);
}

// Ownership takes 9 bus cycles, 180 ns, and 26 whole processor cycles of computation pass meanwhile.
TEST_F(OwnershipHint, TakesCopiesAwayWhileTheProcessorComputes) {
  latency(0, 0, kRead);
  latency(1, 1, kRead);
  const std::uint64_t before = miss_cycles(0);
  Time now = start_ * kCycle;
  while (!model_->step(0, 0, 8, false, false, 0, now)) {
  }
  const Time done = now;
  model_->compute(0, 100, now);
  EXPECT_EQ(now - done, (100 - 26) * Parameters::processor_ps);
  EXPECT_EQ(miss_cycles(0) - before, 1u + 2 + 4 + 1 + 1) << "a copy on the same station";
  model_->settle(now);
  EXPECT_EQ(model_->truth(1).invalidation_hits, 1u);
  start_ = now / kCycle + 1000;
  EXPECT_EQ(latency(1, 1, kRead), 1u + 2 + 4 + 1 + 8 + 9 + 9) << "from processor 0, which has it dirty";
  EXPECT_EQ(model_->truth(1).misses[static_cast<unsigned>(MissType::kInvalidation)], 1u);
}

// Ownership of what is at home on another station is agreed there: 1 + 2 + 4 to the ring, four links, the home's bus,
// the look-up, the copy on the home's station, the answer, a link and the own bus.
TEST_F(OwnershipHint, OfARemoteLineIsAgreedByItsHome) {
  latency(0, 1, kRead);
  latency(4, 1, kRead);
  latency(4, 0, kRead);
  EXPECT_EQ(model_->truth(4).upgrades, 1u);
  EXPECT_EQ(model_->truth(4).miss_cycles[static_cast<unsigned>(MissType::kOwnershipSuccessful)],
            1u + 2 + 4 + (3 + 4 + 3) + 1 + 2 + 4 + 1 + 1 + (3 + 1 + 3) + 1);
  EXPECT_EQ(model_->truth(0).invalidation_hits, 1u);
}

// Processor 4 has its line at 70, and its hint goes out at 71. Processor 0, which asks at 69, has ownership at 72 and
// is done, the remote copy gone, at 86; the hint, at the network cache at 74, has no copy any more, asks for the line
// as well, and is at the home's bus at 88. There the line is dirty at processor 0.
TEST_F(OwnershipHint, IsCancelledWhereItsCopyIsTakenFirst) {
  count(4, 0, CounterEvent::kOwnershipCancelled, true);
  count(4, 1, CounterEvent::kOwnershipCancelled, false);
  count(4, 2, CounterEvent::kReadExclusive, false);
  latency(0, 1, kRead);
  latency(4, 1, kRead);
  const std::uint64_t before = miss_cycles(4);
  run({{4, 0, kRead, 0}, {0, 1, kWrite, 68}});
  constexpr std::uint64_t kHint =
      1 + 2 + 4 + (3 + 4 + 3) + (1 + 2) + 4 + (1 + 8 + 9) + 9 + (3 + 1 + 8 + 3) + 9;
  EXPECT_EQ(miss_cycles(4) - before, 69u + kHint);
  EXPECT_EQ(counted(4, 0), 1u);
  EXPECT_EQ(counted(4, 1), kHint);
  EXPECT_EQ(counted(4, 2), kHint - 3) << "from the network cache on";
  EXPECT_EQ(model_->truth(4).prefetches_dropped, 0u);
  EXPECT_EQ(latency(4, 1, kWrite), 0u);
}

// The neighbour's upgrade, sent at 29 when the bus is free, is at the memory from 32 to 36; the hint, sent at 30, comes
// at 33. There is no retry.
TEST_F(OwnershipHint, IsDroppedWhereItsBlockIsLocked) {
  count(0, 0, CounterEvent::kOwnershipSuccessful, true);
  count(0, 1, CounterEvent::kBusRequest, true);
  latency(0, 1, kRead);
  latency(1, 1, kRead);
  run({{0, 0, kRead, 0}, {1, 1, kWrite, 28}});
  const Truth& t = model_->truth(0);
  EXPECT_EQ(t.prefetches, 1u);
  EXPECT_EQ(t.prefetches_dropped, 1u);
  EXPECT_EQ(t.nacks, 0u);
  EXPECT_EQ(counted(0, 0), 0u);
  EXPECT_EQ(counted(0, 1), 3u) << "two loads and the hint";
  EXPECT_LE(t.apparent_miss_cycles, t.whole_miss_cycles);
  EXPECT_EQ(latency(0, 1, kWrite), 1u + 2 + 4 + 1 + 8 + 9 + 9)
      << "the copy is gone, and dirty at the neighbour";
}

// With updates every store goes to memory, and there is nothing to own.
TEST_F(OwnershipHint, OnlyReadsWhatIsUpdated) {
  Parameters p = model_->parameters();
  p.shape.update = true;
  begin(p);
  latency(0, 0, kRead);
  EXPECT_EQ(model_->truth(0).reads, 2u);
  EXPECT_EQ(latency(0, 0, kRead), 0u) << "the hint finds its line";
  EXPECT_EQ(latency(0, 1, kWrite), 1u + 2 + 4 + 1);
}

// Its miss was in substrata_numachine_profile() and not in the SRAM, and figure 4.8b's circuit did not know of it
TEST_F(Transactions, AHintsMissIsSeenByTheCardAsALoadsIs) {
  Parameters p = two_stations();
  p.prefetch_first = p.prefetch_lines = 1;
  begin(p);
  ProcessorCard& card = Rack::instance().processor(0);
  card.write(kSramMode, static_cast<std::uint32_t>(SramEvent::kSecondaryMiss) << kEventShift);
  card.write(kSramEnable, 1);
  latency(0, 0, kRead);
  EXPECT_EQ(model_->profile(0)[1], 1u);
  EXPECT_EQ(card.sram(1), 1u);
  latency(4, 1, kWrite);
  latency(4, 0, kWrite);
  const std::uint64_t estimated = model_->truth(0).invalidation_misses_estimated;
  latency(0, 0, kRead);
  EXPECT_EQ(model_->truth(0).misses[static_cast<unsigned>(MissType::kInvalidation)], 2u);
  EXPECT_EQ(model_->truth(0).invalidation_misses_estimated - estimated, 2u);
}

}  // namespace
}  // namespace substrata::numachine::test
