// The shim's readings of this host's clocks, and its map that remembers the last question.
#include "sources/mpi/host_clock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "sources/mpi/recent_map.hpp"

namespace substrata::mpi {
namespace {

// The clock is asked before and after; the reading of the counter lies between.
struct Bracket {
  int64_t before;
  int64_t reading;
  int64_t after;
};
Bracket bracket(RealTime& time) {
  Bracket out{};
  out.before = real_ns();
  const int64_t ticks = real_cycles();
  out.after = real_ns();
  out.reading = time.at(ticks);
  return out;
}
// Wide: where other machines take the processor away even a quick question may last.
constexpr int64_t kError = 50'000;

// FE-5
TEST(RealTime, AReadingOfTheCounterIsTheMonotonicClock) {
  RealTime time;
  for (int i = 0; i < 1000; ++i) {
    const Bracket one = bracket(time);
    EXPECT_GE(one.reading, one.before - kError);
    EXPECT_LE(one.reading, one.after + kError);
  }
}

TEST(RealTime, HoldsOverManyMilliseconds) {
  RealTime time;
  bracket(time);
  const int64_t end = real_ns() + 50'000'000;
  Bracket one{};
  do one = bracket(time);
  while (one.after < end);
  EXPECT_GE(one.reading, one.before - kError);
  EXPECT_LE(one.reading, one.after + kError);
}

TEST(RealTime, AnEarlierReadingIsEarlier) {
  RealTime time;
  const int64_t first = real_cycles();
  const int64_t second = real_cycles();
  const int64_t later = time.at(second);
  EXPECT_LE(time.at(first), later);
}

TEST(ThreadTime, NeverRunsBackwardsBetweenCloseReadings) {
  ThreadTime time;
  int64_t ticks = real_cycles();
  int64_t last = time.at(ticks);
  for (int i = 0; i < 100; ++i) {
    ticks += 10;
    const int64_t now = time.at(ticks);
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ThreadTime, AsksTheKernelAfterALongPause) {
  ThreadTime time;
  const int64_t ticks = real_cycles();
  time.at(ticks);
  const int64_t before = virtual_ns();
  const int64_t now = time.at(ticks + static_cast<int64_t>(cycle_hz()));  // a second by the counter
  EXPECT_GE(now, before);
  EXPECT_LE(now, virtual_ns()) << "the second was not of this thread";
}

TEST(RecentMap, AnswersLikeThePlainMapForAnyOrderOfQuestions) {
  RecentMap<std::map<uint64_t, uint64_t>> recent;
  std::map<uint64_t, uint64_t> plain;
  uint64_t drawn = 1;
  for (uint64_t i = 0; i < 10'000; ++i) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    const uint64_t key = drawn >> 61;
    if (drawn % 16 == 0) {
      recent.erase(key);
      plain.erase(key);
    } else {
      EXPECT_EQ(recent[key], plain[key]);
      recent[key] = plain[key] = i;
    }
  }
  EXPECT_EQ(recent.all(), plain);
}

TEST(RecentMap, RemembersNothingOfWhatWasErased) {
  RecentMap<std::unordered_map<int, int>> recent;
  recent[1] = 7;
  recent.erase(1);
  EXPECT_EQ(recent[1], 0);
}

TEST(RecentMap, KeepsItsEntriesWhenItIsMoved) {
  RecentMap<std::map<int, int>> recent;
  recent[1] = 7;
  RecentMap<std::map<int, int>> moved = std::move(recent);
  ++moved[1];
  EXPECT_EQ(moved.all().at(1), 8);
}

}  // namespace
}  // namespace substrata::mpi
