// Offsets of clocks from round trips, against the offset that the exchanges were made with.
#include "sources/mpi/exchange/clock_exchange.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace substrata::mpi_exchange {
namespace {

// CO-6
TEST(ClockExchange, TheTrueOffsetLiesWithinTheUncertainty) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 2000; ++run) {
    const int64_t true_offset = static_cast<int64_t>(random() % 2'000'000'000'000) - 1'000'000'000'000;
    std::vector<ClockExchange> exchanges;
    int64_t now = static_cast<int64_t>(random() % 1'000'000'000'000);
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 30; ++i) {
      // Ways of 1 us to 1 ms, as unequal as they come.
      const int64_t there = 1'000 + static_cast<int64_t>(random() % 1'000'000);
      const int64_t back = 1'000 + static_cast<int64_t>(random() % (i % 2 == 0 ? 1'000'000 : 2'000));
      exchanges.push_back({now, now + there + true_offset, now + there + back});
      shortest = std::min(shortest, there + back);
      now += there + back + 100;
    }
    const ClockOffset found = best_offset(exchanges);
    ASSERT_GE(found.uncertainty, 0);
    EXPECT_LE(std::llabs(found.offset - true_offset), found.uncertainty);
    EXPECT_LE(found.uncertainty, shortest / 2 + shortest / 10'000 + 2) << "the shortest way is taken";
  }
}

TEST(ClockExchange, NothingAndNonsenseGiveNoOffset) {
  EXPECT_EQ(best_offset({}).uncertainty, -1);
  EXPECT_EQ(best_offset(std::vector<ClockExchange>{{100, 5, 50}}).uncertainty, -1)
      << "an answer before the question";
}

TEST(ClockExchange, AClockIsTheBootAndTheOffsetOfItsTimeNamespace) {
  EXPECT_EQ(clock_name("abc-def\n", "monotonic           0         0\nboottime            0         0\n"),
            "abc-def");
  EXPECT_EQ(clock_name("abc-def\n", ""), "abc-def");
  EXPECT_EQ(clock_name("abc-def\n", "monotonic        5000         7\nboottime            0         0\n"),
            "abc-def/5000.7");
  EXPECT_EQ(clock_name("", "monotonic 1 0\n"), "");
}

TEST(ClockExchange, OneRankOfEachOtherClockLeads) {
  EXPECT_EQ(clock_leaders({}), std::vector<int>());
  EXPECT_EQ(clock_leaders({4, 4, 4}), std::vector<int>());
  EXPECT_EQ(clock_leaders({4, 9, 4, 9, 2, 2}), (std::vector<int>{1, 4}));
}

}  // namespace
}  // namespace substrata::mpi_exchange
