// The C++ interface to the NUMAchine monitors: units, lifetimes, refusals, and the same numbers as the C one.
#include <gtest/gtest.h>
#include <substrata/feed.hpp>
#include <substrata/numachine.hpp>

#include <iterator>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/temporary_folder.hpp"

namespace substrata::numachine_monitor {
namespace {

template <class A, class B>
concept CanBeAdded = requires(A a, B b) {
  a + b;
};

static_assert(!CanBeAdded<BusCycles, Occurrences> && !CanBeAdded<Occurrences, std::uint64_t>);
static_assert(std::chrono::duration_cast<std::chrono::nanoseconds>(BusCycles(1)).count() == 20);
static_assert(ProcessorCycles(BusCycles(5)).count() == 15);
static_assert(!std::is_copy_constructible_v<Counter<BusCycles>> &&
              std::is_nothrow_move_constructible_v<Counter<BusCycles>>);
static_assert(!std::is_copy_constructible_v<Interrupts> && std::is_nothrow_move_constructible_v<Interrupts>);
static_assert(!std::is_copy_constructible_v<Following>);

void run(const char* workload, std::uint32_t processors) {
  auto options = client::sized<substrata_run_options>();
  options.processes = processors;
  auto result = client::sized<substrata_run_result>();
  ASSERT_EQ(substrata_run("numachine", workload, &options, &result), 0) << substrata_feed_error();
  ASSERT_EQ(result.correct, 1u) << result.message;
}

// NU-2, NU-4
TEST(NumachineFace, CountersReportCyclesAndOccurrencesAsTheModelKnowsThem) {
  reset().value();
  const Card card = Card::of(0).value();
  const auto cycles = card.arm(0, cycles_of(Event::kReadOrExclusive)).value();
  const auto requests = card.arm(1, occurrences_of(Event::kReadOrExclusive)).value();
  const auto estimated = card.arm(2, occurrences_of(Event::kInvalidationMiss)).value();
  const auto loads_and_stores = card.arm(3, pipeline(0x41)).value();
  run("false-sharing:rounds=50", 4);
  const Known truth = known(0).value();
  std::uint64_t responses = 0;
  for (const std::uint64_t one : truth.misses) responses += one;
  EXPECT_GT(requests.read().value().count, 0u);
  EXPECT_LE(requests.read().value().count, responses);
  EXPECT_GT(cycles.read().value(), BusCycles(requests.read().value().count));
  EXPECT_EQ(estimated.read().value(), Occurrences{truth.invalidation_misses_estimated});
  const ProcessorCycles counted = loads_and_stores.read().value();
  EXPECT_LE(counted.count(), truth.loads + truth.stores);
  EXPECT_GT(counted.count() + 4, truth.loads + truth.stores) << "the hidden accumulator holds up to three";
  EXPECT_GT(card.timestamp().value(), BusCycles(0));
}

// Transactions of processor 0 that pass a condition, in a run that is the same each time.
std::uint64_t transactions(Mode<Occurrences> mode) {
  const Card card = Card::of(0).value();
  const Counter<Occurrences> counter = card.arm(0, mode).value();
  run("producer-consumer:words=256", 8);
  return counter.read().value().count;
}
constexpr auto kTransactions = occurrences_of(Event::kBusActivity);

// What is watched: one bit of the address, and responses. Both have transactions on either side.
void watch(std::uint32_t phase, std::uint32_t address, std::uint32_t command) {
  constexpr std::uint32_t kAddressBit = 1U << 7;
  constexpr std::uint32_t kResponseBit = 1U << 9;
  const Card card = Card::of(0).value();
  for (const auto& [place, value] :
       {std::pair{SUBSTRATA_NUMACHINE_PW, phase}, std::pair{SUBSTRATA_NUMACHINE_AFLO, kAddressBit},
        std::pair{SUBSTRATA_NUMACHINE_AWLO, address * kAddressBit},
        std::pair{SUBSTRATA_NUMACHINE_CF, kResponseBit},
        std::pair{SUBSTRATA_NUMACHINE_CW, command * kResponseBit}}) {
    card.write(static_cast<std::uint32_t>(place), value).value();
  }
}

// Table 4.4: bit 9 stands above the comparisons and must be set with each
TEST(NumachineFace, EachConditionAloneSelectsWhatItsNameSays) {
  reset().value();
  watch(0, 0, 0);
  const std::uint64_t all = transactions(kTransactions);
  ASSERT_GT(all, 0u);
  EXPECT_EQ(transactions(kTransactions.where_phase_matches()), all) << "the program stays in phase 0";
  EXPECT_EQ(transactions(kTransactions.where_phase_differs()), 0u);
  const std::uint64_t even = transactions(kTransactions.where_address_matches());
  const std::uint64_t requests = transactions(kTransactions.where_command_matches());
  watch(1, 1, 1);
  EXPECT_EQ(transactions(kTransactions.where_phase_matches()), 0u);
  EXPECT_EQ(transactions(kTransactions.where_phase_differs()), all);
  const std::uint64_t odd = transactions(kTransactions.where_address_matches());
  const std::uint64_t responses = transactions(kTransactions.where_command_matches());
  const auto are_two_parts = [&](std::uint64_t one, std::uint64_t other) {
    return one > 0 && other > 0 && one + other == all;
  };
  EXPECT_TRUE(are_two_parts(even, odd)) << even << " + " << odd;
  EXPECT_TRUE(are_two_parts(requests, responses)) << requests << " + " << responses;
  EXPECT_EQ(transactions(kTransactions.where_address_differs()), even);
  EXPECT_EQ(transactions(kTransactions.where_command_differs()), requests);
  const std::uint64_t sent = transactions(kTransactions.while_sending());
  const std::uint64_t received = transactions(kTransactions.while_receiving());
  EXPECT_TRUE(are_two_parts(sent, received)) << sent << " + " << received;
  EXPECT_EQ(transactions(kTransactions.while_sending().while_receiving()), all);
}

TEST(NumachineFace, ConditionsTogetherSelectWhatAllOfThemSelect) {
  reset().value();
  watch(0, 0, 0);
  const std::uint64_t all = transactions(kTransactions);
  std::uint64_t parts = 0;
  std::uint64_t parts_sent = 0;
  for (std::uint32_t address = 0; address < 2; ++address) {
    for (std::uint32_t command = 0; command < 2; ++command) {
      watch(0, address, command);
      const auto both = kTransactions.where_address_matches().where_command_matches();
      const std::uint64_t part = transactions(both);
      EXPECT_LT(part, all);
      EXPECT_EQ(transactions(both.where_phase_matches()), part);
      EXPECT_EQ(transactions(both.where_phase_differs()), 0u);
      EXPECT_EQ(transactions(both.where_phase_differs().where_phase_matches()), part)
          << "the last one counts";
      parts += part;
      parts_sent += transactions(both.while_sending());
    }
  }
  EXPECT_EQ(parts, all);
  EXPECT_EQ(parts_sent, transactions(kTransactions.while_sending()));
}

// NU-2
TEST(NumachineFace, ACounterEndsWithItsLifeAndLeavesItsCount) {
  reset().value();
  const Card card = Card::of(1).value();
  std::uint32_t left = 0;
  {
    Counter<BusCycles> counter = card.arm(2, cycles_of(Event::kAlways)).value();
    run("false-sharing:rounds=10", 4);
    const Counter<BusCycles> moved = std::move(counter);
    EXPECT_NE(card.read(SUBSTRATA_NUMACHINE_GPCM0 + 2).value(), 0u) << "a move is no end";
    left = static_cast<std::uint32_t>(moved.read().value().count());
    EXPECT_GT(left, 0u);
  }
  EXPECT_EQ(card.read(SUBSTRATA_NUMACHINE_GPCM0 + 2).value(), 0u);
  run("false-sharing:rounds=10", 4);
  EXPECT_EQ(card.read(SUBSTRATA_NUMACHINE_COUNTERS + 2).value(), left);
}

// NU-2
TEST(NumachineFace, TakingACountBeginsItAnew) {
  reset().value();
  const Card card = Card::of(0).value();
  Counter<Occurrences> counter = card.arm(0, occurrences_of(Event::kReadOrExclusive)).value();
  run("migratory:rounds=4", 4);
  const Occurrences first = counter.read().value();
  EXPECT_EQ(counter.take().value(), first);
  EXPECT_EQ(counter.read().value(), Occurrences{0});
}

// NU-2
TEST(NumachineFace, InterruptsComeWhileTheirObjectLives) {
  reset().value();
  const Card card = Card::of(0).value();
  Counter<Occurrences> counter = card.arm(0, occurrences_of(Event::kReadOrExclusive).interrupting()).value();
  unsigned first = 0;
  unsigned second = 0;
  {
    const Interrupts older = Interrupts::call([&](std::uint32_t, std::uint32_t) { ++first; }).value();
    Interrupts newer = Interrupts::call([&](std::uint32_t cpu, std::uint32_t pending) {
                         second += cpu == 0 && (pending & 1U) != 0 ? 1 : 0;
                       }).value();
    const Interrupts kept = std::move(newer);
    counter.preload(2).value();
    run("migratory:rounds=4", 4);
  }
  EXPECT_EQ(first, 0u);
  EXPECT_EQ(second, 1u);
  card.write(SUBSTRATA_NUMACHINE_INTERRUPTS, 0x1f).value();
  counter.preload(2).value();
  run("migratory:rounds=4", 4);
  EXPECT_EQ(second, 1u) << "called after its life";
}

// item 8 of table 4.10
TEST(NumachineFace, MissHandlersAreAskedForByTheirTrigger) {
  unsigned all = 0;
  {
    const MissHandler handler =
        MissHandler::call([&](std::uint32_t, const substrata_transaction&) { ++all; },
                          [](std::uint32_t cpu, const substrata_transaction&) { return cpu == 1; })
            .value();
    run("migratory:rounds=4", 4);
  }
  EXPECT_EQ(known(0).value().informed, 0u);
  EXPECT_EQ(known(1).value().informed, all);
  EXPECT_GT(all, 0u);
  run("migratory:rounds=4", 4);
  EXPECT_EQ(known(1).value().informed, 0u);
}

// Section 4.3.1
TEST(NumachineFace, ACardTakesACounterCircuitAndSaysWhereItCannotReadOne) {
  reset().value();
  const Card card = Card::of(0).value();
  card.configure("on response: counter[0] += 1; counter[1] += latency").value();
  card.write(SUBSTRATA_NUMACHINE_GPCE, 1).value();
  run("producer-consumer:words=256", 8);
  const Known truth = known(0).value();
  std::uint64_t responses = 0, cycles = 0;
  for (const std::uint64_t one : truth.misses) responses += one;
  for (const std::uint64_t one : truth.miss_cycles) cycles += one;
  EXPECT_GT(responses, 0u);
  EXPECT_EQ(card.read(SUBSTRATA_NUMACHINE_COUNTERS).value(), responses);
  EXPECT_EQ(card.read(SUBSTRATA_NUMACHINE_COUNTERS + 1).value(), cycles);
  const auto refused = card.configure("on response\ncounter[0] += 1");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("line 1, column 12: ':' is missing here"), std::string::npos)
      << refused.error().sentence;
  run("producer-consumer:words=256", 8);
  EXPECT_GT(card.read(SUBSTRATA_NUMACHINE_COUNTERS).value(), responses) << "the one before is there still";
  card.configure("").value();
}

// Section 3.3.3: what waits where, of all phases and of each
TEST(NumachineFace, QueuesOfAStationAreThoseOfItsPhases) {
  reset().value();
  run("radix:keys=4096:radix=64", 16);
  for (std::uint32_t station = 0; station < 4; ++station) {
    const Queues all = queues(station).value();
    std::uint64_t memory = 0, bus = 0;
    for (std::int32_t phase = 0; phase < 16; ++phase) {
      memory += queues(station, phase).value().memory.wait_cycles;
      bus += queues(station, phase).value().bus.transactions;
    }
    EXPECT_EQ(memory, all.memory.wait_cycles);
    EXPECT_EQ(bus, all.bus.transactions);
    // A read is looked up and read, a write-back looked up and written; an upgrade is only looked up.
    EXPECT_EQ(all.memory.longest_service, 16u);
    EXPECT_EQ(all.bus.longest_service, 9u);
    EXPECT_EQ(all.network_cache.service_cycles, 4 * all.network_cache.transactions);
    EXPECT_GE(all.memory.wait_cycles, all.memory.longest_wait);
    EXPECT_GT(all.memory.longest_queue, 0u);
    EXPECT_GT(all.link.transactions, 0u);
    EXPECT_LT(all.bus.service_cycles, all.bus.cycles) << "it carries no more than one at a time";
  }
  EXPECT_FALSE(queues(64));
  EXPECT_FALSE(queues(0, 16));
}

TEST(NumachineFace, RefusalsAreMessages) {
  const auto nobody = Card::of(SUBSTRATA_NUMACHINE_PROCESSORS);
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().sentence.find("256 was asked for"), std::string::npos) << nobody.error().sentence;
  const Card card = Card::of(0).value();
  EXPECT_FALSE(card.arm(4, cycles_of(Event::kAlways)));
  EXPECT_FALSE(card.read(0xd)) << "reserved in table 4.4";
  EXPECT_FALSE(card.write(SUBSTRATA_NUMACHINE_TIMESTAMP, 1)) << "read only";
  EXPECT_FALSE(card.read_doubleword(0x5)) << "odd";
  EXPECT_FALSE(card.sram(65000, 1000));
  EXPECT_FALSE(card.sram(0, 4'000'000'000U));
  EXPECT_FALSE(bucket(128));
  EXPECT_FALSE(fifos(64));
  EXPECT_FALSE(Following::begin("no_such_parameter=1"));
}

// NU-15, NU-16, NU-17, NU-32
TEST(NumachineFace, FindingsAreTheSameAsThoseOfTheCInterface) {
  reset().value();
  run("producer-consumer:words=256", 8);
  const std::vector<Object> all = objects().value();
  ASSERT_FALSE(all.empty());
  std::uint32_t count = 1;
  substrata_numachine_object first{};
  ASSERT_EQ(substrata_numachine_objects(&first, &count), 0);
  EXPECT_EQ(count, all.size());
  EXPECT_STREQ(first.name, all[0].name);
  EXPECT_EQ(first.invalidation_misses, all[0].invalidation_misses);
  EXPECT_EQ(profile(0).value().size(), 16384u);
  EXPECT_FALSE(profile(8)) << "the machine had eight processors";
  std::uint64_t used = 0;
  std::uint64_t hits = 0;
  for (std::uint32_t station = 0; station < 2; ++station) {
    used += pages(station).value().size();
    const StateHits table = state_hits(station).value();
    for (const auto& row : table) {
      for (const std::uint64_t one : row) hits += one;
    }
    EXPECT_GT(fifos(station).value()[0].cycles, 0u);
  }
  EXPECT_GT(used, 0u);
  EXPECT_GT(hits, 0u);
  EXPECT_EQ(bucket(0).value().last, BusCycles(1));
}

// Appendix A: the time-average depth is the accumulator by the cycles in which it accumulated
TEST(NumachineFace, AFifosCyclesBeginAnewWithAReset) {
  reset().value();
  run("migratory:rounds=4", 4);
  const Fifo once = fifos(0).value()[0];
  reset().value();
  run("migratory:rounds=4", 4);
  const Fifo again = fifos(0).value()[0];
  EXPECT_GT(once.by_cycle, 0u);
  EXPECT_EQ(again.by_cycle, once.by_cycle);
  EXPECT_EQ(again.cycles, once.cycles);
}

constexpr auto kMadeUp =
    substrata::client::feed::Source::generated("numachine-face-test", "accesses made up by a test");

// Publishes what one thread of a program would: reads of its own array, writes to a word next to the others',
// read-modify-writes of one counter.
void publish_accesses(std::uint32_t thread, std::uint64_t rounds) {
  const std::string name = "mem.cpu" + std::to_string(thread) + ".accesses";
  substrata::client::feed::Publisher publisher;
  ASSERT_EQ(kMadeUp.try_publisher(name.c_str(), "accesses made up by a test", 256, &publisher), 0)
      << substrata_feed_error();
  const auto access = [&](std::uint16_t kind, std::uint64_t address, std::uint64_t round) {
    substrata_transaction t{};
    t.address = address;
    t.size = 8;
    t.kind = kind;
    t.initiator = thread;
    t.phase = round % 2 == 0 ? std::uint16_t{0} : std::uint16_t{1};
    t.site = round % 7 == 0 ? 0x1000 + thread : 0;
    publisher.publish(t);
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    access(SUBSTRATA_READ, 0x100000 * (thread + 1) + round * 8 % 65536, round);
    access(SUBSTRATA_WRITE, 0x40 * 1024 + thread * 8, round);
    if (round % 16 == 0) access(SUBSTRATA_ATOMIC, 0x80 * 1024, round);
  }
}

// NU-23: several threads bring accesses at once, one of them runs the model, none is lost
TEST(NumachineFace, AFollowedProgramsThreadsMayPublishAtOnce) {
  constexpr std::uint64_t kRounds = 20'000;
  Following machine = Following::begin("processors=4").value();
  {
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread)
      threads.emplace_back(publish_accesses, thread, kRounds);
    // Findings up to now may be asked for meanwhile.
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(objects());
    for (std::thread& thread : threads) thread.join();
  }
  machine.end();
  for (std::uint32_t cpu = 0; cpu < 4; ++cpu) {
    const Known truth = known(cpu).value();
    EXPECT_EQ(truth.loads, kRounds);
    EXPECT_EQ(truth.stores, kRounds + kRounds / 16);
  }
}

// One read or write of a place by a processor, or a barrier that so many processors come to.
struct Done {
  std::uint16_t kind;
  std::uint64_t address;  // of a barrier: which opening
  std::uint32_t size;
};
void publish_in_a_row(std::uint32_t thread, const std::vector<Done>& all) {
  const std::string name = "mem.cpu" + std::to_string(thread) + ".accesses";
  substrata::client::feed::Publisher publisher;
  ASSERT_EQ(kMadeUp.try_publisher(name.c_str(), "accesses made up by a test", 64, &publisher), 0)
      << substrata_feed_error();
  for (const Done& one : all) {
    const bool barrier = one.kind == SUBSTRATA_BARRIER;
    substrata_transaction t{};
    t.address = barrier ? 0xba0 : one.address;
    t.detail = barrier ? one.address : 0;
    t.size = one.size;
    t.kind = one.kind;
    t.initiator = thread;
    publisher.publish(t);
  }
}

// NU-23: the model sees what a processor did before a barrier before what another did after it, in whatever
// order the two are heard of
TEST(NumachineFace, BarriersOrderAFollowedProgramsThreads) {
  Following machine = Following::begin("processors=4").value();
  publish_in_a_row(0, {{SUBSTRATA_READ, 4096, 8},
                       {SUBSTRATA_BARRIER, 0, 2},
                       {SUBSTRATA_BARRIER, 1, 2},
                       {SUBSTRATA_READ, 4096, 8}});
  publish_in_a_row(1, {{SUBSTRATA_BARRIER, 0, 2}, {SUBSTRATA_WRITE, 4096, 8}, {SUBSTRATA_BARRIER, 1, 2}});
  machine.end();
  EXPECT_EQ(known(0).value().misses[2], 1u) << "the writer came between the two reads";
  EXPECT_EQ(known(0).value().loads, 2u);
  EXPECT_EQ(known(1).value().invalidation_hits, 0u);
  EXPECT_EQ(known(0).value().invalidation_hits, 1u);
}

// A recorded program is followed as it was while it ran
TEST(NumachineFace, AReplayedMemoryTraceIsFollowedAsTheProgramWas) {
  const tests::TemporaryFolder folder;
  const std::string file = folder.file("trace");
  std::vector<Known> then;
  {
    substrata_recorder* recorder = nullptr;
    ASSERT_EQ(substrata_record_start(file.c_str(), "mem.*", nullptr, &recorder), 0) << substrata_feed_error();
    Following machine = Following::begin("processors=4").value();
    std::vector<Done> first, second;
    for (std::uint64_t round = 0; round < 50; ++round) {
      for (std::vector<Done>* const own : {&first, &second}) {
        for (std::uint64_t i = 0; i < 20; ++i)
          own->push_back({SUBSTRATA_READ, 65536 + i * 64 + (own == &first ? 0u : 1u) * 65536, 8});
        own->push_back(
            {own == &first ? std::uint16_t{SUBSTRATA_WRITE} : std::uint16_t{SUBSTRATA_READ}, 4096, 8});
        own->push_back({SUBSTRATA_BARRIER, round, 2});
      }
    }
    publish_in_a_row(0, first);
    publish_in_a_row(1, second);
    machine.end();
    ASSERT_EQ(substrata_record_stop(recorder, nullptr), 0);
    for (std::uint32_t cpu = 0; cpu < 2; ++cpu) then.push_back(known(cpu).value());
  }
  Following machine = Following::begin("processors=4").value();
  ASSERT_EQ(substrata_replay(file.c_str(), nullptr, nullptr), 0) << substrata_feed_error();
  machine.end();
  for (std::uint32_t cpu = 0; cpu < 2; ++cpu) {
    const Known now = known(cpu).value();
    EXPECT_EQ(now.loads, cpu == 0 ? 1000u : 1050u);
    EXPECT_GT(now.misses[0] + now.misses[2], 20u) << "one writes what the other reads";
    EXPECT_EQ(std::vector(std::begin(now.misses), std::end(now.misses)),
              std::vector(std::begin(then[cpu].misses), std::end(then[cpu].misses)));
    EXPECT_EQ(std::vector(std::begin(now.miss_cycles), std::end(now.miss_cycles)),
              std::vector(std::begin(then[cpu].miss_cycles), std::end(then[cpu].miss_cycles)));
    EXPECT_EQ(now.loads, then[cpu].loads);
    EXPECT_EQ(now.stores, then[cpu].stores);
  }
}

// NU-23: who did something after a barrier passed it, even if others who came to it were not heard of
TEST(NumachineFace, ABarrierThatOthersNeverComeToLosesNothing) {
  Following machine = Following::begin("processors=4").value();
  publish_in_a_row(0, {{SUBSTRATA_READ, 4096, 8}, {SUBSTRATA_BARRIER, 0, 3}, {SUBSTRATA_READ, 8192, 8}});
  publish_in_a_row(1, {{SUBSTRATA_WRITE, 4096, 8}, {SUBSTRATA_BARRIER, 0, 3}});
  machine.end();
  EXPECT_EQ(known(0).value().loads, 2u);
  EXPECT_EQ(known(1).value().stores, 1u);
}

}  // namespace
}  // namespace substrata::numachine_monitor
