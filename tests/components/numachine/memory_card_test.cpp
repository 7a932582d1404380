// What the monitor on a NUMAchine memory card keeps: depths of FIFOs, the table of hits, uses of pages.
#include <gtest/gtest.h>

#include "numachine/memory_card.hpp"

namespace substrata::numachine::test {
namespace {

// NU-15
TEST(MemoryCardFifos, DepthsAreAccumulatedByCycleAndByChange) {
  FifoDepth fifo;
  fifo.change(10, 1);
  fifo.change(14, 2);
  fifo.change(15, -1);
  fifo.change(20, -2);
  fifo.until(30);
  EXPECT_EQ(fifo.depth(), 0u);
  EXPECT_EQ(fifo.maximum(), 3u);
  EXPECT_EQ(fifo.accumulated_by_cycle(), 4u * 1 + 1u * 3 + 5u * 2);
  EXPECT_EQ(fifo.accumulated_by_change(), 1u + 3 + 2 + 0);
  EXPECT_EQ(fifo.changes(), 4u);
  EXPECT_EQ(fifo.cycles(), 30u);
}

// NU-16, table A.1
TEST(MemoryCardTable, HasACellForEachStateAndRequest) {
  MemoryCard card;
  for (unsigned state = 0; state < 4; ++state) {
    for (unsigned type = 0; type < 4; ++type) {
      for (unsigned i = 0; i < state * 4 + type; ++i)
        card.hit(static_cast<BlockState>(state), static_cast<RequestType>(type));
    }
  }
  card.hit(BlockState::kNotIn, RequestType::kRead);
  for (unsigned state = 0; state < 4; ++state) {
    for (unsigned type = 0; type < 4; ++type) {
      EXPECT_EQ(card.hits(static_cast<BlockState>(state), static_cast<RequestType>(type)), state * 4 + type);
    }
  }
}

// NU-17
TEST(MemoryCardPages, AFrequentFlyerStationIsHinted) {
  MemoryCard card;
  for (int i = 0; i < 7; ++i) card.page_use(5, 3);
  for (int i = 0; i < 3; ++i) card.page_use(5, 1);
  EXPECT_EQ(card.migration_hint(5, 0), 3);
  EXPECT_EQ(card.migration_hint(5, 3), -1) << "it is at home there";
  card.page_use(5, 0);
  EXPECT_EQ(card.migration_hint(5, 0), -1) << "seven are less than twice four";
  EXPECT_EQ(card.migration_hint(6, 0), -1) << "nobody used it";
}

}  // namespace
}  // namespace substrata::numachine::test
