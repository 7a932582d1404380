// The substrate "memory" through its table: events and qualifiers, eventsets on live feeds, its machine on
// workloads, traces of it.
#include <gtest/gtest.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache_oracle.hpp"
#include "entry_points.hpp"
#include "support/opened_substrate.hpp"
#include "support/temporary_folder.hpp"
#include "support/transactions.hpp"

namespace substrata::memory::test {
namespace {

// The opened substrate.
using Memory = tests::SubstrateTest<substrata_entry_memory>;
using Counting = tests::CountedSet;

// A live program's thread as the access tracer would publish it.
class LiveCpu {
 public:
  explicit LiveCpu(uint32_t cpu) : cpu_(cpu) {
    const std::string name = "mem.cpu" + std::to_string(cpu) + ".accesses";
    EXPECT_EQ(client::feed::Source::generated("test-program", "the test")
                  .try_publisher(name.c_str(), "", 256, &publisher_),
              0);
  }
  void access(uint16_t kind, uint64_t address, uint32_t size) {
    substrata_transaction t = tests::access(kind, address, size, ++time_);
    t.initiator = cpu_;
    t.phase = 3;
    publisher_.publish(t);
  }

 private:
  uint32_t cpu_;
  uint64_t time_ = 0;
  client::feed::Publisher publisher_;
};

TEST_F(Memory, ListsItsEventsAsModelledAndQualifiedOnesOnceAsked) {
  ASSERT_EQ(table_.event_count(device_), kCountFields);
  for (uint32_t i = 0; i < kCountFields; ++i) {
    Event listed;
    ASSERT_TRUE(table_.event_at(device_, i, &listed).ok());
    EXPECT_NE(listed.flags & kEventModelled, 0u) << listed.name;
    EXPECT_EQ(event(listed.name), i);
  }
  const uint32_t index = event("L1_MISSES:l1=64K:cpu=2");
  EXPECT_EQ(index, kCountFields);
  EXPECT_EQ(event("L1_MISSES:cpu=2:l1=65536"), index);
  Event listed;
  ASSERT_TRUE(table_.event_at(device_, index, &listed).ok());
  EXPECT_STREQ(listed.name, "L1_MISSES:cpu=2:l1=65536");
  EXPECT_EQ(table_.event_at(device_, index + 1, &listed).code, Code::kNoEvent);
}

TEST_F(Memory, RefusesWhatCannotBeBuilt) {
  EXPECT_EQ(refusal("L3_MISSES").code, Code::kNoEvent);
  EXPECT_EQ(refusal("L1_MISSES:l3=5").code, Code::kAttribute);
  EXPECT_EQ(refusal("L1_MISSES:cpu=1024").code, Code::kAttribute);
  EXPECT_EQ(refusal("L1_MISSES:l1=33000").code, Code::kAttribute);
  EXPECT_NE(std::string(refusal("L1_MISSES:l1=33000").note).find("power of two of sets"), std::string::npos);
  EXPECT_EQ(refusal("L1_MISSES:line=48").code, Code::kAttribute);
  EXPECT_EQ(table_.event_count(device_), kCountFields) << "a refused name is not kept";
}

TEST_F(Memory, CountsLiveAccessesLikeTheOracleByCpuAndGeometry) {
  struct Wanted {
    std::string qualifiers;
    Geometry geometry;
  };
  const Wanted wanted[] = {
      {"", {}},
      {":l1=512:l1_ways=2:l2=4096:l2_ways=4:line=32", {512, 2, 4096, 4, 32, false}},
      {":l1=512:l1_ways=2:l2=1024:l2_ways=4:line=32:inclusive=1", {512, 2, 1024, 4, 32, true}},
  };
  const char* const kNames[] = {
      "ACCESSES",          "READS",     "WRITES",    "ATOMICS",        "BYTES",
      "REFERENCES",        "L1_MISSES", "L2_MISSES", "L1_WRITE_BACKS", "L2_WRITE_BACKS",
      "BACK_INVALIDATIONS"};
  std::vector<uint32_t> events;
  for (const Wanted& each : wanted) {
    for (const char* scope : {"", ":cpu=0", ":cpu=7"}) {
      for (const char* name : kNames) events.push_back(event(name + each.qualifiers + scope));
    }
  }
  Counting set(table_, device_, events);
  LiveCpu cpu0(0);
  LiveCpu cpu7(7);
  cpu0.access(SUBSTRATA_READ, 64, 8);  // before the start: not counted
  set.start();
  std::map<std::pair<size_t, uint32_t>, CacheOracle> oracles;
  for (size_t i = 0; i < std::size(wanted); ++i) {
    oracles.emplace(std::pair(i, 0u), wanted[i].geometry);
    oracles.emplace(std::pair(i, 7u), wanted[i].geometry);
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 6000; ++i) {
    const uint32_t cpu = random() % 3 == 0 ? 7 : 0;
    const uint16_t kinds[] = {SUBSTRATA_READ, SUBSTRATA_READ, SUBSTRATA_WRITE, SUBSTRATA_ATOMIC,
                              SUBSTRATA_LOCK};
    const uint16_t kind = kinds[random() % 5];
    const uint64_t address = 0x10000 + random() % (random() % 2 == 0 ? 600 : 8192);
    const uint32_t size = 1u << random() % 6;
    (cpu == 0 ? cpu0 : cpu7).access(kind, address, size);
    if (kind == SUBSTRATA_LOCK) continue;
    for (size_t k = 0; k < std::size(wanted); ++k) {
      CacheOracle& oracle = oracles.at({k, cpu});
      const bool write = kind != SUBSTRATA_READ;
      oracle.access(address, size, write);
      ++oracle.counts.accesses;
      oracle.counts.reads += kind != SUBSTRATA_WRITE ? 1 : 0;
      oracle.counts.writes += write ? 1 : 0;
      oracle.counts.atomics += kind == SUBSTRATA_ATOMIC ? 1 : 0;
      oracle.counts.bytes += size;
    }
    if (i % 1000 == 500) set.read();  // a reader that drains rings in between changes nothing
  }
  const std::vector<int64_t> values = set.read();
  const auto fields = [](const Counts& c) {
    return std::vector<uint64_t>{
        c.accesses,          c.reads,     c.writes,    c.atomics,        c.bytes,
        c.references,        c.l1_misses, c.l2_misses, c.l1_write_backs, c.l2_write_backs,
        c.back_invalidations};
  };
  size_t at = 0;
  for (size_t k = 0; k < std::size(wanted); ++k) {
    const std::vector<uint64_t> zero = fields(oracles.at({k, 0}).counts);
    const std::vector<uint64_t> seven = fields(oracles.at({k, 7}).counts);
    for (int scope = 0; scope < 3; ++scope) {
      for (size_t f = 0; f < kCountFields; ++f, ++at) {
        const uint64_t expected = scope == 0 ? zero[f] + seven[f] : scope == 1 ? zero[f] : seven[f];
        EXPECT_EQ(values[at], static_cast<int64_t>(expected))
            << kNames[f] << wanted[k].qualifiers << " scope " << scope;
      }
    }
  }
  set.stop();
}

TEST_F(Memory, KeepsAStoppedSetAndCountsResetsAndWrites) {
  Counting set(table_, device_, {event("ACCESSES")});
  LiveCpu cpu(3);
  set.start();
  for (int i = 0; i < 10; ++i) cpu.access(SUBSTRATA_READ, 0, 4);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{10}));
  set.reset();
  cpu.access(SUBSTRATA_READ, 0, 4);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{1}));
  set.write({100});
  cpu.access(SUBSTRATA_READ, 0, 4);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{101}));
  set.stop();
  cpu.access(SUBSTRATA_READ, 0, 4);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{101}));
  set.start();
  EXPECT_EQ(set.read(), (std::vector<int64_t>{0}));
  set.stop();
}

TEST_F(Memory, CountsForSetsThatOverlap) {
  Counting one(table_, device_, {event("ACCESSES")});
  Counting two(table_, device_, {event("ACCESSES"), event("L1_MISSES:cpu=4")});
  LiveCpu cpu(4);
  one.start();
  cpu.access(SUBSTRATA_READ, 0, 4);
  two.start();
  cpu.access(SUBSTRATA_READ, 4096, 4);
  one.stop();
  cpu.access(SUBSTRATA_READ, 8192, 4);
  EXPECT_EQ(one.read(), (std::vector<int64_t>{2}));
  EXPECT_EQ(two.read(), (std::vector<int64_t>{2, 2}));
  two.stop();
}

TEST_F(Memory, CountsThreadsThatPublishWhileAnotherReads) {
  constexpr uint32_t kThreads = 3;
  constexpr int64_t kEach = 20000;
  Counting set(table_, device_, {event("ACCESSES"), event("ACCESSES:cpu=11")});
  set.start();
  std::vector<std::thread> threads;
  for (uint32_t id = 0; id < kThreads; ++id) {
    threads.emplace_back([id] {
      LiveCpu cpu(10 + id);
      for (int64_t i = 0; i < kEach; ++i) cpu.access(SUBSTRATA_WRITE, static_cast<uint64_t>(i) * 8, 8);
    });
  }
  int64_t previous = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t now = set.read()[0];
    EXPECT_GE(now, previous);
    previous = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(set.read(), (std::vector<int64_t>{kThreads * kEach, kEach}));
  set.stop();
}

// Everything that passed, by the probe point's name.
struct Seen {
  explicit Seen(const char* patterns) {
    EXPECT_EQ(observer.try_create<&Seen::take>(*this), 0);
    EXPECT_EQ(observer.try_subscribe(patterns), 0);
  }
  void take(const substrata_transaction* batch, size_t count) {
    auto info = client::sized<substrata_probe_info>();
    ASSERT_EQ(substrata_probe_at(batch[0].probe, &info), 0);
    auto& stream = streams[info.name];
    stream.insert(stream.end(), batch, batch + count);
  }
  std::map<std::string, std::vector<substrata_transaction>> streams;
  client::feed::Observer observer;
};

TEST_F(Memory, FollowsALiveProgramAndPublishesTheTrafficBetweenItsLevels) {
  auto options = client::sized<substrata_run_options>();
  options.parameters = "l1=512:l1_ways=2:l2=1024:l2_ways=4:line=32:inclusive=1";
  substrata_following* following = nullptr;
  ASSERT_EQ(substrata_follow("memory", &options, &following), 0) << substrata_feed_error();
  Seen seen("mem.cpu5.l*");
  CacheOracle oracle({512, 2, 1024, 4, 32, true});
  LiveCpu cpu(5);
  std::mt19937_64 random(9);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t address = random() % 4096;
    const bool write = random() % 2 == 0;
    cpu.access(write ? SUBSTRATA_WRITE : SUBSTRATA_READ, address, 4);
    oracle.access(address, 4, write);
  }
  substrata_unfollow(following);
  std::vector<std::string> wanted_l1;
  std::vector<std::string> wanted_l2;
  for (const std::string& each : oracle.traffic) (each[1] == '1' ? wanted_l1 : wanted_l2).push_back(each);
  const auto spoken = [](const std::vector<substrata_transaction>& stream, const std::string& level) {
    std::vector<std::string> all;
    for (const substrata_transaction& t : stream) {
      EXPECT_EQ(t.size, 32u);
      EXPECT_EQ(t.initiator, 5u);
      EXPECT_EQ(t.phase, 3u);
      EXPECT_NE(t.flags & SUBSTRATA_FLAG_MODELLED, 0);
      const std::string what = t.kind == SUBSTRATA_WRITE_BACK   ? " write-back "
                               : t.kind == SUBSTRATA_INVALIDATE ? " invalidate "
                               : level == "l2"                  ? " fill "
                               : t.state == SUBSTRATA_HIT       ? " fill, hit "
                                                                : " fill, miss ";
      all.push_back(level + what + std::to_string(t.address));
    }
    return all;
  };
  EXPECT_EQ(spoken(seen.streams["mem.cpu5.l1-l2"], "l1"), wanted_l1);
  EXPECT_EQ(spoken(seen.streams["mem.cpu5.l2-memory"], "l2"), wanted_l2);
  options.parameters = "l1=1000";
  EXPECT_EQ(substrata_follow("memory", &options, &following), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("first level"), std::string::npos)
      << substrata_feed_error();
}

// FE-8, FE-9
TEST_F(Memory, RunsAWorkloadWhoseTraceReplaysToTheSameCounts) {
  const substrata::tests::TemporaryFolder folder;
  const std::string trace = folder.file("radix.trace");
  Counting set(table_, device_,
               {event("ACCESSES"), event("REFERENCES"), event("L1_MISSES"), event("L2_MISSES"),
                event("L1_WRITE_BACKS"), event("L2_WRITE_BACKS"), event("L1_MISSES:cpu=1")});
  auto options = client::sized<substrata_run_options>();
  options.processes = 2;
  options.parameters = "l1=4k:l2=64k";
  options.record = trace.c_str();
  options.record_probes = "mem.*.accesses";
  options.program = 6;
  auto result = client::sized<substrata_run_result>();
  Seen seen("mem.*");
  set.start();
  ASSERT_EQ(substrata_run("memory", "radix:keys=4096", &options, &result), 0) << substrata_feed_error();
  const std::vector<int64_t> live = set.read();
  EXPECT_EQ(result.correct, 1u) << result.message;
  EXPECT_GT(result.simulated_ticks, 0u);
  EXPECT_GT(live[0], 4096 * 2);
  EXPECT_EQ(static_cast<size_t>(live[0]),
            seen.streams["mem.cpu0.accesses"].size() + seen.streams["mem.cpu1.accesses"].size());
  int64_t fills = 0;
  int64_t memory_fills = 0;
  int64_t write_backs = 0;
  uint64_t passed = 0;
  for (const auto& [name, stream] : seen.streams) {
    passed += stream.size();
    for (const substrata_transaction& t : stream) {
      EXPECT_EQ(t.program, 6);
      fills += name.ends_with("l1-l2") && t.kind == SUBSTRATA_FILL ? 1 : 0;
      memory_fills += name.ends_with("l2-memory") && t.kind == SUBSTRATA_FILL ? 1 : 0;
      write_backs += name.ends_with("l2-memory") && t.kind == SUBSTRATA_WRITE_BACK ? 1 : 0;
    }
  }
  EXPECT_EQ(result.transactions, passed);
  EXPECT_EQ(live[2], fills) << "events without cache qualifiers follow the machine's own caches";
  EXPECT_EQ(live[3], memory_fills);
  EXPECT_EQ(live[5], write_backs);

  // The same machine over the recorded accesses.
  substrata_following* following = nullptr;
  ASSERT_EQ(substrata_follow("memory", &options, &following), 0) << substrata_feed_error();
  set.reset();
  ASSERT_EQ(substrata_replay(trace.c_str(), nullptr, nullptr), 0) << substrata_feed_error();
  EXPECT_EQ(set.read(), live);
  substrata_unfollow(following);
  set.stop();
}

// FE-8
TEST_F(Memory, RecordsWhatItsMachinePublishesWhenNoProbePointIsNamed) {
  const substrata::tests::TemporaryFolder folder;
  const std::string file = folder.file("stream.trace");
  auto options = client::sized<substrata_run_options>();
  options.processes = 2;
  options.record = file.c_str();
  auto result = client::sized<substrata_run_result>();
  ASSERT_EQ(substrata_run("memory", "radix:keys=1024", &options, &result), 0) << substrata_feed_error();
  substrata_trace* trace = nullptr;
  ASSERT_EQ(substrata_trace_open(file.c_str(), &trace), 0) << substrata_feed_error();
  auto info = client::sized<substrata_trace_info>();
  substrata_trace_describe(trace, &info);
  EXPECT_GT(info.transactions, 0u);
  EXPECT_EQ(info.transactions, result.transactions);
  substrata_trace_close(trace);
}

// A trace of nothing stayed, which its reader took for a whole run.
TEST_F(Memory, LeavesNoTraceOfARunThatIsRefused) {
  const substrata::tests::TemporaryFolder folder;
  const std::string file = folder.file("refused.trace");
  auto options = client::sized<substrata_run_options>();
  options.parameters = "l1=banana";
  options.record = file.c_str();
  EXPECT_EQ(substrata_run("memory", "radix:keys=1024", &options, nullptr), -1);
  EXPECT_FALSE(std::filesystem::exists(file));
}

// As root, a refused run with --record /dev/null would have deleted the device.
TEST_F(Memory, LeavesWhatIsNoFileWhereARunIsRefused) {
  const substrata::tests::TemporaryFolder folder;
  const std::string link = folder.file("nowhere");
  std::filesystem::create_symlink("/dev/null", link);
  auto options = client::sized<substrata_run_options>();
  options.parameters = "l1=banana";
  options.record = link.c_str();
  EXPECT_EQ(substrata_run("memory", "radix:keys=1024", &options, nullptr), -1);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::exists("/dev/null"));
}

TEST_F(Memory, RefusesARunThatIsWronglyAskedFor) {
  auto options = client::sized<substrata_run_options>();
  options.parameters = "l1=banana";
  EXPECT_EQ(substrata_run("memory", "radix:keys=4096", &options, nullptr), -1);
  EXPECT_NE(std::string(substrata_feed_error()).find("banana"), std::string::npos) << substrata_feed_error();
  EXPECT_EQ(substrata_run("memory", "no-such-workload", nullptr, nullptr), -7);
}

}  // namespace
}  // namespace substrata::memory::test
