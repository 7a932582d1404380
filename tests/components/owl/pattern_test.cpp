// The modules that reduce repeating patterns: what becomes a point, and that nothing is lost.
#include <gtest/gtest.h>
#include <substrata/owl.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "feeding.hpp"

namespace substrata::owl::test {
namespace {

constexpr int kMany = tests::kSanitized ? 20'000 : 200'000;

// All addresses that pattern packets stand for.
std::vector<uint64_t> expand(const std::vector<Packet>& packets) {
  std::vector<uint64_t> out;
  substrata_owl_expander* expander = nullptr;
  EXPECT_EQ(substrata_owl_expander_open(&expander), 0);
  for (const Packet& packet : packets) {
    EXPECT_EQ(substrata_owl_expander_take(
                  expander, packet.data.data(), packet.data.size(),
                  [](void* to, uint64_t address, uint64_t) {
                    static_cast<std::vector<uint64_t>*>(to)->push_back(address);
                  },
                  &out),
              0)
        << substrata_owl_error();
  }
  substrata_owl_expander_close(expander);
  return out;
}

TEST(OwlPattern, OfSeventyTwoAccessesBecomesOnePoint) {  // OW-9
  Feed feed("owl.test.pattern");
  TestCapsule capsule(feed.name(), "pattern", "", 1 << 24);
  std::mt19937_64 random(72);
  std::vector<uint64_t> offsets{0};
  for (int i = 1; i < 72; ++i) offsets.push_back(random() % 4096 * 8);
  std::vector<uint64_t> sent;
  uint64_t base = 1 << 24;
  for (int i = 0; i < kMany / 72; ++i) {
    base += 0x10000 + random() % 16 * 0x1000;
    for (const uint64_t offset : offsets) sent.push_back(base + offset);
  }
  for (const uint64_t address : sent) feed.access(address);
  const auto packets = capsule.drain();
  EXPECT_EQ(expand(packets), sent);
  const uint64_t points = capsule.metric("POINTS");
  EXPECT_GE(points, static_cast<uint64_t>(kMany / 72 - 4));
  EXPECT_EQ(capsule.metric("COVERED"), points * 72);
  EXPECT_EQ(capsule.metric("COVERED") + capsule.metric("LITERALS"), sent.size());
}

TEST(OwlPattern, ExpansionGivesBackAnyStream) {  // OW-9
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Feed feed("owl.test.expansion");
    TestCapsule capsule(feed.name(), "pattern", seed % 2 == 0 ? "patterns=3:length=20" : "", 1 << 24);
    std::mt19937_64 random(seed);
    std::vector<uint64_t> sent;
    uint64_t address = 0;
    while (sent.size() < static_cast<size_t>(kMany / 10)) {
      const unsigned shape = static_cast<unsigned>(random() % 4);
      const uint64_t stride = random() % 3 == 0 ? 0 : random() % 300;
      const int length = static_cast<int>(random() % 400);
      for (int i = 0; i < length; ++i) {
        if (shape == 0) address += stride;
        if (shape == 1) address += i % 7 * 8;
        if (shape == 2) address = random();
        if (shape == 3) address += (i % 50) * (i % 50) - 400u;
        sent.push_back(address);
      }
    }
    for (const uint64_t each : sent) feed.access(each);
    EXPECT_EQ(expand(capsule.drain()), sent) << seed;
  }
}

// 72 loads of a record, the same for each; `odd` other accesses somewhere among those of each record.
std::vector<uint64_t> records_with_odd_accesses(int records, int odd) {
  std::mt19937_64 random(72);
  std::vector<uint64_t> offsets{0};
  for (int i = 1; i < 72; ++i) offsets.push_back(random() % 4096 * 8);
  std::vector<uint64_t> sent;
  for (int i = 0; i < records; ++i) {
    const uint64_t base = (uint64_t{1} << 24) + random() % 4096 * 0x10000;
    const size_t begin = sent.size();
    for (const uint64_t offset : offsets) sent.push_back(base + offset);
    for (int each = 0; each < odd; ++each) {
      const size_t at = begin + 8 + random() % 60;  // not at the front, where a row is found
      sent.insert(sent.begin() + static_cast<std::ptrdiff_t>(at), random() >> 34);
    }
  }
  return sent;
}

struct Reduced {
  uint64_t points, covered, gaps, literals, packets;
};
Reduced reduced_by(const std::string& module, const std::string& registers,
                   const std::vector<uint64_t>& sent) {
  Feed feed("owl.test.subsequences");
  TestCapsule capsule(feed.name(), module, registers, 1 << 24);
  for (const uint64_t address : sent) feed.access(address);
  const auto packets = capsule.drain();
  EXPECT_EQ(expand(packets), sent);
  return {capsule.metric("POINTS"), capsule.metric("COVERED"), module == "lcs" ? capsule.metric("GAPS") : 0,
          capsule.metric("LITERALS"), packets.size()};
}

TEST(OwlLcs, APatternGoesOnBehindAnOddAccess) {
  const std::vector<uint64_t> sent = records_with_odd_accesses(400, 1);
  const Reduced found = reduced_by("lcs", "", sent);
  EXPECT_GE(found.points, 380u);
  EXPECT_EQ(found.covered, found.points * 72);
  EXPECT_EQ(found.gaps, found.points);
  EXPECT_EQ(found.covered + found.gaps + found.literals, sent.size());
}

TEST(OwlLcs, WithoutGapsAnOddAccessEndsAPattern) {
  const std::vector<uint64_t> sent = records_with_odd_accesses(400, 1);
  const Reduced found = reduced_by("lcs", "gap=0", sent);
  EXPECT_EQ(found.gaps, 0u);
  EXPECT_GE(found.packets, 3 * 400u);
}

TEST(OwlLcs, UndisturbedRecordsGiveAPointEach) {
  const Reduced found = reduced_by("lcs", "", records_with_odd_accesses(400, 0));
  EXPECT_GE(found.points, 390u);
  EXPECT_EQ(found.covered, found.points * 72);
}

TEST(OwlLcs, ExpansionGivesBackAnyStream) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint64_t> sent;
    uint64_t address = 0;
    while (sent.size() < static_cast<size_t>(kMany / 20)) {
      const uint64_t shape = random() % 4;
      const uint64_t stride = random() % 300;
      for (uint64_t i = 0, length = random() % 400; i < length; ++i) {
        address = shape == 0   ? address + stride
                  : shape == 1 ? address + i % 7 * 8
                  : shape == 2 ? random() >> 60
                               : random();
        sent.push_back(address);
      }
    }
    const Reduced found =
        reduced_by("lcs", seed % 2 == 0 ? "patterns=3:length=20:gap=64:window=16:before=8" : "", sent);
    EXPECT_EQ(found.covered + found.gaps + found.literals, sent.size()) << seed;
  }
}

TEST(OwlLcs, ARowTakesTheBitsOfItsLargestDifference) {
  Feed feed("owl.test.bits");
  TestCapsule capsule(feed.name(), "lcs", "length=6:window=8:before=8", 1 << 20);
  // Five differences, the largest of four bits and a sign, over and over.
  const int steps[] = {9, 2, 3, 2, 9};
  uint64_t address = 1 << 20;
  for (int i = 0; i < 200; ++i) feed.access(address += static_cast<uint64_t>(steps[i % 5]));
  capsule.drain();
  const uint64_t rows = capsule.metric("PATTERNS"), bits = capsule.metric("TABLE_BITS");
  EXPECT_GT(rows, 0u);
  EXPECT_GE(bits, rows * 4 * 5);
  EXPECT_LE(bits, rows * 5 * 5);
}

TEST(OwlLcs, AnExpanderRefusesAGapBehindItsPattern) {
  substrata_owl_expander* expander = nullptr;
  ASSERT_EQ(substrata_owl_expander_open(&expander), 0);
  const auto ignore = [](void*, uint64_t, uint64_t) {};
  const uint32_t definition[] = {2, 1, 1, 0, 8, 0};  // pattern 1 has one step of 8 bytes
  const uint64_t point[] = {uint64_t{1} << 32 | 4, 4096, 1, 77};
  const uint64_t behind[] = {uint64_t{1} << 32 | 4, 4096, 2, 77};
  EXPECT_EQ(substrata_owl_expander_take(expander, definition, sizeof definition, ignore, nullptr), 0);
  EXPECT_EQ(substrata_owl_expander_take(expander, point, sizeof point, ignore, nullptr), 0);
  EXPECT_EQ(substrata_owl_expander_take(expander, behind, sizeof behind, ignore, nullptr), -1);
  EXPECT_EQ(substrata_owl_expander_take(expander, behind, sizeof behind - 8, ignore, nullptr), -1);
  substrata_owl_expander_close(expander);
}

}  // namespace
}  // namespace substrata::owl::test
