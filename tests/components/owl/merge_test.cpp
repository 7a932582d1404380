// Capsules that give each publishing thread an instance of the module: what is merged is what one instance
// would have counted.
#include <substrata/result.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "feeding.hpp"
#include "owl/library.hpp"

namespace substrata::owl::test {
namespace {

constexpr int kThreads = 4;
constexpr uint64_t kEach = tests::kSanitized ? 20'000 : 100'000;

struct Detach {
  void operator()(substrata_owl_capsule* capsule) const { substrata_owl_detach(capsule); }
};
using Owned = std::unique_ptr<substrata_owl_capsule, Detach>;

Owned attach(const std::string& probe, const std::string& module, const std::string& registers,
             const std::string& name, uint32_t flags, uint64_t counters = 0) {
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = probe.c_str();
  options.module = module.c_str();
  options.registers = registers.c_str();
  options.name = name.c_str();
  options.ring_bytes = uint64_t{1} << 26;
  options.flags = flags;
  options.budget.counters = counters;
  substrata_owl_capsule* made = nullptr;
  EXPECT_EQ(substrata_owl_attach(&options, &made), 0) << substrata_owl_error();
  if (made != nullptr) {
    EXPECT_EQ(substrata_owl_start(made), 0) << substrata_owl_error();
  }
  return Owned(made);
}
// One with an instance for each thread, and one with a single instance.
std::pair<Owned, Owned> attach_both(const std::string& probe, const std::string& module,
                                    const std::string& registers, const std::string& name) {
  return {attach(probe, module, registers, name + "-apart", SUBSTRATA_OWL_PER_THREAD),
          attach(probe, module, registers, name + "-one", 0)};
}

uint64_t metric(const Owned& capsule, const char* name) {
  uint64_t value = 0;
  EXPECT_EQ(substrata_owl_read_metric(capsule.get(), name, &value), 0) << substrata_owl_error();
  return value;
}

substrata_owl_statistics statistics(const Owned& capsule) {
  auto out = client::sized<substrata_owl_statistics>();
  EXPECT_EQ(substrata_owl_read_statistics(capsule.get(), &out), 0);
  return out;
}

// Everything in the ring after the capsule wrote back.
std::vector<Packet> packets(const Owned& capsule) {
  EXPECT_EQ(substrata_owl_write_back(capsule.get()), 0);
  std::vector<Packet> out;
  substrata_owl_reader* reader = nullptr;
  EXPECT_EQ(substrata_owl_reader_open(substrata_owl_ring_path(capsule.get()), 0, &reader), 0);
  if (reader == nullptr) return out;
  std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
  substrata_owl_packet head{};
  while (substrata_owl_reader_peek(reader, &head, data.data(), data.size()) == 1) {
    out.push_back({head.sequence, head.stage, {data.begin(), data.begin() + head.bytes}});
    substrata_owl_reader_consume(reader);
  }
  substrata_owl_reader_close(reader);
  return out;
}

// The sums of packets of key, count and misses.
std::map<uint64_t, std::pair<uint64_t, uint64_t>> sums(const Owned& capsule) {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> out;
  for (const Packet& packet : packets(capsule)) {
    const std::vector<uint64_t> words = packet.words();
    EXPECT_EQ(words.size(), 3u);
    if (words.size() != 3) continue;
    out[words[0]].first += words[1];
    out[words[0]].second += words[2];
  }
  return out;
}

substrata_transaction transaction_of(int thread, uint64_t i, uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  substrata_transaction t{};
  t.time = i + 1;
  // Two draws prefer small blocks, so that some keys are frequent.
  t.address = ((state >> 33) % 300) * ((state >> 40) % 300) / 300 * 64 + (state >> 60);
  t.site = 0x1000 + static_cast<uint64_t>(thread);
  t.kind = (state >> 20) % 3 == 0 ? SUBSTRATA_WRITE : SUBSTRATA_READ;
  t.state = (state >> 24) % 5 == 0 ? SUBSTRATA_MISS : SUBSTRATA_HIT;
  t.size = 8;
  t.initiator = static_cast<uint16_t>(thread);
  return t;
}

// What the threads publish together.
std::map<uint64_t, std::pair<uint64_t, uint64_t>> exact() {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> out;
  for (int thread = 0; thread < kThreads; ++thread) {
    uint64_t state = static_cast<uint64_t>(thread) + 1;
    for (uint64_t i = 0; i < kEach; ++i) {
      const substrata_transaction t = transaction_of(thread, i, state);
      auto& [count, misses] = out[t.address / 64 * 64];
      ++count;
      misses += t.state == SUBSTRATA_MISS ? 1 : 0;
    }
  }
  return out;
}

// Four threads, each with a publisher of its own, publish at once; `meanwhile` is called until they are done.
template <typename Meanwhile>
void publish_at_once(uint32_t probe, const Meanwhile& meanwhile) {
  std::atomic<int> ready{0};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      substrata_publisher* publisher = nullptr;
      EXPECT_EQ(substrata_publisher_open(probe, 256, &publisher), 0);
      ++ready;
      while (ready.load() < kThreads) std::this_thread::yield();
      uint64_t state = static_cast<uint64_t>(thread) + 1;
      for (uint64_t i = 0; publisher != nullptr && i < kEach; ++i) {
        const substrata_transaction t = transaction_of(thread, i, state);
        substrata_publish(publisher, &t);
      }
      substrata_publisher_close(publisher);
      --running;
    });
  }
  while (running.load() != 0) {
    meanwhile();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  substrata_flush();
}
void publish_at_once(uint32_t probe) {
  publish_at_once(probe, [] {});
}

// OW-21
TEST(OwlPerThread, HistogramsOfFourThreadsSumToTheExactCountWhileTheyAreRead) {
  const uint32_t probe = add_probe("owl-merge.histogram");
  const auto [apart, single] =
      attach_both("owl-merge.histogram", "histogram", "counters=32", "merge-histogram");
  uint64_t last = 0;
  publish_at_once(probe, [&last, &capsule = apart] {
    const uint64_t now = metric(capsule, "ACCESSES");
    EXPECT_GE(now, last);
    last = now;
  });
  const auto expected = exact();
  EXPECT_EQ(metric(apart, "ACCESSES"), kThreads * kEach);
  EXPECT_EQ(metric(apart, "MISSES"), metric(single, "MISSES"));
  EXPECT_EQ(statistics(apart).events_seen, kThreads * kEach);
  EXPECT_EQ(sums(apart), expected);
  EXPECT_EQ(sums(single), expected);
  EXPECT_EQ(statistics(apart).dropped, 0u);
  EXPECT_EQ(metric(apart, "COUNTERS_USED"), 0u);
}

TEST(OwlPerThread, MissRatesOfFourThreadsSumToTheExactCount) {
  const uint32_t probe = add_probe("owl-merge.missrate");
  const auto [apart, single] = attach_both("owl-merge.missrate", "missrate", "counters=32", "merge-missrate");
  publish_at_once(probe);
  EXPECT_EQ(metric(apart, "ACCESSES"), kThreads * kEach);
  EXPECT_EQ(sums(apart), sums(single));
}

TEST(OwlPerThread, CountersAndBinsAreThoseOfOneInstance) {
  const uint32_t probe = add_probe("owl-merge.plain");
  const char* const cases[][2] = {
      {"counter", "kind=1"}, {"counter", ""}, {"bins", "bins=64:width=8"}, {"bins", "bins=4096"}};
  std::vector<Owned> apart;
  std::vector<Owned> single;
  for (size_t i = 0; i < std::size(cases); ++i) {
    const std::string name = "merge-plain-" + std::to_string(i);
    apart.push_back(
        attach("owl-merge.plain", cases[i][0], cases[i][1], name + "-apart", SUBSTRATA_OWL_PER_THREAD));
    single.push_back(attach("owl-merge.plain", cases[i][0], cases[i][1], name + "-one", 0));
  }
  publish_at_once(probe);
  for (size_t i = 0; i < 2; ++i) {
    for (const char* const name : {"TRANSACTIONS", "BYTES", "READS", "WRITES", "MISSES"})
      EXPECT_EQ(metric(apart[i], name), metric(single[i], name)) << name;
  }
  EXPECT_EQ(metric(apart[1], "TRANSACTIONS"), kThreads * kEach);
  for (size_t i = 2; i < 4; ++i) {
    for (const char* const name : {"COUNTED", "SATURATED", "BINS_USED"})
      EXPECT_EQ(metric(apart[i], name), metric(single[i], name)) << name;
    std::map<uint64_t, uint64_t> bins[2];
    for (const Packet& packet : packets(apart[i])) bins[0][packet.words().at(0)] += packet.words().at(1);
    for (const Packet& packet : packets(single[i])) bins[1][packet.words().at(0)] += packet.words().at(1);
    EXPECT_EQ(bins[0], bins[1]);
  }
  EXPECT_GT(metric(single[2], "SATURATED"), 0u);
}

TEST(OwlPerThread, HeavyHittersKeepTheirBoundsAndAreExactWithEnoughCounters) {
  const uint32_t probe = add_probe("owl-merge.heavy");
  const Owned few =
      attach("owl-merge.heavy", "heavy", "counters=16", "merge-heavy-few", SUBSTRATA_OWL_PER_THREAD);
  const Owned enough =
      attach("owl-merge.heavy", "heavy", "counters=512", "merge-heavy-enough", SUBSTRATA_OWL_PER_THREAD);
  publish_at_once(probe, [&] { static_cast<void>(metric(few, "GREATEST")); });
  const auto expected = exact();
  EXPECT_EQ(metric(few, "TRANSACTIONS"), kThreads * kEach);
  const std::vector<Packet> bounded = packets(few);
  EXPECT_EQ(bounded.size(), 16u);
  for (const Packet& packet : bounded) {
    const std::vector<uint64_t> words = packet.words();
    const auto found = expected.find(words.at(0));
    const uint64_t is = found != expected.end() ? found->second.first : 0;
    EXPECT_GE(words.at(1), is);
    EXPECT_LE(words.at(1) - words.at(2), is);
  }
  std::map<uint64_t, uint64_t> all;
  for (const Packet& packet : packets(enough)) {
    EXPECT_EQ(packet.words().at(2), 0u);
    all[packet.words().at(0)] = packet.words().at(1);
  }
  EXPECT_EQ(all.size(), expected.size());
  for (const auto& [key, counts] : expected) EXPECT_EQ(all[key], counts.first);
}

TEST(OwlPerThread, TheLogHoldsEveryTransactionOnce) {
  const uint32_t probe = add_probe("owl-merge.log");
  const Owned apart = attach("owl-merge.log", "log", "", "merge-log-apart", SUBSTRATA_OWL_PER_THREAD);
  publish_at_once(probe);
  EXPECT_EQ(metric(apart, "LOGGED"), kThreads * kEach);
  std::vector<uint64_t> times[kThreads];
  for (const Packet& packet : packets(apart)) {
    EXPECT_EQ(substrata_owl_expand_log(
                  packet.data.data(), packet.data.size(),
                  [](void* owner, const substrata_transaction* t) {
                    static_cast<std::vector<uint64_t>*>(owner)[t->initiator % kThreads].push_back(t->time);
                  },
                  times),
              0);
  }
  for (const std::vector<uint64_t>& thread : times) {
    ASSERT_EQ(thread.size(), kEach);
    std::vector<bool> seen(kEach + 1);
    for (const uint64_t time : thread) {
      ASSERT_TRUE(time >= 1 && time <= kEach && !seen[time]);
      seen[time] = true;
    }
  }
}

TEST(OwlPerThread, EveryThreadsViolationsAreSignalledAndCounted) {
  const uint32_t probe = add_probe("owl-merge.guard");
  const auto [apart, single] =
      attach_both("owl-merge.guard", "guard", "low0=0:high0=4095:deny0=2", "merge-guard");
  publish_at_once(probe);
  EXPECT_EQ(metric(apart, "CHECKED"), kThreads * kEach);
  EXPECT_EQ(metric(apart, "VIOLATIONS"), metric(single, "VIOLATIONS"));
  EXPECT_EQ(statistics(apart).signals, metric(single, "VIOLATIONS"));
  EXPECT_GE(statistics(apart).cost.comparators, 2 * statistics(single).cost.comparators);
}

TEST(OwlPerThread, ABudgetForTwoInstancesMakesTwoAndStillCountsExactly) {
  const uint32_t probe = add_probe("owl-merge.budget");
  const Owned apart =
      attach("owl-merge.budget", "histogram", "counters=32", "merge-budget", SUBSTRATA_OWL_PER_THREAD, 128);
  publish_at_once(probe);
  EXPECT_EQ(statistics(apart).cost.counters, 128u);
  EXPECT_EQ(statistics(apart).events_seen, kThreads * kEach);
  EXPECT_EQ(metric(apart, "ACCESSES"), kThreads * kEach);
  EXPECT_EQ(sums(apart), exact());
}

// A module from before there was merge: its description ends with `context`. Its one instance learns when
// two calls overlap.
struct Old {
  std::atomic<int> inside{0};
  std::atomic<uint64_t> seen{0};
};
std::atomic<int> old_instances{0};
std::atomic<int> old_overlaps{0};
constexpr Metric kOldMetrics[] = {{"SEEN", "transactions", "", 0, 0}};
Module old_module() {
  Module module{};
  module.struct_size = offsetof(Module, merge);
  module.abi = SUBSTRATA_OWL_MODULE_ABI;
  module.name = "merge-old";
  module.summary = "counts";
  module.packets = "";
  module.metrics = kOldMetrics;
  module.metric_count = 1;
  module.cost = [](const Module*, const uint64_t*, Cost* out) { *out = {}; };
  module.create = [](const Module*, const uint64_t*, const substrata_owl_services*,
                     void** instance) -> const char* {
    *instance = new Old;
    ++old_instances;
    return nullptr;
  };
  module.destroy = [](void* instance) { delete static_cast<Old*>(instance); };
  module.observe = [](void* instance, const Transaction*, size_t count) {
    Old& self = *static_cast<Old*>(instance);
    if (self.inside.fetch_add(1) != 0) ++old_overlaps;
    self.seen += count;
    --self.inside;
  };
  module.read = [](void* instance, uint64_t* metrics) { metrics[0] = static_cast<Old*>(instance)->seen; };
  // What stands where an older module's memory has something else.
  module.merge = [](void*, void*) { ADD_FAILURE() << "an older module has no merge"; };
  return module;
}

TEST(OwlPerThread, AModuleWithoutMergeKeepsItsOneInstance) {
  static const Module module = old_module();
  ASSERT_EQ(substrata_owl_add(&module), 0) << substrata_owl_error();
  const uint32_t probe = add_probe("owl-merge.old");
  const Owned capsule = attach("owl-merge.old", "merge-old", "", "merge-old", SUBSTRATA_OWL_PER_THREAD);
  const int before = old_instances;
  publish_at_once(probe);
  EXPECT_EQ(metric(capsule, "SEEN"), kThreads * kEach);
  EXPECT_EQ(old_instances, before);
  EXPECT_EQ(old_overlaps, 0);
}

TEST(OwlPerThread, UnknownFlagsAreRefused) {
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = "owl-merge.*";
  options.module = "counter";
  options.flags = 2;
  substrata_owl_capsule* made = nullptr;
  EXPECT_LT(substrata_owl_attach(&options, &made), 0);
  EXPECT_NE(std::string(substrata_owl_error()).find("flags"), std::string::npos);
}

}  // namespace
}  // namespace substrata::owl::test
