// Ranks that announce themselves agree on whether all of them are there.
#include "sources/mpi/presence.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace {

using namespace substrata::mpi;
using std::chrono::hours;
using std::chrono::nanoseconds;

JobPlace place(const std::string& job, int rank, int ranks = 3) {
  return {job + std::to_string(getpid()), rank, ranks, ranks};
}

TEST(Presence, AllThatAnnouncedAreThereAndOneReportsIt) {
  std::array<Presence, 3> ranks;
  for (int i = 0; i < 3; ++i) ranks[static_cast<size_t>(i)].announce(place("all", i));
  int speakers = 0;
  for (Presence& one : ranks) {
    EXPECT_TRUE(one.all_there(3, hours(1)));
    speakers += one.is_speaker() ? 1 : 0;
  }
  EXPECT_EQ(speakers, 1);
}

TEST(Presence, OneThatComesAfterTheLimitHasTheAnswerOfTheOthers) {
  std::array<Presence, 3> ranks;
  ranks[0].announce(place("late", 0));
  ranks[1].announce(place("late", 1));
  EXPECT_FALSE(ranks[0].all_there(3, nanoseconds(0)));
  ranks[2].announce(place("late", 2));
  EXPECT_FALSE(ranks[2].all_there(3, nanoseconds(0)));
  EXPECT_FALSE(ranks[1].all_there(3, hours(1)));
}

TEST(Presence, ARankThatAnnouncesItselfTwiceIsOne) {
  std::array<Presence, 2> ranks;
  for (Presence& one : ranks) one.announce(place("twice", 0, 2));
  EXPECT_FALSE(ranks[0].all_there(2, nanoseconds(0)));
}

TEST(Presence, RanksOfSeveralNodesAndOfNoKnownJobAreNotWaitedFor) {
  Presence elsewhere, unknown, alone;
  JobPlace on_two_nodes = place("nodes", 0, 4);
  on_two_nodes.ranks_here = 2;
  elsewhere.announce(on_two_nodes);
  unknown.announce({"", 0, 4, 4});
  EXPECT_FALSE(elsewhere.all_there(4, hours(1)));
  EXPECT_FALSE(unknown.all_there(4, hours(1)));
  EXPECT_TRUE(alone.all_there(1, hours(1)));
}

}  // namespace
