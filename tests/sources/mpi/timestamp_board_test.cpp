// The senders' time stamps: each is found once, and one that has no space disturbs no other.
#include "mpi/timestamp_board.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <new>

namespace substrata::mpi {
namespace {

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

}  // namespace
}  // namespace substrata::mpi
