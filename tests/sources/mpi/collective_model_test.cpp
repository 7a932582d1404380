// The textbook algorithms of collective operations, for many numbers of ranks.
#include "sources/mpi/collective_model.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace substrata::mpi {
namespace {

class Collectives : public testing::TestWithParam<int> {};

// All ranks' messages together.
uint64_t messages_in(Collective operation, int size, int root) {
  uint64_t count = 0;
  for (int me = 0; me < size; ++me) {
    for (const ModelledMessage& message : expand(operation, me, size, root, 8)) {
      EXPECT_GE(message.to, 0);
      EXPECT_LT(message.to, size);
      EXPECT_NE(message.to, me);
      ++count;
    }
  }
  return count;
}

TEST_P(Collectives, ATreeHasOneMessageForEachRankButTheRoot) {  // FE-4
  const int size = GetParam();
  for (const int root : {0, size - 1, size / 2})
    for (const auto operation :
         {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter})
      EXPECT_EQ(messages_in(operation, size, root), static_cast<uint64_t>(size - 1));
}

TEST_P(Collectives, ABroadcastReachesEveryRankOnce) {  // FE-4
  const int size = GetParam();
  const int root = size / 3;
  std::vector<int> reached(static_cast<size_t>(size));
  for (int me = 0; me < size; ++me)
    for (const ModelledMessage& message : expand(Collective::kBroadcast, me, size, root, 8))
      ++reached[static_cast<size_t>(message.to)];
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(reached[static_cast<size_t>(rank)], rank == root ? 0 : 1);
}

TEST_P(Collectives, GatherAndScatterMoveEveryBlockThroughTheTree) {  // FE-4
  const int size = GetParam();
  // The root's neighbours carry whole subtrees: together they hand over every block but the root's own.
  for (const auto operation : {Collective::kGather, Collective::kScatter}) {
    uint64_t at_root = 0;
    for (int me = 0; me < size; ++me)
      for (const ModelledMessage& message : expand(operation, me, size, 0, 8))
        if (message.to == 0 || me == 0) at_root += message.bytes;
    EXPECT_EQ(at_root, static_cast<uint64_t>(size - 1) * 8);
  }
}

TEST_P(Collectives, AnAlltoallSendsOneMessageToEachOther) {  // FE-4
  const int size = GetParam();
  EXPECT_EQ(messages_in(Collective::kAlltoall, size, 0),
            static_cast<uint64_t>(size) * static_cast<uint64_t>(size - 1));
}

TEST_P(Collectives, AnAllreduceReachesEveryRankFromEveryRank) {  // FE-4
  const int size = GetParam();
  // What each rank knows of the others, after as many exchanges as there can be steps.
  std::vector<std::vector<bool>> knows(static_cast<size_t>(size),
                                       std::vector<bool>(static_cast<size_t>(size)));
  for (int i = 0; i < size; ++i) knows[static_cast<size_t>(i)][static_cast<size_t>(i)] = true;
  for (int round = 0; round < 2 * size + 2; ++round)
    for (int me = 0; me < size; ++me)
      for (const ModelledMessage& message : expand(Collective::kAllreduce, me, size, 0, 8))
        for (int i = 0; i < size; ++i)
          if (knows[static_cast<size_t>(me)][static_cast<size_t>(i)])
            knows[static_cast<size_t>(message.to)][static_cast<size_t>(i)] = true;
  for (const auto& row : knows)
    for (const bool known : row) EXPECT_TRUE(known);
}

// Who sends to whom how often; the receivers' view must be the same.
using Pairs = std::map<std::pair<int, int>, int>;

TEST_P(Collectives, EveryMessageThatIsSentIsExpectedByItsReceiver) {  // FE-5
  const int size = GetParam();
  for (const auto operation : {Collective::kBarrier, Collective::kBroadcast, Collective::kReduce,
                               Collective::kAllreduce, Collective::kGather, Collective::kScatter,
                               Collective::kAllgather, Collective::kAlltoall, Collective::kScan})
    for (const int root : {0, size - 1, size / 2}) {
      Pairs sent;
      Pairs expected;
      for (int me = 0; me < size; ++me) {
        for (const ModelledMessage& message : expand(operation, me, size, root, 8)) ++sent[{me, message.to}];
        for (const int source : sources_in(operation, me, size, root)) ++expected[{source, me}];
      }
      EXPECT_EQ(sent, expected) << static_cast<int>(operation) << " root " << root;
    }
}

TEST_P(Collectives, BlocksOfDifferentSizesGoRoundTheRingAndToEachOther) {  // FE-4
  const int size = GetParam();
  std::vector<uint64_t> blocks(static_cast<size_t>(size));
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = i % 3 == 1 ? 0 : 10 * i + 1;
  uint64_t all = 0;
  for (const uint64_t bytes : blocks) all += bytes;
  Pairs sent;
  Pairs expected;
  for (int me = 0; me < size; ++me) {
    uint64_t bytes = 0;
    for (const ModelledMessage& message : expand_ring(me, blocks)) {
      ++sent[{me, message.to}];
      bytes += message.bytes;
    }
    for (const int source : sources_ring(me, blocks)) ++expected[{source, me}];
    // Every block but the one that the next rank has itself.
    EXPECT_EQ(bytes, all - blocks[static_cast<size_t>((me + 1) % size)]);
    bytes = 0;
    for (const ModelledMessage& message : expand_pairwise(me, blocks)) bytes += message.bytes;
    EXPECT_EQ(bytes, all - blocks[static_cast<size_t>(me)]);
  }
  EXPECT_EQ(sent, expected);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, testing::Values(2, 3, 4, 5, 7, 8, 16, 17, 100));

TEST(Collectives, OneRankAloneSendsNothing) {
  EXPECT_TRUE(expand(Collective::kAlltoall, 0, 1, 0, 8).empty());
  EXPECT_TRUE(sources_in(Collective::kAlltoall, 0, 1, 0).empty());
}

}  // namespace
}  // namespace substrata::mpi
