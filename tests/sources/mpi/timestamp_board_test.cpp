// The senders' time stamps: each is found once, and one that has no space disturbs no other.
#include "sources/mpi/timestamp_board.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "sources/mpi/node_file.hpp"

namespace substrata::mpi {
namespace {

// A node's memory with the inboxes of the first ranks.
struct Board {
  explicit Board(int ranks, int here = INT_MAX)
      : layout{TimestampBoard::directory_bytes(ranks), TimestampBoard::inbox_bytes(), ranks} {
    EXPECT_TRUE(make_node_file(layout, name));
    for (int rank = 0; rank < std::min(ranks, here); ++rank) {
      const NodeMemory mapped = map_node_file(name, layout, rank);
      EXPECT_TRUE(mapped.has_own);
      if (memory != nullptr) munmap(memory, layout.bytes());
      memory = mapped.at;
      TimestampBoard(memory, ranks).open_inbox(rank);
    }
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  ~Board() {
    munmap(memory, layout.bytes());
    unlink(name);
  }
  uint64_t bytes_in_use() const {
    struct stat about {};
    EXPECT_EQ(stat(name, &about), 0);
    return static_cast<uint64_t>(about.st_blocks) * 512;
  }
  const NodeFileLayout layout;
  char name[kNodeFileName] = "";
  void* memory = nullptr;
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

TEST(TimestampBoard, OfAThousandRanksTakesMemoryForThoseOfTheNodeOnly) {
  constexpr int kRanks = 1024;
  constexpr int kHere = 16;
  const Board memory(kRanks, kHere);
  EXPECT_LE(memory.bytes_in_use(), uint64_t{kRanks} * 64 + uint64_t{kHere} * 256 * 1024);
  TimestampBoard board(memory.memory, kRanks);
  EXPECT_FALSE(board.put(0, kHere, 1, 0, {})) << "a rank of another node has an inbox";
  EXPECT_LE(memory.bytes_in_use(), uint64_t{kRanks} * 64 + uint64_t{kHere} * 256 * 1024) << "touched";
}

TEST(TimestampBoard, OfAThousandRanksHasSpaceForAMessageOfEach) {
  constexpr int kRanks = 1024;
  const Board memory(kRanks, 1);
  TimestampBoard board(memory.memory, kRanks);
  const uint64_t channel = channel_of(7, 1);
  int kept = 0;
  for (int from = 1; from < kRanks; ++from) kept += board.put(from, 0, channel, 0, {from, 0, 1, 8}) ? 1 : 0;
  EXPECT_GE(kept, kRanks * 95 / 100);
  int found = 0;
  for (int from = kRanks - 1; from > 0; --from) {
    Stamp stamp;
    if (!board.take(from, 0, channel, 0, &stamp)) continue;
    EXPECT_EQ(stamp.real, from);
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

}  // namespace
}  // namespace substrata::mpi
