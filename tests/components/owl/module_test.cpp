// The built-in modules against slow, simple computations of the same thing.
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>

#include "feeding.hpp"
#include "support/sanitized.hpp"

namespace substrata::owl::test {
namespace {

// A stream with locality: mostly around a moving place.
std::vector<uint64_t> addresses_with_locality(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> out;
  uint64_t base = 1 << 20;
  for (int i = 0; i < count; ++i) {
    if (random() % 200 == 0) base = (1 << 20) + random() % (1 << 18);
    out.push_back(base + random() % 2048);
  }
  return out;
}

TEST(OwlHistogram, EvictsTheLeastRecentlyUsedCounterAsAnOracleDoes) {  // OW-8
  Feed feed("owl.test.histogram");
  TestCapsule capsule(feed.name(), "histogram", "counters=8:block=256", 1 << 24);
  const auto addresses = addresses_with_locality(kMany, 5);
  std::list<std::pair<uint64_t, uint64_t>> order;  // most recent first
  std::vector<std::pair<uint64_t, uint64_t>> expected;
  for (const uint64_t address : addresses) {
    feed.access(address);
    const uint64_t block = address & ~uint64_t{255};
    const auto found =
        std::find_if(order.begin(), order.end(), [&](const auto& e) { return e.first == block; });
    if (found != order.end()) {
      ++found->second;
      order.splice(order.begin(), order, found);
    } else {
      if (order.size() == 8) {
        expected.push_back(order.back());
        order.pop_back();
      }
      order.emplace_front(block, 1);
    }
  }
  while (!order.empty()) {
    expected.push_back(order.back());
    order.pop_back();
  }
  const auto packets = capsule.drain();
  ASSERT_EQ(packets.size(), expected.size());
  for (size_t i = 0; i < packets.size(); ++i) {
    const auto words = packets[i].words();
    ASSERT_EQ(words[0], expected[i].first) << i;
    ASSERT_EQ(words[1], expected[i].second) << i;
  }
  EXPECT_EQ(capsule.metric("ACCESSES"), addresses.size());
  EXPECT_EQ(capsule.statistics().packets_injected, packets.size());
  EXPECT_EQ(capsule.statistics().dropped, 0u);
}

TEST(OwlHistogram, SumsEqualAnExactCountWithEveryNumberOfCounters) {  // OW-8
  const auto addresses = addresses_with_locality(kMany / 4, 6);
  for (const int counters : {1, 2, 3, 32, 64, 128, 1000}) {
    Feed feed("owl.test.sums");
    TestCapsule capsule(feed.name(), "histogram", "counters=" + std::to_string(counters) + ":block=64",
                        1 << 24);
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> exact, sums;
    for (size_t i = 0; i < addresses.size(); ++i) {
      const bool miss = i % 7 == 0;
      feed.access(addresses[i], SUBSTRATA_FILL, miss ? SUBSTRATA_MISS : SUBSTRATA_HIT);
      ++exact[addresses[i] & ~uint64_t{63}].first;
      exact[addresses[i] & ~uint64_t{63}].second += miss ? 1 : 0;
    }
    for (const Packet& packet : capsule.drain()) {
      const auto words = packet.words();
      sums[words[0]].first += words[1];
      sums[words[0]].second += words[2];
    }
    EXPECT_EQ(sums, exact) << counters;
  }
}

TEST(OwlBins, CountsByTheChosenFieldAndSaturates) {
  Feed feed("owl.test.bins");
  TestCapsule capsule(feed.name(), "bins", "bins=16:key=4:width=3");
  for (int i = 0; i < 20; ++i) feed.access(0, SUBSTRATA_READ, 0, 17);
  for (int i = 0; i < 5; ++i) feed.access(0, SUBSTRATA_READ, 0, 2);
  std::map<uint64_t, uint64_t> bins;
  for (const Packet& packet : capsule.drain()) bins[packet.words()[0]] = packet.words()[1];
  EXPECT_EQ(bins, (std::map<uint64_t, uint64_t>{{1, 7}, {2, 5}}));
  EXPECT_EQ(capsule.metric("SATURATED"), 13u);
}

TEST(OwlBins, SignalEachIncrementAboveTheThreshold) {  // OW-13
  Feed feed("owl.test.threshold");
  TestCapsule capsule(feed.name(), "bins", "bins=16:key=4:threshold=3");
  std::vector<uint32_t> signalled;
  substrata_owl_on_signal(
      capsule.get(),
      [](void* owner, const substrata_transaction*, uint32_t bin) {
        static_cast<std::vector<uint32_t>*>(owner)->push_back(bin);
      },
      &signalled);
  for (int i = 0; i < 5; ++i) feed.access(0, SUBSTRATA_READ, 0, 17);
  for (int i = 0; i < 3; ++i) feed.access(0, SUBSTRATA_READ, 0, 2);
  static_cast<void>(capsule.drain());
  EXPECT_EQ(signalled, (std::vector<uint32_t>{1, 1}));
}

TEST(OwlMissRate, PairsAccessesWithFillsOfEachBlock) {
  Feed feed("owl.test.missrate");
  TestCapsule capsule(feed.name(), "missrate", "counters=64:block=64");
  for (int i = 0; i < 10; ++i) feed.access(64 + static_cast<uint64_t>(i));
  feed.access(64, SUBSTRATA_FILL);
  feed.access(128);
  feed.access(128, SUBSTRATA_FILL);
  feed.access(128, SUBSTRATA_WRITE_BACK);
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> rates;
  for (const Packet& p : capsule.drain()) rates[p.words()[0]] = {p.words()[1], p.words()[2]};
  EXPECT_EQ(rates, (std::map<uint64_t, std::pair<uint64_t, uint64_t>>{{64, {10, 1}}, {128, {1, 1}}}));
}

using Signals = std::vector<std::pair<uint64_t, uint32_t>>;
// Every signal of the module from now on, with this field of what caused it, and the reason.
template <uint64_t substrata_transaction::*kField>
void keep_signals(TestCapsule& capsule, Signals* signals) {
  substrata_owl_on_signal(
      capsule.get(),
      [](void* owner, const substrata_transaction* cause, uint32_t reason) {
        static_cast<Signals*>(owner)->emplace_back(cause->*kField, reason);
      },
      signals);
}

TEST(OwlGuard, SignalsOnTheViolatingAccess) {  // OW-10
  Feed feed("owl.test.guard");
  TestCapsule capsule(feed.name(), "guard",
                      "low0=0x1000:high0=0x1fff:deny0=2:low1=0x3000:high1=0x3007:deny1=3:within_high=0xffff");
  Signals signalled;
  keep_signals<&substrata_transaction::address>(capsule, &signalled);
  feed.access(0x1800, SUBSTRATA_READ);
  feed.access(0xffc, SUBSTRATA_WRITE, 0, 4);
  feed.access(0xffc, SUBSTRATA_WRITE, 0, 8);  // reaches into the range
  feed.access(0x1fff, SUBSTRATA_ATOMIC, 0, 1);
  feed.access(0x3000, SUBSTRATA_READ);
  feed.access(0x2fff, SUBSTRATA_READ, 0, 1);
  feed.access(0x10000, SUBSTRATA_READ, 0, 1);
  substrata_flush();
  const Signals expected{{0xffc, 0}, {0x1fff, 0}, {0x3000, 1}, {0x10000, 4}};
  EXPECT_EQ(signalled, expected);
  EXPECT_EQ(capsule.metric("VIOLATIONS"), 4u);
  EXPECT_EQ(capsule.metric("CHECKED"), 7u);
  EXPECT_EQ(capsule.statistics().signals, 4u);
}

TEST(OwlGuard, SignalsInTheAccessingThreadWithTheDeliveryAndNotAtTheNextFlush) {  // OW-10
  client::feed::Publisher publisher;
  ASSERT_EQ(publisher.try_open(add_probe("owl.test.guard.now"), 0), 0);
  TestCapsule capsule("owl.test.guard.now", "guard", "low0=0x1000:high0=0x1fff:deny0=2");
  std::vector<std::thread::id> signalled;
  substrata_owl_on_signal(
      capsule.get(),
      [](void* owner, const substrata_transaction*, uint32_t) {
        static_cast<std::vector<std::thread::id>*>(owner)->push_back(std::this_thread::get_id());
      },
      &signalled);
  substrata_transaction t{};
  t.address = 0x1800;
  t.kind = SUBSTRATA_WRITE;
  t.size = 8;
  publisher.publish(t);
  EXPECT_TRUE(signalled.empty()) << "it waits for its batch";
  publisher.deliver();
  EXPECT_EQ(signalled, std::vector{std::this_thread::get_id()});
}

TEST(OwlGuard, SignalsOnAValueOutsideItsBounds) {
  Feed feed("owl.test.guard-values");
  TestCapsule capsule(feed.name(), "guard",
                      "values_low=0x1000:values_high=0x1fff:value_low=10:value_high=20");
  Signals signalled;
  keep_signals<&substrata_transaction::detail>(capsule, &signalled);
  feed.value(0x1000, 10);
  feed.value(0x1000, 9);
  feed.value(0x1ff8, 21, SUBSTRATA_READ);
  feed.value(0x2000, 21);                      // elsewhere
  feed.access(0x1000, SUBSTRATA_WRITE, 0, 8);  // its value is not known
  substrata_flush();
  EXPECT_EQ(signalled, (Signals{{9, 5}, {21, 5}}));
  EXPECT_EQ(capsule.metric("VIOLATIONS"), 2u);
}

TEST(OwlBins, CountValues) {
  Feed feed("owl.test.bins-values");
  TestCapsule capsule(feed.name(), "bins", "bins=16:key=5");
  for (const uint64_t value : {3, 3, 3, 9}) feed.value(0, value);
  std::map<uint64_t, uint64_t> bins;
  for (const Packet& packet : capsule.drain()) bins[packet.words()[0]] = packet.words()[1];
  EXPECT_EQ(bins, (std::map<uint64_t, uint64_t>{{3, 3}, {9, 1}}));
}

// 4,096 pages, of which one is counted in.
TEST(OwlBins, TakeNoMemoryOfTheSystemWhereNothingIsCounted) {
  if (tests::kThreadSanitizer) GTEST_SKIP() << "its allocator writes the memory that calloc gives";
  Feed feed("owl.test.bins-untouched");
  const auto faults = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  const long before = faults();
  TestCapsule capsule(feed.name(), "bins", "bins=2097152:key=5");
  feed.value(0, 7);
  EXPECT_EQ(capsule.drain().size(), 1u);
  EXPECT_LT(faults() - before, 2000);
}

TEST(OwlSampler, TakesEveryNthTransactionExactly) {
  Feed feed("owl.test.sampler");
  TestCapsule capsule(feed.name(), "sampler", "period=7");
  for (uint64_t i = 1; i <= 1000; ++i) feed.access(i);
  const auto packets = capsule.drain();
  ASSERT_EQ(packets.size(), 1000u / 7);
  for (size_t i = 0; i < packets.size(); ++i) {
    substrata_transaction t{};
    ASSERT_EQ(packets[i].data.size(), sizeof t);
    std::memcpy(&t, packets[i].data.data(), sizeof t);
    EXPECT_EQ(t.address, (i + 1) * 7);
  }
}

TEST(OwlReuse, DistancesEqualThoseOfAStack) {  // OW-22
  Feed feed("owl.test.reuse");
  TestCapsule capsule(feed.name(), "reuse", "block=64:blocks=16384");
  const auto addresses = addresses_with_locality(kMany / 10, 11);
  std::list<uint64_t> stack;
  std::map<uint64_t, uint64_t> expected;
  uint64_t cold = 0;
  for (const uint64_t address : addresses) {
    feed.access(address);
    const uint64_t block = address / 64;
    uint64_t distance = 0;
    auto at = stack.begin();
    for (; at != stack.end() && *at != block; ++at) ++distance;
    if (at == stack.end()) {
      ++cold;
    } else {
      uint64_t bin = 0;
      while (bin < 64 && distance >> bin != 0) ++bin;
      ++expected[bin == 0 ? 0 : uint64_t{1} << (bin - 1)];
      stack.erase(at);
    }
    stack.push_front(block);
  }
  std::map<uint64_t, uint64_t> bins;
  for (const Packet& packet : capsule.drain()) bins[packet.words()[0]] = packet.words()[1];
  EXPECT_EQ(bins, expected);
  EXPECT_EQ(capsule.metric("COLD"), cold);
}

TEST(OwlReuse, GoesOnRightWhenTimesRunOut) {
  Feed feed("owl.test.reuse2");
  TestCapsule capsule(feed.name(), "reuse", "block=1:blocks=16");
  for (int round = 0; round < 1000; ++round)
    for (uint64_t block = 0; block < 10; ++block) feed.access(block);
  std::map<uint64_t, uint64_t> bins;
  for (const Packet& packet : capsule.drain()) bins[packet.words()[0]] = packet.words()[1];
  EXPECT_EQ(bins, (std::map<uint64_t, uint64_t>{{8, 9990}}));  // distance 9 each time
}

TEST(OwlHeavy, CountsAreNeverTooSmallAndAtMostTheirErrorTooLarge) {  // OW-22
  Feed feed("owl.test.heavy");
  TestCapsule capsule(feed.name(), "heavy", "counters=20:block=1");
  std::mt19937_64 random(12);
  std::map<uint64_t, uint64_t> exact;
  for (int i = 0; i < kMany / 10; ++i) {
    const uint64_t key = random() % 3 == 0 ? random() % 10 : 100 + random() % 1000;
    feed.access(key);
    ++exact[key];
  }
  std::set<uint64_t> found;
  for (const Packet& packet : capsule.drain()) {
    const auto words = packet.words();
    EXPECT_GE(words[1], exact[words[0]]);
    EXPECT_LE(words[1] - words[2], exact[words[0]]);
    found.insert(words[0]);
  }
  for (uint64_t key = 0; key < 10; ++key)
    EXPECT_EQ(found.count(key), exact[key] > kMany / 10u / 20 ? 1u : found.count(key));
}

TEST(OwlSharing, DistinguishesFalseFromTrue) {  // OW-22
  Feed feed("owl.test.sharing");
  TestCapsule capsule(feed.name(), "sharing", "lines=64");
  const auto access = [&](uint32_t who, uint64_t address, uint16_t kind) {
    substrata_transaction t{};
    t.initiator = who;
    t.address = address;
    t.size = 8;
    t.kind = kind;
    feed.publish(t);
  };
  for (int i = 0; i < 10; ++i) {
    access(0, 64, SUBSTRATA_WRITE);
    access(1, 72, SUBSTRATA_WRITE);
    access(0, 128, SUBSTRATA_WRITE);
    access(1, 132, SUBSTRATA_READ);
    access(0, 192, SUBSTRATA_READ);
    access(1, 200, SUBSTRATA_READ);
    access(2, 256, SUBSTRATA_WRITE);
  }
  std::map<uint64_t, uint64_t> judged;
  for (const Packet& packet : capsule.drain()) judged[packet.words()[0]] = packet.words()[1];
  EXPECT_EQ(judged, (std::map<uint64_t, uint64_t>{{64, 1}, {128, 0}}));
  EXPECT_EQ(capsule.metric("FALSE_LINES"), 1u);
  EXPECT_EQ(capsule.metric("TRUE_LINES"), 1u);
}

TEST(OwlWorkingSet, CountsDifferentBlocksOfEachWindow) {  // OW-22
  Feed feed("owl.test.workingset");
  TestCapsule capsule(feed.name(), "workingset", "window=100:block=4096");
  std::mt19937_64 random(13);
  std::vector<uint64_t> expected;
  std::set<uint64_t> window;
  for (int i = 1; i <= 5000; ++i) {
    const uint64_t address = random() % (1 << 20);
    feed.access(address);
    window.insert(address / 4096);
    if (i % 100 == 0) {
      expected.push_back(window.size());
      window.clear();
    }
  }
  std::vector<uint64_t> got;
  for (const Packet& packet : capsule.drain()) got.push_back(packet.words()[1]);
  EXPECT_EQ(got, expected);
}

TEST(OwlConflict, NamesThePairThatDrivesEachOtherOut) {
  Feed feed("owl.test.conflict");
  TestCapsule capsule(feed.name(), "conflict", "sets=16:line=64");
  for (int i = 0; i < 100; ++i) {
    feed.access(0x10000, SUBSTRATA_FILL, SUBSTRATA_HIT);
    feed.access(0x20000, SUBSTRATA_FILL, SUBSTRATA_HIT);
    feed.access(0x10040 + static_cast<uint64_t>(i) * 0x400, SUBSTRATA_FILL, SUBSTRATA_MISS);  // comes once
  }
  const auto packets = capsule.drain();
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_EQ(packets[0].words(), (std::vector<uint64_t>{0x10000, 0x20000, 198}));
  EXPECT_EQ(capsule.metric("RETURNS"), 198u);
}

}  // namespace
}  // namespace substrata::owl::test
