// The NUMAchine machine on workloads: determinism, coherence in time, rows of references, the causes of misses.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "protocol_check.hpp"
#include "simulation.hpp"

namespace substrata::numachine::test {
namespace {

struct Reference {
  std::uint64_t place;
  std::uint32_t size;
  bool write;
  bool access;
  std::uint64_t address() const { return place; }
  bool is_plain() const { return access && place / 32 == (place + size - 1) / 32; }
  bool is_write() const { return write; }
};

// Two processors in turns of a few references; what the caches serve goes one by one or in a row.
std::pair<Time, std::vector<Truth>> charge(const std::vector<Reference>& references, bool in_a_row,
                                           std::uint64_t slip) {
  Parameters p;
  p.shape.stations = 1;
  p.slip_cycles = slip;
  p.cache_bytes = 64 << 10;
  const Rack::Use use(Rack::instance());
  Model model(p, 0);
  Time now[2] = {};
  for (std::size_t turn = 0; turn < references.size(); turn += 50) {
    const auto cpu = static_cast<std::uint32_t>(turn / 50 % 2);
    Time& time = now[cpu];
    const Reference* at = references.data() + turn;
    const Reference* const end = at + 50;
    while (at != end) {
      if (in_a_row) {
        const Reference* const served = model.serve_by_caches(cpu, at, end, ~Time{0}, time);
        if (served != at) {
          at = served;
          continue;
        }
      }
      if (!at->access) {
        model.compute(cpu, at->place, time);
      } else if (in_a_row ? !model.serve_by_caches(cpu, at->place, at->size, at->write, time)
                          : !model.quick(cpu, at->place, at->size, at->write, time)) {
        while (!model.step(cpu, at->place, at->size, at->write, false, 0, time)) {
        }
      }
      ++at;
    }
  }
  model.settle(std::max(now[0], now[1]));
  return {now[0] + now[1], {model.truth(0), model.truth(1)}};
}

TEST(NumachineModel, ReferencesInARowAreChargedAsOneByOne) {
  std::vector<Reference> references;
  std::uint64_t random = 1;
  for (int i = 0; i < 100'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t r = random >> 33;
    // Sequences, jumps within and beyond the caches, accesses across lines, computation.
    const std::uint64_t base = (r & 7) == 0         ? (r >> 3) % (256 << 10)
                               : references.empty() ? 0
                                                    : references.back().place + 4;
    references.push_back({base % (256 << 10), (r & 64) != 0 ? 8U : 4U, (r & 0x300) == 0, (r & 0x7c00) != 0});
    if (!references.back().access) references.back().place = r % 9;
  }
  for (const std::uint64_t slip : {0, 2}) {
    const auto [one_time, one] = charge(references, false, slip);
    const auto [row_time, row] = charge(references, true, slip);
    EXPECT_EQ(one_time, row_time);
    for (unsigned cpu = 0; cpu < 2; ++cpu) {
      EXPECT_EQ(one[cpu].loads, row[cpu].loads);
      EXPECT_EQ(one[cpu].stores, row[cpu].stores);
      EXPECT_EQ(one[cpu].primary_misses, row[cpu].primary_misses);
      EXPECT_TRUE(std::equal(std::begin(one[cpu].pipeline), std::end(one[cpu].pipeline), row[cpu].pipeline));
      EXPECT_TRUE(std::equal(std::begin(one[cpu].misses), std::end(one[cpu].misses), row[cpu].misses));
      EXPECT_EQ(one[cpu].invalidation_hits_estimated, row[cpu].invalidation_hits_estimated);
      EXPECT_EQ(one[cpu].invalidation_misses_estimated, row[cpu].invalidation_misses_estimated);
      EXPECT_GT(one[cpu].misses[static_cast<unsigned>(MissType::kInvalidation)], 0u);
    }
  }
}

// NU-8, tables 4.8 and 4.9: the bits of the response state register, request by request on an idle machine
TEST(ResponseStates, ReportWhereARequestWasServedAndWhatItMet) {
  Parameters p;
  p.shape.stations = 2;
  const Rack::Use use(Rack::instance());
  Model model(p, 0);
  Time now = 0;
  struct Request {
    std::uint32_t cpu;  // 0 to 3 on station 0, the home of page 0; 4 to 7 on station 1
    std::uint64_t line;
    bool write;
    unsigned rsr;  // network cache hit, global, valid, remote, exclusive
    MissType type;
  };
  constexpr Request kRequests[] = {
      {0, 0, false, 0b00100, MissType::kOther},               // LV at memory
      {0, 1, true, 0b00101, MissType::kOther},                // read exclusive
      {0, 0, true, 0b00101, MissType::kOwnershipSuccessful},  // upgrade
      {1, 1, false, 0b00000, MissType::kOther},               // LI: dirty at a neighbour
      {4, 2, false, 0b00110, MissType::kOther},               // remote
      {5, 2, false, 0b11110, MissType::kOther},               // network cache, GV
      {5, 2, true, 0b01111, MissType::kOwnershipSuccessful},  // the home must agree
      {4, 2, false, 0b10010, MissType::kInvalidation},        // network cache, LI
      {4, 3, true, 0b00111, MissType::kOther},
      {0, 3, false, 0b01000, MissType::kOther},  // GI: dirty on the other station
      {1, 3, true, 0b01101, MissType::kOther}};  // GV
  for (const Request& request : kRequests) {
    const std::uint64_t responses = model.truth(request.cpu).responses[request.rsr];
    const std::uint64_t misses = model.truth(request.cpu).misses[static_cast<unsigned>(request.type)];
    now += 100'000'000;  // everything before is over
    while (!model.step(request.cpu, request.line * 64, 8, request.write, false, 0, now)) {
    }
    EXPECT_EQ(model.truth(request.cpu).responses[request.rsr], responses + 1)
        << "processor " << request.cpu << ", line " << request.line;
    EXPECT_EQ(model.truth(request.cpu).misses[static_cast<unsigned>(request.type)], misses + 1)
        << "processor " << request.cpu << ", line " << request.line;
  }
  EXPECT_EQ(static_cast<unsigned>(MissType::kOwnershipSuccessful), 0u);
  EXPECT_EQ(static_cast<unsigned>(MissType::kOwnershipCancelled), 1u);
  EXPECT_EQ(static_cast<unsigned>(MissType::kInvalidation), 2u);
  EXPECT_EQ(static_cast<unsigned>(MissType::kOther), 3u);
}

// Determinism: two runs give the same operations at the same times
TEST(NumachineMachine, TwoRunsAreTheSameRun) {
  Simulation first("true-sharing:rounds=100", 16);
  const std::uint64_t digest = first.report.outcome.digest;
  const workloads::Time time = first.report.outcome.time;
  first.machine->release();
  Simulation second("true-sharing:rounds=100", 16);
  EXPECT_EQ(second.report.outcome.digest, digest);
  EXPECT_EQ(second.report.outcome.time, time);
}

// NU-20, NU-22: every size runs every pattern to a right result, and the caches end consistent
TEST(NumachineMachine, KeepsTheProtocolsInvariantsInTime) {
  for (const std::uint32_t processes : {1u, 3u, 16u, 40u}) {
    for (const char* spec :
         {"false-sharing:rounds=60", "true-sharing:rounds=30", "radix:keys=1024:radix=16"}) {
      for (const char* parameters :
           {"cache=4096:network_cache=8192", "protocol=update:cache=4096", "split=1"}) {
        Simulation run(spec, processes, parameters);
        for (const LineProfile& line : run.model().lines()) {
          // The model keeps no versions, so copies are compared by their states only.
          const std::string wrong = ProtocolCheck::check(run.model().protocol(), line.line);
          if (wrong.find("stale") == std::string::npos) {
            EXPECT_EQ(wrong, "") << spec << " " << processes << " " << parameters;
          }
        }
      }
    }
  }
}

TEST(NumachineMachine, RefusesASecondMachineAtOnce) {
  Simulation first("false-sharing:rounds=2", 4);
  struct substrata_run_result result {};
  result.struct_size = sizeof result;
  EXPECT_LT(substrata_run("numachine", "false-sharing:rounds=2", nullptr, &result), 0);
  EXPECT_NE(std::string(result.message).find("another NUMAchine"), std::string::npos) << result.message;
}

// NU-32, issue: the micro-kernels are distinguished, by object
TEST(Causes, OfTheMicroKernelsAreDistinguished) {
  const auto cause = [](const char* spec, const char* object) {
    Simulation run(spec, 16);
    return run.cause_of(object);
  };
  EXPECT_EQ(cause("false-sharing:rounds=200", "false_sharing.words"), Cause::kFalseSharing);
  EXPECT_EQ(cause("true-sharing:rounds=50", "true_sharing.words"), Cause::kTrueSharing);
  EXPECT_EQ(cause("migratory:rounds=20", "migratory.words"), Cause::kMigratory);
  EXPECT_EQ(cause("producer-consumer:words=4096:rounds=8", "producer_consumer.words"),
            Cause::kProducerConsumer);
  EXPECT_EQ(cause("conflict:stride=1048576:ways=4:rounds=50", "conflict.words"), Cause::kConflict);
  EXPECT_EQ(cause("hot-spot:rounds=16", "hot_spot.spot"), Cause::kHotSpot);
  EXPECT_EQ(cause("stream:elements=16384:rounds=1", "stream.a"), Cause::kCapacity);
}

// Item 11 of table 4.10, section 3.3.2
TEST(Causes, ACacheLineWithConflictsStandsOutOfTheProfile) {
  Simulation run("conflict:stride=1048576:ways=4:rounds=50", 4);
  const std::vector<Spike> spikes =
      find_spikes(run.model(), 16, [&](std::uint64_t a) { return run.machine->name_at(a); });
  ASSERT_EQ(spikes.size(), 4u) << "one line of each processor";
  for (const Spike& spike : spikes) {
    EXPECT_EQ(spike.misses, 200u);
    ASSERT_EQ(spike.objects.size(), 1u);
    EXPECT_EQ(spike.objects[0], "conflict.words");
  }
  run.machine->release();
  Simulation calm("stream:elements=4096:rounds=2", 4);
  EXPECT_TRUE(find_spikes(calm.model(), 16, nullptr).empty());
}

// Data that one processor after the other changes was named by producer and consumers, as no store missed
TEST(Causes, DataWhoseLoadsComeWithOwnershipAreNamedAsIfItsStoresMissed) {
  for (const char* intent : {"", "intent_to=1099511627776"}) {
    Simulation run("migratory:rounds=20", 16, intent);
    EXPECT_EQ(run.cause_of("migratory.words"), Cause::kMigratory) << intent;
  }
}

// Equal elements of three arrays fall on one line of the cache. Of its 8 elements each misses twice in two loops and
// thrice in two, but that one of a loop may find its line from the loop before. The processors' parts cover half of the
// 256 lines.
TEST(Causes, ArraysAWholeNumberOfCachesApartConflict) {
  Simulation run("stream:elements=8192:rounds=1", 8, "cache=16384");
  const std::vector<Spike> spikes = find_spikes(run.model(), 16, nullptr);
  EXPECT_EQ(spikes.size(), 8u * 128);
  constexpr std::uint64_t kMost = 1 + 8 * (2 + 2 + 3 + 3);
  for (const Spike& spike : spikes) {
    EXPECT_LE(spike.misses, kMost);
    EXPECT_GE(spike.misses, kMost - 4);
  }
  for (const char* array : {"stream.a", "stream.b", "stream.c"})
    EXPECT_EQ(run.cause_of(array), Cause::kConflict) << array;
  run.machine->release();
  // A quarter of the cache further.
  Simulation apart("stream:elements=8704:rounds=1", 8, "cache=16384");
  EXPECT_TRUE(find_spikes(apart.model(), 16, nullptr).empty());
  EXPECT_EQ(apart.cause_of("stream.a"), Cause::kCapacity);
}

// Item 19 of table 4.10: what computation hides of a miss is no apparent miss cycle
TEST(NumachineMachine, OverlapHidesMissCyclesFromTheApparentOnesOnly) {
  Simulation plain("water-spatial", 4);
  const std::uint64_t whole = plain.sum(&Truth::whole_miss_cycles);
  EXPECT_EQ(whole, plain.sum(&Truth::apparent_miss_cycles)) << "the R4400 hides nothing";
  plain.machine->release();
  Simulation hiding("water-spatial", 4, "overlap=40");
  EXPECT_LT(hiding.sum(&Truth::apparent_miss_cycles), hiding.sum(&Truth::whole_miss_cycles));
  EXPECT_GT(hiding.sum(&Truth::apparent_miss_cycles), 0u);
}

// Item 8 of table 4.10: informing memory operations with a TRIGGER pin
TEST(NumachineMachine, MissHandlersAreCalledWhileTheTriggerIsActive) {
  struct Seen {
    int asked = 0;
    int called = 0;
  } seen;
  const auto informed = [&seen](Model& model) {
    model.inform(
        {.trigger = [](void* owner, std::uint32_t,
                       const substrata_transaction&) { return ++static_cast<Seen*>(owner)->asked % 3 == 0; },
         .handler = [](void* owner, std::uint32_t,
                       const substrata_transaction&) { ++static_cast<Seen*>(owner)->called; },
         .owner = &seen});
  };
  Simulation run("radix:keys=4096:radix=64", 4, "", informed);
  EXPECT_GT(seen.called, 0);
  EXPECT_EQ(seen.called, seen.asked / 3);
  EXPECT_EQ(run.sum(&Truth::informed), static_cast<std::uint64_t>(seen.called));
}

// Section 3.3.2, two claims on external invalidation hits
TEST(Invalidations, HitsAreNeverFewerThanInvalidationMisses) {
  for (const char* spec : kSpecs) {
    Simulation run(spec, 16);
    EXPECT_GE(run.sum(&Truth::invalidation_hits), run.misses(MissType::kInvalidation)) << spec;
  }
}

}  // namespace
}  // namespace substrata::numachine::test
