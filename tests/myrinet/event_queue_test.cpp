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
