// The account of messages, section marks, and the textbook algorithms of collective operations.
#include "mpi_shim/ledger.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace substrata::mpi_shim {
namespace {

TEST(MpiLedger, SumsByPhaseSizeAndReceiver) {
  Ledger ledger(3);
  ledger.sent("a", 1, 100);
  ledger.sent("a", 2, 100);
  ledger.sent("b", 1, 7);
  EXPECT_EQ(ledger.messages(), 3u);
  EXPECT_EQ(ledger.bytes(), 207u);
  EXPECT_EQ(ledger.messages_to(), (std::vector<uint64_t>{0, 2, 1}));
  EXPECT_EQ(ledger.bytes_to(), (std::vector<uint64_t>{0, 107, 100}));
  EXPECT_EQ(ledger.phase("a").sizes.at(100), 2u);
  EXPECT_EQ(ledger.phases(), (std::vector<std::string>{"a", "b"}));
}

TEST(MpiLedger, AReceiverOutsideTheWorldCountsOnlyInTheTotals) {
  Ledger ledger(2);
  ledger.sent("a", -1, 5);
  EXPECT_EQ(ledger.messages(), 1u);
  EXPECT_EQ(ledger.messages_to(), (std::vector<uint64_t>{0, 0}));
}

TEST(MpiLedger, ItsJsonIsReadByAnotherReaderWhateverThePhaseIsCalled) {
  Ledger ledger(2);
  ledger.sent("quote \" backslash \\ tab \t high \xff", 1, 65536);
  const auto json = nlohmann::json::parse(rank_as_json(ledger, 1, 4, 44, 2));
  EXPECT_EQ(json["rank"], 1);
  EXPECT_EQ(json["messages_sent"], 1);
  EXPECT_EQ(json["messages_received"], 4);
  EXPECT_EQ(json["bytes_received"], 44);
  EXPECT_EQ(json["level"], 2);
  EXPECT_EQ(json["phases"][0]["name"], "quote \" backslash \\ tab \t high ?");
  EXPECT_EQ(json["phases"][0]["sizes_sent"]["65536"], 1);
}

TEST(SectionMark, BeginNamesTheSectionAndEndLeavesIt) {
  std::string name = "unchanged";
  EXPECT_TRUE(find_section_mark("Begin of MPIFFT section.\n", name));
  EXPECT_EQ(name, "MPIFFT");
  EXPECT_TRUE(find_section_mark("End of MPIFFT section.\n", name));
  EXPECT_EQ(name, "");
}

TEST(SectionMark, OtherLinesChangeNothing) {
  std::string name = "unchanged";
  for (const char* line :
       {"", "a section", "Begin of ", "Begin of  section", "the Beginning of a\nsection", " section"})
    if (find_section_mark(line, name)) ADD_FAILURE() << line;
  EXPECT_EQ(name, "unchanged");
}

TEST(SectionBoard, KeepsSixtyThreeNamesAndThenNone) {
  SectionBoard board{};
  EXPECT_EQ(board.name(), "");
  for (int i = 0; i < 63; ++i) {
    board.enter("s" + std::to_string(i));
    EXPECT_EQ(board.name(), "s" + std::to_string(i));
  }
  board.enter("one too many");
  EXPECT_EQ(board.name(), "");
  board.enter("s5");
  EXPECT_EQ(board.name(), "s5");
  board.enter("");
  EXPECT_EQ(board.name(), "");
}

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

INSTANTIATE_TEST_SUITE_P(Sizes, Collectives, testing::Values(2, 3, 4, 5, 7, 8, 16, 17, 100));

TEST(Collectives, OneRankAloneSendsNothing) {
  EXPECT_TRUE(expand(Collective::kAlltoall, 0, 1, 0, 8).empty());
}

}  // namespace
}  // namespace substrata::mpi_shim
