// The account of messages, section marks, and the textbook algorithms of collective operations.
#include "mpi/message_counts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "mpi/timestamp_board.hpp"
#include "mpi/virtual_clock.hpp"

namespace substrata::mpi {
namespace {

TEST(MessageCounts, SumsByPhaseSizeAndReceiver) {
  MessageCounts counts(3);
  const uint32_t a = counts.place_of("a");
  counts.sent(a, 1, 100);
  counts.sent(counts.place_of("a"), 2, 100, true);
  counts.sent(counts.place_of("b"), 1, 7);
  EXPECT_EQ(counts.messages(), 3u);
  EXPECT_EQ(counts.bytes(), 207u);
  EXPECT_EQ(counts.messages_to(), (std::vector<uint64_t>{0, 2, 1}));
  EXPECT_EQ(counts.bytes_to(), (std::vector<uint64_t>{0, 107, 100}));
  EXPECT_EQ(counts.phase(a).sizes.all().at(100), 2u);
  EXPECT_EQ(counts.phase(a).own_messages, 1u) << "the other one is a collective operation's";
  EXPECT_EQ(counts.phase(a).own_bytes, 100u);
  EXPECT_EQ(counts.phases(), (std::vector<std::string>{"a", "b"}));
}

TEST(MessageCounts, AReceiverOutsideTheWorldCountsOnlyInTheTotals) {
  MessageCounts counts(2);
  counts.sent(counts.place_of("a"), -1, 5);
  EXPECT_EQ(counts.messages(), 1u);
  EXPECT_EQ(counts.messages_to(), (std::vector<uint64_t>{0, 0}));
}

TEST(MessageCounts, ItsJsonIsReadByAnotherReaderWhateverThePhaseIsCalled) {
  MessageCounts counts(2);
  counts.sent(counts.place_of("quote \" backslash \\ tab \t high \xff"), 1, 65536);
  const auto json = nlohmann::json::parse(rank_as_json(counts, 1, 4, 44, 2));
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

struct Board {
  explicit Board(int ranks)
      : bytes(TimestampBoard::bytes(ranks)), memory(::operator new (bytes, std::align_val_t{64})) {
    std::memset(memory, 0, bytes);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board() { ::operator delete (memory, std::align_val_t{64}); }
  size_t bytes;
  void* memory;
};

TEST(TimestampBoard, GivesEachMessageItsStampInWhateverOrderTheyAreTaken) {  // FE-5
  const Board memory(3);
  TimestampBoard board(memory.memory, 3);
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_TRUE(board.put(0, 1, channel_of(7, 1), i, {static_cast<int64_t>(i), 0, i + 1, 100 + i}));
    EXPECT_TRUE(board.put(2, 1, channel_of(7, 1), i, {-1, 0, 0, 0}));
    EXPECT_TRUE(board.put(0, 1, channel_of(7, 2), i, {-2, 0, 0, 0}));
  }
  Stamp stamp;
  for (uint64_t i = 20; i-- > 0;) {
    ASSERT_TRUE(board.take(0, 1, channel_of(7, 1), i, &stamp));
    EXPECT_EQ(stamp.real, static_cast<int64_t>(i));
    EXPECT_EQ(stamp.bytes, 100 + i);
    EXPECT_FALSE(board.take(0, 1, channel_of(7, 1), i, &stamp)) << "taken twice";
  }
  EXPECT_FALSE(board.take(1, 0, channel_of(7, 1), 0, &stamp)) << "the other direction";
}

TEST(TimestampBoard, ThatIsFullDropsStampsAndKeepsTheOthersRight) {  // FE-5
  const Board memory(2);
  TimestampBoard board(memory.memory, 2);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < 5000; ++i)
    kept += board.put(0, 1, 9, i, {static_cast<int64_t>(i), 0, i, 0}) ? 1 : 0;
  EXPECT_GE(kept, 256u);
  EXPECT_LT(kept, 5000u);
  Stamp stamp;
  uint64_t found = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    if (!board.take(0, 1, 9, i, &stamp)) continue;
    EXPECT_EQ(stamp.number, i);
    ++found;
  }
  EXPECT_EQ(found, kept);
}

TEST(TimestampBoard, WithoutMemoryKnowsNothing) {
  TimestampBoard board(nullptr, 4);
  Stamp stamp;
  EXPECT_FALSE(board.put(0, 1, 1, 0, {}));
  EXPECT_FALSE(board.take(0, 1, 1, 0, &stamp));
}

TEST(VirtualClock, AReceiveIsNeverBeforeItsMessageCanBeThere) {  // FE-5
  const NetworkModel model{.factor = 10, .overhead_ns = 100, .latency_ns = 1000, .byte_ns = 2};
  VirtualClock sender(model);
  VirtualClock receiver(model);
  sender.compute(50);
  sender.compute(-7);  // clocks that disagree do not turn it back
  EXPECT_EQ(sender.send(), 500);
  EXPECT_EQ(sender.now(), 600);
  EXPECT_EQ(receiver.receive(500, 50), 500 + 100 + 1000 + 100 + 100);
  receiver.compute(1000);
  EXPECT_EQ(receiver.receive(500, 50), 11800 + 100) << "it was there long before";
}

TEST(NetworkModel, IsReadFromTextAndRefusedWithASentence) {  // FE-5
  NetworkModel model;
  EXPECT_EQ(parse_network_model("factor=20:byte=12.5", &model), "");
  EXPECT_EQ(describe(model), "factor=20:overhead=1000:latency=10000:byte=12.5");
  EXPECT_EQ(parse_network_model("", &model), "");
  for (const char* wrong :
       {"speed=1", "factor", "factor=", "factor=-1", "factor=x", "latency=1e13", "byte=nan"})
    EXPECT_NE(parse_network_model(wrong, &model), "") << wrong;
  EXPECT_EQ(describe(model), "factor=20:overhead=1000:latency=10000:byte=12.5");
}

TEST(MessageCounts, KeepsLatenciesOfBothTimeBasesApart) {  // FE-5
  MessageCounts counts(2);
  for (const int64_t real : {100, -20}) counts.on_its_way(real);
  for (const int64_t modelled : {12000, 14000}) counts.on_its_virtual_way(modelled);
  counts.received_without_stamp();
  const auto json = nlohmann::json::parse(rank_as_json(counts, 0, 3, 0, 2))["latencies"];
  EXPECT_EQ(json["real"]["least_ns"], -20);
  EXPECT_EQ(json["real"]["mean_ns"], 40);
  EXPECT_EQ(json["virtual"]["most_ns"], 14000);
  EXPECT_EQ(json["virtual"]["messages"], 2);
  EXPECT_EQ(json["unknown"], 1);
}

}  // namespace
}  // namespace substrata::mpi
