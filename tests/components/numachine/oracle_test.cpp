// The machine and its cards against a second simulator: random programs, one access after the other, or all
// processors at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "numachine/model.hpp"
#include "slow_machine.hpp"

namespace substrata::numachine::test {
namespace {

std::uint32_t counter(std::uint32_t cpu, unsigned number) {
  std::uint32_t value = 0;
  Rack::instance().processor(cpu).read(kCounters + number, &value);
  return value;
}

struct Event {
  CounterEvent event;
  bool transitions;
  std::uint64_t Counts::*wanted;
};
constexpr Event kEvents[] = {{CounterEvent::kRead, false, &Counts::read_cycles},
                             {CounterEvent::kRead, true, &Counts::reads},
                             {CounterEvent::kReadExclusive, false, &Counts::exclusive_cycles},
                             {CounterEvent::kReadExclusive, true, &Counts::exclusives},
                             {CounterEvent::kOwnershipSuccessful, false, &Counts::upgrade_cycles},
                             {CounterEvent::kOwnershipSuccessful, true, &Counts::upgrades},
                             {CounterEvent::kBusActivity, false, &Counts::bus_cycles},
                             {CounterEvent::kBusActivity, true, &Counts::transactions},
                             {CounterEvent::kOwnershipCancelled, false, &Counts::cancelled_cycles},
                             {CounterEvent::kOwnershipCancelled, true, &Counts::cancelled},
                             {CounterEvent::kNackCycles, false, &Counts::retry_cycles},
                             {CounterEvent::kNackRetry, false, &Counts::retries}};

struct Access {
  std::uint64_t line;
  bool write;
  Time begins;  // at the earliest
};
using Program = std::vector<std::vector<Access>>;  // by processor

// A few lines that many want, on some homes, and some that fall on one place of every cache.
Program random_program(std::uint32_t processors, std::uint64_t accesses, std::uint64_t homes, Time apart) {
  std::mt19937_64 random(processors);
  Program program(processors);
  Time begins = 0;
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const auto cpu = static_cast<std::uint32_t>(random() % processors);
    const std::uint64_t r = random();
    const std::uint64_t line = r % homes * kPageLines + r / homes % 3 + (r / 64 % 4) * kCacheLines;
    begins += apart;
    program[cpu].push_back({line, r / 1024 % 3 == 0, begins});
  }
  return program;
}

// Runs it, the processor that is behind first; gives when each access was done.
template <typename Step>
std::vector<std::vector<Time>> run(const Program& program, const Step& step) {
  std::vector<std::vector<Time>> done(program.size());
  std::set<std::pair<Time, std::uint32_t>> next;
  for (std::uint32_t cpu = 0; cpu < program.size(); ++cpu) {
    if (!program[cpu].empty()) next.insert({program[cpu][0].begins, cpu});
  }
  while (!next.empty()) {
    auto [now, cpu] = *next.begin();
    next.erase(next.begin());
    const std::vector<Access>& own = program[cpu];
    if (step(cpu, own[done[cpu].size()], now)) done[cpu].push_back(now);
    if (done[cpu].size() == own.size()) continue;
    // Another access begins no earlier than it says.
    const bool is_new = !done[cpu].empty() && done[cpu].back() == now;
    next.insert({is_new ? std::max(now, own[done[cpu].size()].begins) : now, cpu});
  }
  return done;
}

// What the slow machine makes of a program.
struct Expected {
  explicit Expected(const Program& program, const Hints& hints = {})
      : machine((static_cast<std::uint32_t>(program.size()) + 3) / 4, hints),
        done(run(program, [this](std::uint32_t cpu, const Access& access, Time& now) {
          return machine.step(cpu, access.line, access.write, now);
        })) {}
  std::uint64_t sum(std::uint64_t Counts::*what) const {
    std::uint64_t all = 0;
    for (const Counts& one : machine.counts) all += one.*what;
    return all;
  }

  SlowMachine machine;
  std::vector<std::vector<Time>> done;  // when each access was
};

// The machine runs it too, while its cards count four of the events.
void compare(const Program& program, const Expected& expected, unsigned first_event,
             const Hints& hints = {}) {
  const Rack::Use use(Rack::instance());
  Rack::instance().reset();
  const auto processors = static_cast<std::uint32_t>(program.size());
  Parameters p;
  p.shape.stations = (processors + 3) / 4;
  p.cache_bytes = kCacheLines * 64;
  p.network_bytes = kNetworkLines * 64;
  p.primary_bytes = p.cache_bytes;
  p.intent_first = hints.intended.first;
  p.intent_lines = hints.intended.count;
  p.prefetch_first = hints.ahead.first;
  p.prefetch_lines = hints.ahead.count;
  p.prefetches_own = hints.exclusive;
  Model model(p, 0);
  for (std::uint32_t cpu = 0; cpu < processors; ++cpu) {
    ProcessorCard& card = Rack::instance().processor(cpu);
    for (unsigned i = 0; i < 4; ++i) {
      const Event& event = kEvents[first_event + i];
      card.write(kCounterMode0 + i, kCounterOn | static_cast<std::uint32_t>(event.event) << kEventShift |
                                        (event.transitions ? kTransitions : 0U));
    }
    card.write(kSramMode, static_cast<std::uint32_t>(SramEvent::kSecondaryMiss) << kEventShift);
    card.write(kCounterEnable, 1);
    card.write(kSramEnable, 1);
  }
  Time newest = 0;
  const auto done = run(program, [&](std::uint32_t cpu, const Access& access, Time& now) {
    newest = std::max(newest, now);
    return model.step(cpu, access.line * 64, 8, access.write, false, 0, now);
  });
  model.settle(newest + Parameters::bus_ps * 100'000);
  ASSERT_EQ(done, expected.done) << processors << " processors";
  for (std::uint32_t station = 0; station < p.shape.stations; ++station)
    ASSERT_EQ(model.queue_cycles(station), expected.machine.queue_cycles[station]) << station;
  for (std::uint32_t cpu = 0; cpu < processors; ++cpu) {
    const Counts& wanted = expected.machine.counts[cpu];
    for (unsigned i = 0; i < 4; ++i)
      ASSERT_EQ(counter(cpu, i), wanted.*kEvents[first_event + i].wanted)
          << processors << " processors, processor " << cpu << ", event " << first_event + i;
    for (std::uint32_t line = 0; line < kCacheLines; ++line)
      ASSERT_EQ(Rack::instance().processor(cpu).sram(line), wanted.misses[line]) << cpu << " line " << line;
    const Truth& truth = model.truth(cpu);
    for (unsigned rsr = 0; rsr < 32; ++rsr) {
      const auto found = wanted.responses.find(rsr);
      ASSERT_EQ(truth.responses[rsr], found == wanted.responses.end() ? 0 : found->second)
          << cpu << " " << rsr;
    }
    ASSERT_EQ(truth.write_backs, wanted.write_backs) << cpu;
    ASSERT_EQ(truth.invalidation_hits, wanted.invalidated) << cpu;
    ASSERT_EQ(truth.bus_errors, wanted.timed_out) << cpu;
    ASSERT_EQ(truth.bus_wait_cycles, wanted.bus_wait) << cpu;
    ASSERT_EQ(truth.prefetches, wanted.hints) << cpu;
    ASSERT_EQ(truth.prefetches_dropped, wanted.dropped) << cpu;
  }
}

class Oracle : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Oracle, CountsRequestsAndTheirLatenciesAsTheCardsDo) {
  // Each access after the last is over.
  const Program program = random_program(GetParam(), 4000, 12, 100'000 * Parameters::bus_ps);
  const Expected expected(program);
  for (const unsigned first : {0U, 4U}) compare(program, expected, first);
}

INSTANTIATE_TEST_SUITE_P(Processors, Oracle, testing::Values(1, 2, 4, 7, 16, 40, 64, 128, 256));

class OracleAtOnce : public testing::TestWithParam<std::uint32_t> {};

// Requests that meet: refused, overtaken on the way, late for a bus.
TEST_P(OracleAtOnce, EveryAccessIsDoneInTheSameCycleAndCountedTheSame) {
  const Program program = random_program(GetParam(), 2000, 2, 2 * Parameters::bus_ps);
  const Expected expected(program);
  for (const unsigned first : {0U, 4U, 8U}) compare(program, expected, first);
  EXPECT_GT(expected.sum(&Counts::retries), 0u);
  EXPECT_GT(expected.sum(&Counts::cancelled), 0u);
  EXPECT_GT(expected.sum(&Counts::bus_wait), 0u);
  if (GetParam() == 256) {
    EXPECT_GT(expected.sum(&Counts::timed_out), 0u);
  }
}

// Each home's lines: hints that only read, hints and loads with ownership, loads with ownership alone; then hints with
// ownership for what loads only read, so that they find copies without ownership.
TEST_P(OracleAtOnce, HintsAreServedOrDroppedInTheSameCycle) {
  const Program program = random_program(GetParam(), 2000, 2, 2 * Parameters::bus_ps);
  constexpr Hints kSome{{kCacheLines, 2 * kCacheLines}, {0, 2 * kCacheLines}, false};
  constexpr Hints kForOwnership{{}, {0, 2 * kPageLines}, true};
  for (const Hints& hints : {kSome, kForOwnership}) {
    const Expected expected(program, hints);
    for (const unsigned first : {0U, 4U, 8U}) compare(program, expected, first, hints);
    EXPECT_GT(expected.sum(&Counts::hints), expected.sum(&Counts::dropped));
    EXPECT_GT(expected.sum(&Counts::dropped), 0u);
    if (hints.exclusive) {
      EXPECT_GT(expected.sum(&Counts::hints_for_ownership), 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Processors, OracleAtOnce, testing::Values(4, 16, 64, 256));

}  // namespace
}  // namespace substrata::numachine::test
