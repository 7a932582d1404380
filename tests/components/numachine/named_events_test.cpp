// The substrate's events by name, and what they count of single transactions that are calculated by hand.
#include <gtest/gtest.h>
#include <substrata/substrate.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "support/opened_substrate.hpp"
#include "transactions.hpp"

namespace substrata::numachine::test {
namespace {

class NamedEvents : public Transactions {
 protected:
  void SetUp() override {
    Transactions::SetUp();
    ASSERT_EQ(substrata_entry_numachine(&host_, &table_), 0);
    ASSERT_TRUE(table_.open(&host_, &device_).ok());
    Parameters p = two_stations();
    p.shape.stations = 3;
    p.uncached_first = 192;
    p.uncached_lines = 64;
    begin(p);
  }
  void TearDown() override {
    table_.close(device_);
    Transactions::TearDown();
  }
  // What each counts while `work` is done.
  template <typename Work>
  std::map<std::string, std::int64_t> counts(const std::vector<std::string>& names, const Work& work) {
    tests::CountedSet set(table_, device_, tests::find_events(table_, device_, names));
    set.start();
    work();
    substrata_flush();
    set.stop();
    const std::vector<std::int64_t> values = set.read();
    std::map<std::string, std::int64_t> all;
    for (std::size_t i = 0; i < names.size(); ++i) all[names[i]] = values[i];
    return all;
  }

  Host host_;
  SubstrateTable table_;
  Device* device_ = nullptr;
};

using Wanted = std::map<std::string, std::int64_t>;

// Processor 4 takes line 0 of station 0: its request has two buses for a cycle each, the line two for nine. Processor
// 0 fetches it: its request, an intervention on two buses, the line on two. Processor 1 is refused twice meanwhile, the
// first retry 34 and the answer 92 cycles after processor 0's request; it waits 6 for the bus.
TEST_F(NamedEvents, OfRefusalsAndBusesAreThoseCalculated) {
  const auto found = counts({"NACKS", "NACKED_REQUESTS", "NACK_CYCLES", "BUS_BUSY", "BUS_WAIT_CYCLES",
                             "BUS_BUSY:cpu=1", "HITS_LV", "HITS_LI", "HITS_GV", "HITS_GI", "MEMORY_REQUESTS"},
                            [&] {
                              latency(4, 0, kWrite);
                              run({{0, 0, kRead, 0}, {1, 0, kRead, 10}});
                            });
  constexpr std::int64_t kTaken = 1 + 1 + 9 + 9, kFetched = 1 + 1 + 1 + 9 + 9, kRetried = 5 + 9;
  EXPECT_EQ(found, (Wanted{{"NACKS", 2},
                           {"NACKED_REQUESTS", 1},
                           {"NACK_CYCLES", 92 - 34},
                           {"BUS_BUSY", kTaken + kFetched + kRetried},
                           {"BUS_WAIT_CYCLES", 6},
                           {"BUS_BUSY:cpu=1", kRetried},
                           {"HITS_LV", 1},
                           {"HITS_LI", 0},
                           {"HITS_GV", 1},
                           {"HITS_GI", 1},
                           {"MEMORY_REQUESTS", 3}}));
}

// Processors 0, 1 and 4 have line 0; on station 1 all four are notified, as any of them may have it from before
// its network cache came to know of it. Processor 0 takes ownership in 17 cycles; processor 1, whose copy is gone,
// gets the line from it in 34.
TEST_F(NamedEvents, OfOwnershipAndInvalidationsAreThoseCalculated) {
  latency(0, 0, kRead);
  latency(1, 0, kRead);
  latency(4, 0, kRead);
  const auto found = counts(
      {"OWNERSHIP_MISSES", "OWNERSHIP_MISS_CYCLES", "INVALIDATION_MISSES", "INVALIDATION_MISS_CYCLES",
       "INVALIDATIONS", "INVALIDATION_HITS", "INVALIDATIONS:cpu=1", "HITS_GV", "HITS_LI", "MISS_CYCLES"},
      [&] {
        latency(0, 0, kWrite);
        latency(1, 0, kRead);
      });
  constexpr std::int64_t kOwned = 1 + 2 + 4 + 1 + (3 + 1 + 3) + 1 + 1, kGivenUp = 1 + 2 + 4 + 1 + 8 + 9 + 9;
  EXPECT_EQ(found, (Wanted{{"OWNERSHIP_MISSES", 1},
                           {"OWNERSHIP_MISS_CYCLES", kOwned},
                           {"INVALIDATION_MISSES", 1},
                           {"INVALIDATION_MISS_CYCLES", kGivenUp},
                           {"INVALIDATIONS", 1 + 4},
                           {"INVALIDATION_HITS", 2},
                           {"INVALIDATIONS:cpu=1", 1},
                           {"HITS_GV", 1},
                           {"HITS_LI", 1},
                           {"MISS_CYCLES", kOwned + kGivenUp}}));
}

// Three neighbours wait 15 and 30 cycles for their memory. Then two stations ask station 2: one waits a cycle for a
// link and 15 for the memory.
TEST_F(NamedEvents, OfQueuesAreThoseCalculated) {
  const auto found = counts({"MEMORY_QUEUE_CYCLES", "RING_QUEUE_CYCLES", "QUEUE_CYCLES",
                             "MEMORY_QUEUE_CYCLES:station=2", "BUS_WAIT_CYCLES"},
                            [&] {
                              run({{0, 0, kRead, 0}, {1, 1, kRead, 0}, {2, 2, kRead, 0}});
                              run({{0, 128, kRead, 0}, {4, 130, kRead, 1}});
                            });
  EXPECT_EQ(found, (Wanted{{"MEMORY_QUEUE_CYCLES", 15 + 30 + 15},
                           {"RING_QUEUE_CYCLES", 1},
                           {"QUEUE_CYCLES", 15 + 30 + 15 + 1},
                           {"MEMORY_QUEUE_CYCLES:station=2", 15},
                           {"BUS_WAIT_CYCLES", 1 + 2}}));
}

TEST_F(NamedEvents, OfUncachedWordsAndBranchesAreThoseCalculated) {
  const auto found = counts(
      {"UNCACHED_READS", "UNCACHED_WRITES", "UNCACHED_CYCLES", "BRANCHES", "BRANCHES_MISPREDICTED"}, [&] {
        run({{0, 192, kRead, 0}});
        run({{0, 192, kWrite, 0}});
        Time now = start_ * kCycle;
        for (const bool mispredicted : {false, true, false}) model_->branch(0, mispredicted, now);
        model_->settle(now);
      });
  EXPECT_EQ(found, (Wanted{{"UNCACHED_READS", 1},
                           {"UNCACHED_WRITES", 1},
                           {"UNCACHED_CYCLES", 1 + 2 + 12 + 2},
                           {"BRANCHES", 3},
                           {"BRANCHES_MISPREDICTED", 1}}));
}

TEST_F(NamedEvents, ACountersRegisterIsReadAsItsCardConfiguresItAndHasNoAlarm) {
  count(1, 0, CounterEvent::kNackRetry, false);
  count(1, 1, CounterEvent::kBusActivity, false);
  const auto found = counts({"GPC:n=0:cpu=1", "GPC:n=1:cpu=1", "GPC:n=0:cpu=0"}, [&] {
    latency(4, 0, kWrite);
    run({{0, 0, kRead, 0}, {1, 0, kRead, 10}});
  });
  EXPECT_EQ(found, (Wanted{{"GPC:n=0:cpu=1", 2}, {"GPC:n=1:cpu=1", 1 + 2 + 2 + 9}, {"GPC:n=0:cpu=0", 0}}));
  tests::CountedSet set(table_, device_, tests::find_events(table_, device_, {"GPC:n=0:cpu=1"}));
  const SampleSink sink{};
  EXPECT_NE(std::string(table_.arm(set.get(), 0, 1, 0, &sink).note).find("a register"), std::string::npos);
}

}  // namespace
}  // namespace substrata::numachine::test
