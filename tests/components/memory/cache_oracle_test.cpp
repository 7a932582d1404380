// The cache model against the oracle on seeded random accesses, access by access and line by line.
#include <gtest/gtest.h>

#include <random>

#include "cache_oracle.hpp"

namespace substrata::memory::test {
namespace {

void expect_same(const Counts& got, const Counts& wanted) {
  EXPECT_EQ(got.references, wanted.references);
  EXPECT_EQ(got.l1_misses, wanted.l1_misses);
  EXPECT_EQ(got.l2_misses, wanted.l2_misses);
  EXPECT_EQ(got.l1_write_backs, wanted.l1_write_backs);
  EXPECT_EQ(got.l2_write_backs, wanted.l2_write_backs);
  EXPECT_EQ(got.back_invalidations, wanted.back_invalidations);
}

// FE-1, FE-3: a model is a pure function of its transactions
TEST(Caches, DoWhatTheOracleDoesOnRandomAccesses) {
  const Geometry geometries[] = {
      {256, 2, 1024, 4, 32, false}, {256, 2, 1024, 4, 32, true},  {512, 8, 1024, 2, 16, false},
      {512, 8, 512, 1, 64, true},   {64, 1, 4096, 64, 64, false}, {1024, 4, 256, 2, 32, true},
      {1024, 4, 256, 2, 32, false}, {128, 2, 128, 2, 64, true},   {512, 8, 2048, 16, 32, false},
      {512, 8, 1024, 16, 32, true}, {768, 12, 640, 5, 32, true},
  };
  std::mt19937_64 random(2024);
  for (const Geometry& geometry : geometries) {
    ASSERT_EQ(objection(geometry), nullptr);
    Caches caches(geometry);
    CacheOracle oracle(geometry);
    Counts counts;
    SpokenTraffic traffic;
    uint64_t hot = 0;
    for (int i = 0; i < 20000; ++i) {
      if (random() % 200 == 0) hot = random() % 16384;
      const uint64_t address = random() % 3 == 0 ? random() % 16384 : hot + random() % 700;
      const auto size = static_cast<uint32_t>(random() % 20 == 0 ? random() % 300 : 1u << random() % 5);
      const bool write = random() % 3 == 0;
      caches.access(address, size, write, counts, traffic);
      oracle.access(address, size, write);
    }
    expect_same(counts, oracle.counts);
    ASSERT_EQ(traffic.reported, oracle.traffic);
    EXPECT_GT(counts.l2_write_backs, 100u);
    EXPECT_EQ(counts.back_invalidations > 0, geometry.inclusive);
  }
}

TEST(Caches, FindAStreamsLinesOnceEach) {
  const Geometry geometry;
  Caches caches(geometry);
  Counts counts;
  NoTraffic none;
  for (uint64_t at = 0; at < 64 * 1024; at += 8) caches.access(at, 8, false, counts, none);
  EXPECT_EQ(counts.references, 8192u);
  EXPECT_EQ(counts.l1_misses, 1024u);
  EXPECT_EQ(counts.l2_misses, 1024u);
  for (uint64_t at = 0; at < 64 * 1024; at += 8) caches.access(at, 8, false, counts, none);
  EXPECT_EQ(counts.l1_misses, 2048u) << "twice the first level: nothing is left of it in a cyclic walk";
  EXPECT_EQ(counts.l2_misses, 1024u) << "all of it is in the second level";
}

TEST(Caches, EndAnAccessAtTheEndOfTheAddressSpace) {
  Caches caches(Geometry{});
  Counts counts;
  NoTraffic none;
  EXPECT_EQ(caches.access(~uint64_t{0} - 3, 64, true, counts, none), Found::kMemory);
  EXPECT_EQ(counts.references, 1u);
  EXPECT_EQ(caches.access(~uint64_t{0}, 1, false, counts, none), Found::kL1);
}

// The same uses, insertions and removals of random lines in both kinds of rows.
template <typename Order>
void expect_the_same_lines(uint64_t ways) {
  std::mt19937_64 random(7);
  RowsByTags<Order> tags(4, ways);
  RowsInOrder order(4, ways);
  for (int i = 0; i < 100000; ++i) {
    // Some tags are those of other lines: lines far from each other are among these.
    const uint64_t line = random() % (8 * ways) + (random() % 4 << 40);
    const bool dirty = random() % 2 == 0;
    if (random() % 10 == 0) {
      ASSERT_EQ(tags.remove(line), order.remove(line)) << ways << " ways, step " << i;
    } else if (const bool there = order.use(line, dirty); there) {
      ASSERT_TRUE(tags.use(line, dirty)) << ways << " ways, step " << i;
    } else {
      ASSERT_FALSE(tags.use(line, dirty)) << ways << " ways, step " << i;
      ASSERT_EQ(tags.insert(line, dirty), order.insert(line, dirty)) << ways << " ways, step " << i;
    }
  }
}

TEST(CacheArrays, KeepTheSameLinesByTagsAsInOrder) {
  expect_the_same_lines<OrderOfEight>(8);
  for (uint64_t ways = 1; ways <= OrderOfSixteen::kMostWays; ++ways)
    expect_the_same_lines<OrderOfSixteen>(ways);
}

TEST(CacheArrays, AreNotChangedByTheUseOfTheirCopies) {
  CacheArray one(2048, 8, 64);
  one.insert(5, false);
  CacheArray copy = one;
  EXPECT_TRUE(copy.use(5, true));
  EXPECT_EQ(one.remove(5), 5u << 1) << "not dirty";
}

TEST(Geometry, ThatCannotBeBuiltIsObjectedTo) {
  EXPECT_EQ(objection({}), nullptr);
  EXPECT_NE(objection({.line_bytes = 48}), nullptr);
  EXPECT_NE(objection({.l1_bytes = 3 * 4096}), nullptr);
  EXPECT_NE(objection({.l1_ways = 0}), nullptr);
  EXPECT_NE(objection({.l2_bytes = 100}), nullptr);
  EXPECT_NE(objection({.l2_bytes = 0}), nullptr);
  EXPECT_EQ(objection({.l1_bytes = 3 * 4096, .l1_ways = 3}), nullptr) << "three ways of 64 sets";
}

}  // namespace
}  // namespace substrata::memory::test
