// The cluster's queue of events against a map that keeps the order of coming.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

#include "myrinet/event_queue.hpp"
#include "myrinet/ring.hpp"

namespace substrata::myrinet::test {
namespace {

// Pushes and pops at random; `ahead` gives how far ahead of the present an event lies.
template <typename Ahead>
void compare(std::uint64_t seed, std::size_t usual, Ahead&& ahead) {
  std::mt19937_64 random(seed);
  EventQueue queue;
  std::multimap<Time, std::pair<std::uint32_t, std::uint32_t>> oracle;  // equal keys in the order of coming
  Time now = 0;
  std::uint32_t made = 0;
  for (int step = 0; step < 50'000; ++step) {
    const bool push = oracle.empty() || random() % (2 * usual) >= oracle.size();
    if (push && step < 45'000) {
      const Time at = now + ahead(random);
      const std::uint32_t packet = made++ % EventQueue::kMostPackets;
      const auto kind = static_cast<std::uint32_t>(random() % EventQueue::kMostKinds);
      queue.push(at, kind, packet);
      oracle.emplace(at, std::pair(packet, kind));
    } else if (!oracle.empty()) {
      const auto first = oracle.begin();
      ASSERT_EQ(queue.next(), first->first);
      const EventQueue::Event event = queue.pop();
      ASSERT_EQ(event.at, first->first);
      ASSERT_EQ(event.packet, first->second.first);
      ASSERT_EQ(event.kind, first->second.second);
      now = event.at;
      oracle.erase(first);
    }
    ASSERT_EQ(queue.empty(), oracle.empty());
  }
  while (!oracle.empty()) {
    const EventQueue::Event event = queue.pop();
    ASSERT_EQ(event.at, oracle.begin()->first);
    ASSERT_EQ(event.packet, oracle.begin()->second.first);
    oracle.erase(oracle.begin());
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next(), kNever);
}

TEST(MyrinetEventQueue, GivesEventsByTimeAndEqualTimesInTheOrderTheyCame) {
  compare(1, 32, [](auto& random) { return random() % 100'000'000; });
  compare(2, 500, [](auto& random) { return random() % 1'000'000'000; });
}

TEST(MyrinetEventQueue, KeepsTheOrderWhereManyTimesAreEqual) {
  compare(3, 40, [](auto& random) { return random() % 3 * 400'000; });
  compare(4, 40, [](auto& random) { return random() % 2; });
}

TEST(MyrinetEventQueue, KeepsTheOrderOfEventsNearAndFarAhead) {
  // Multiples of 0.1 ms up to 5 ms: the ring's end lies among them, and times meet from both sides of it.
  compare(5, 60, [](auto& random) { return random() % 50 * 100'000'000; });
  compare(6, 20,
          [](auto& random) { return random() % 10 == 0 ? random() % (300 * kSecond) : random() % 1000; });
  compare(7, 3, [](auto& random) { return random() % 20 * 536'870'912; });
}

// Seasons are 2^27 ps long, the ring two of them, and 256 have chains.
TEST(MyrinetEventQueue, KeepsTheOrderOfEventsThatWaitForTheirSeason) {
  constexpr Time season = Time{1} << 27;
  // Times meet that were pushed from a chain's, the ring's and the heap's distance.
  compare(9, 400, [](auto& random) { return random() % 300 * (season / 2); });
  compare(10, 400, [](auto& random) { return random() % 40 * (8 * season); });
  compare(11, 30, [](auto& random) { return random() % 3 * season + random() % 3; });
  // The chains' last season, and the one that would come into the chain of the next.
  compare(15, 20, [](auto& random) { return (random() % 2 * 256 + random() % 4) * season; });
  // A season's end, one to each side of it.
  compare(12, 200, [](auto& random) { return random() % 5 * season + random() % 3 - 1 + season; });
}

TEST(MyrinetEventQueue, KeepsTheOrderWhereTheRingRunsEmpty) {
  constexpr Time season = Time{1} << 27;
  // One event or two: the next is as often in a chain as in the heap.
  compare(13, 1, [](auto& random) { return random() % 600 * season; });
  compare(14, 2, [](auto& random) { return 2 * season + random() % 4 * (254 * season); });
}

TEST(MyrinetEventQueue, GivesThePastFirst) {
  EventQueue queue;
  queue.push(5'000'000'000, 1, 1);
  queue.push(5'000'000'000, 1, 2);
  queue.push(90'000'000'000, 1, 3);
  EXPECT_EQ(queue.pop().packet, 1u);
  queue.push(5'000'000'000, 2, 4);
  queue.push(3'000, 3, 5);
  queue.push(1'000, 3, 6);
  queue.push(3'000, 3, 7);
  const std::pair<Time, std::uint32_t> expected[] = {
      {1'000, 6}, {3'000, 5}, {3'000, 7}, {5'000'000'000, 2}, {5'000'000'000, 4}, {90'000'000'000, 3}};
  for (const auto& [at, packet] : expected) {
    EXPECT_EQ(queue.next(), at);
    const EventQueue::Event event = queue.pop();
    EXPECT_EQ(event.at, at);
    EXPECT_EQ(event.packet, packet);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(MyrinetRing, KeepsItsOrderWhileItGrowsAndTurns) {
  std::mt19937_64 random(8);
  Ring<int> ring;
  int in = 0;
  int out = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (random() % 100 < (step < 5'000 ? 55u : 45u)) {
      ring.push_back(in++);
      ASSERT_EQ(ring.back(), in - 1);
    } else if (!ring.empty()) {
      ASSERT_EQ(ring.front(), out++);
      ring.pop_front();
    }
    ASSERT_EQ(ring.size(), static_cast<std::size_t>(in - out));
    for (std::size_t i = 0; i < ring.size(); i += 7) ASSERT_EQ(ring[i], out + static_cast<int>(i));
  }
}

}  // namespace
}  // namespace substrata::myrinet::test
