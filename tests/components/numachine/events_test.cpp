// The NUMAchine substrate's events against the model's own knowledge, its cards against both, replay.
#include <gtest/gtest.h>
#include <substrata/feed.h>
#include <substrata/numachine.h>
#include <substrata/substrate.h>
#include <substrata/result.hpp>

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "entry_points.hpp"
#include "simulation.hpp"
#include "support/opened_substrate.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::numachine::test {
namespace {

// The opened substrate with one set of events.
class Events : public tests::SubstrateTest<substrata_entry_numachine> {
 protected:
  void SetUp() override {
    ASSERT_EQ(substrata_numachine_reset(), 0);
    SubstrateTest::SetUp();
  }
  void TearDown() override {
    set_.reset();
    SubstrateTest::TearDown();
  }
  void start(const std::vector<std::string>& names) {
    set_.emplace(table_, device_, events(names));
    set_->start();
  }
  std::vector<int64_t> stop() {
    set_->stop();
    return set_->read();
  }

  std::optional<tests::CountedSet> set_;
};

// NU-23, NU-31: what is published says what the model knows
TEST_F(Events, AreWhatTheModelKnows) {
  for (const char* spec : kSpecs) {
    for (const char* parameters : {"cache=16384:network_cache=32768", "protocol=update", ""}) {
      start({"READS",
             "READ_EXCLUSIVES",
             "UPGRADES",
             "UPDATES",
             "OWNERSHIP_MISSES",
             "OWNERSHIP_MISSES_CANCELLED",
             "INVALIDATION_MISSES",
             "OTHER_MISSES",
             "MISS_CYCLES",
             "INVALIDATION_HITS",
             "NACKS",
             "NACKED_REQUESTS",
             "WRITE_BACKS",
             "LOCAL",
             "REMOTE",
             "NETWORK_CACHE_HITS",
             "INSTRUCTIONS",
             "LOADS",
             "STORES",
             "APPARENT_MISS_CYCLES"});
      Simulation run(spec, 12, parameters);
      const std::vector<int64_t> values = stop();
      std::uint64_t cycles = 0;
      std::uint64_t instructions = 0;
      for (std::uint32_t cpu = 0; cpu < 12; ++cpu) {
        const Truth& t = run.model().truth(cpu);
        for (const std::uint64_t one : t.miss_cycles) cycles += one;
        instructions += t.instructions();
      }
      const std::vector<std::uint64_t> wanted = {run.sum(&Truth::reads),
                                                 run.sum(&Truth::read_exclusives),
                                                 run.sum(&Truth::upgrades),
                                                 run.sum(&Truth::updates),
                                                 run.misses(MissType::kOwnershipSuccessful),
                                                 run.misses(MissType::kOwnershipCancelled),
                                                 run.misses(MissType::kInvalidation),
                                                 run.misses(MissType::kOther),
                                                 cycles,
                                                 run.sum(&Truth::invalidation_hits),
                                                 run.sum(&Truth::nacks),
                                                 run.sum(&Truth::nacked_requests),
                                                 run.sum(&Truth::write_backs),
                                                 run.sum(&Truth::local),
                                                 run.sum(&Truth::remote),
                                                 run.sum(&Truth::network_cache_hits),
                                                 instructions,
                                                 run.sum(&Truth::loads),
                                                 run.sum(&Truth::stores),
                                                 run.sum(&Truth::apparent_miss_cycles)};
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_EQ(values[i], static_cast<int64_t>(wanted[i])) << spec << " " << parameters << " event " << i;
      EXPECT_EQ(run.report.outcome.reads, run.sum(&Truth::loads));
      EXPECT_EQ(run.report.outcome.writes, run.sum(&Truth::stores));
      const Truth& t = run.model().truth(3);
      EXPECT_EQ(t.reads + t.read_exclusives + t.upgrades + t.updates,
                t.misses[0] + t.misses[1] + t.misses[2] + t.misses[3]);
    }
  }
}

// Qualifiers part the whole
TEST_F(Events, PartByProcessorStationPhaseAndAddress) {
  std::vector<std::string> names{"MISS_CYCLES", "INSTRUCTIONS"};
  for (int cpu = 0; cpu < 8; ++cpu) names.push_back("MISS_CYCLES:cpu=" + std::to_string(cpu));
  for (int station = 0; station < 2; ++station)
    names.push_back("MISS_CYCLES:station=" + std::to_string(station));
  names.push_back("MISS_CYCLES:addr=0-0x8fff");
  names.push_back("MISS_CYCLES:addr=0x9000-0xffffffff");
  start(names);
  Simulation run("radix:keys=4096:radix=64", 8);
  const std::vector<int64_t> v = stop();
  EXPECT_GT(v[0], 0);
  EXPECT_EQ(v[0], v[2] + v[3] + v[4] + v[5] + v[6] + v[7] + v[8] + v[9]);
  EXPECT_EQ(v[0], v[10] + v[11]);
  EXPECT_EQ(v[0], v[12] + v[13]);
  EXPECT_GT(v[12], 0);
  EXPECT_GT(v[13], 0);
  std::vector<std::string> phases{"INSTRUCTIONS"};
  for (int region = 0; region < 40; ++region)
    phases.push_back("INSTRUCTIONS:phase=" + std::to_string(region));
  start(phases);
  run.machine->release();
  Simulation again("radix:keys=4096:radix=64", 8);
  const std::vector<int64_t> p = stop();
  int64_t sum = 0;
  int with_some = 0;
  for (size_t i = 1; i < p.size(); ++i) {
    sum += p[i];
    with_some += p[i] != 0 ? 1 : 0;
  }
  EXPECT_EQ(p[0], sum);
  EXPECT_GT(with_some, 1) << "radix has phases";
}

// What a card was given before a hit was missing in the instructions that were published with the next miss.
TEST_F(Events, CountAllInstructionsWhileTheCardsCountToo) {
  ASSERT_EQ(substrata_numachine_broadcast(4, SUBSTRATA_NUMACHINE_SCM, 5U << kEventShift), 0);
  ASSERT_EQ(substrata_numachine_broadcast(4, SUBSTRATA_NUMACHINE_SRAMCE, 1), 0);
  start({"INSTRUCTIONS", "LOADS", "STORES"});
  Simulation run("radix:keys=4096:radix=64", 4);
  const std::vector<int64_t> values = stop();
  std::uint64_t instructions = 0;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) instructions += run.model().truth(cpu).instructions();
  EXPECT_EQ(values[0], static_cast<int64_t>(instructions));
  EXPECT_EQ(values[1], static_cast<int64_t>(run.sum(&Truth::loads)));
  EXPECT_EQ(values[2], static_cast<int64_t>(run.sum(&Truth::stores)));
}

// TLB misses and branches are published with the instructions.
TEST_F(Events, KnowTlbMissesOfAWorkload) {
  start({"TLB_MISSES", "TLB_CYCLES", "INSTRUCTIONS"});
  Simulation run("stream:elements=65536:rounds=1", 4, "tlb=48:mix_branches=100");
  const std::vector<int64_t> values = stop();
  EXPECT_EQ(values[0], static_cast<int64_t>(run.sum(&Truth::tlb_misses)));
  EXPECT_EQ(values[1], static_cast<int64_t>(run.sum(&Truth::tlb_cycles)));
  // Three arrays of 64 pairs of pages; each processor has a quarter.
  EXPECT_GE(values[0], 3 * 64);
  std::uint64_t instructions = 0;
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) instructions += run.model().truth(cpu).instructions();
  EXPECT_EQ(values[2], static_cast<int64_t>(instructions));
}

// FE-8: replay gives the same counts as the run
TEST_F(Events, OfAReplayAreThoseOfTheRun) {
  const substrata::tests::TemporaryFolder folder;
  const std::string file = folder.file("trace");
  const std::vector<std::string> names = {"READS",
                                          "OWNERSHIP_MISSES_CANCELLED",
                                          "INVALIDATION_MISSES",
                                          "MISS_CYCLES",
                                          "NACKS",
                                          "INSTRUCTIONS",
                                          "STALL_CYCLES",
                                          "MEMORY_REQUESTS",
                                          "QUEUE_CYCLES",
                                          "HITS_GI",
                                          "MISS_CYCLES:cpu=2"};
  auto options = client::sized<substrata_run_options>();
  options.processes = 8;
  options.record = file.c_str();
  start(names);
  struct substrata_run_result result {};
  result.struct_size = sizeof result;
  ASSERT_EQ(substrata_run("numachine", "false-sharing:rounds=200", &options, &result), 0) << result.message;
  EXPECT_EQ(result.correct, 1u) << result.message;
  const std::vector<int64_t> live = stop();
  start(names);
  auto summary = client::sized<substrata_replay_summary>();
  ASSERT_EQ(substrata_replay(file.c_str(), nullptr, &summary), 0) << substrata_feed_error();
  EXPECT_EQ(stop(), live);
  for (const int64_t value : live) EXPECT_GT(value, 0);
}

// The counter interrupt by preload, as PAPI_overflow arms it
TEST_F(Events, AnAlarmIsCalledAtEveryMultipleOfItsThreshold) {
  start({"READS", "INVALIDATION_MISSES"});
  int calls = 0;
  uint64_t mask = 0;
  struct Seen {
    int* calls;
    uint64_t* mask;
  } seen{&calls, &mask};
  const SampleSink sink{[](void* owner, const Sample* sample) noexcept {
                          auto* const s = static_cast<Seen*>(owner);
                          ++*s->calls;
                          *s->mask |= sample->event_mask;
                        },
                        &seen};
  stop();
  ASSERT_TRUE(table_.arm(set_->get(), 1, 25, 0, &sink).ok());
  EXPECT_FALSE(table_.arm(set_->get(), 2, 25, 0, &sink).ok());
  set_->start();
  Simulation run("migratory:rounds=20", 8);
  const std::vector<int64_t> values = stop();
  EXPECT_GT(values[1], 100);
  EXPECT_EQ(calls, values[1] / 25);
  EXPECT_EQ(mask, 2u);
  ASSERT_TRUE(table_.disarm(set_->get(), 1).ok());
  calls = 0;
  set_->start();
  run.machine->release();
  Simulation again("migratory:rounds=20", 8);
  stop();
  EXPECT_EQ(calls, 0);
}

// NU-1, NU-2, table 4.5: the cards in the machine count what happens
TEST_F(Events, CountersOfTheCardsAgreeWithTheModel) {
  const auto mode = [](CounterEvent event, bool transitions) {
    return kCounterOn | static_cast<std::uint32_t>(event) << kEventShift | (transitions ? kTransitions : 0U);
  };
  struct Case {
    CounterEvent event;
    bool transitions;
    std::uint64_t (*wanted)(const Truth&);
  };
  const Case cases[] = {
      {CounterEvent::kRead, true, [](const Truth& t) { return t.reads; }},
      {CounterEvent::kNackRetry, false, [](const Truth& t) { return t.nacks; }},
      {CounterEvent::kNackCycles, true, [](const Truth& t) { return t.nacked_requests; }},
      {CounterEvent::kNackCycles, false, [](const Truth& t) { return t.nack_cycles; }},
      {CounterEvent::kOwnershipSuccessful, true, [](const Truth& t) { return t.misses[0]; }},
      {CounterEvent::kOwnershipSuccessful, false, [](const Truth& t) { return t.miss_cycles[0]; }},
      {CounterEvent::kOwnershipCancelled, true, [](const Truth& t) { return t.misses[1]; }},
      {CounterEvent::kOwnershipCancelled, false, [](const Truth& t) { return t.miss_cycles[1]; }},
      {CounterEvent::kInvalidationMiss, true, [](const Truth& t) { return t.invalidation_misses_estimated; }},
  };
  for (size_t at = 0; at < std::size(cases); at += 4) {
    ASSERT_EQ(substrata_numachine_reset(), 0);
    for (size_t i = 0; i < 4 && at + i < std::size(cases); ++i) {
      ASSERT_EQ(substrata_numachine_broadcast(8, SUBSTRATA_NUMACHINE_GPCM0 + static_cast<uint32_t>(i),
                                              mode(cases[at + i].event, cases[at + i].transitions)),
                0);
    }
    ASSERT_EQ(substrata_numachine_broadcast(8, SUBSTRATA_NUMACHINE_GPCE, 1), 0);
    Simulation run("false-sharing:rounds=300", 8);
    std::uint64_t total[4] = {};
    for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
      for (size_t i = 0; i < 4 && at + i < std::size(cases); ++i) {
        uint32_t counted = 0;
        ASSERT_EQ(
            substrata_numachine_read(cpu, SUBSTRATA_NUMACHINE_COUNTERS + static_cast<uint32_t>(i), &counted),
            0);
        EXPECT_EQ(counted, cases[at + i].wanted(run.model().truth(cpu)))
            << "processor " << cpu << " event " << static_cast<int>(cases[at + i].event);
        total[i] += counted;
      }
    }
    for (size_t i = 0; i < 4 && at + i < std::size(cases); ++i) EXPECT_GT(total[i], 0u) << at + i;
  }
}

}  // namespace
}  // namespace substrata::numachine::test
