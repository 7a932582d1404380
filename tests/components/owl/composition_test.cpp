// Composed modules: what they compute, and where errors are.
#include <map>

#include "feeding.hpp"

namespace substrata::owl::test {
namespace {

int compose(const std::string& text) { return substrata_owl_compose(text.data(), text.size(), "text"); }

std::string refusal(const std::string& text) {
  char name[64];
  EXPECT_LT(substrata_owl_check(text.data(), text.size(), "x", name, sizeof name), 0) << text;
  return substrata_owl_error();
}
void expect_refusal(const std::string& text, const char* part) {
  EXPECT_NE(refusal(text).find(part), std::string::npos) << substrata_owl_error();
}

TEST(OwlComposition, FiltersMapsAndCounts) {  // OW-6
  ASSERT_EQ(compose(R"(# sizes of long writes
    module long_writes "sizes of long writes, by power of two" {
      register least = 16 in 1..4096 "bytes";
      let long = filter(kind == WRITE && size >= least);
      input -> long -> map(detail = log2(size)) -> bins(bins = 64, key = 5);
      long -> counter;
    })"),
            0)
      << substrata_owl_error();
  Feed feed("owl.test.composed", 1);
  TestCapsule capsule(feed.name(), "long_writes");
  std::map<uint64_t, uint64_t> expected;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const uint32_t size = random() % 300;
    const bool write = random() % 2 == 0;
    feed.access(1, write ? SUBSTRATA_WRITE : SUBSTRATA_READ, 0, size);
    uint64_t power = 0;
    while (size >> (power + 1) != 0) ++power;
    if (write && size >= 16) ++expected[power];
  }
  uint64_t total = 0;
  for (const auto& [power, count] : expected) total += count;
  EXPECT_EQ(capsule.metric("LONG_PASSED"), total);
  EXPECT_EQ(capsule.metric("LONG_SEEN"), 2000u);
  EXPECT_EQ(capsule.metric("COUNTER_TRANSACTIONS"), total);
  std::map<uint64_t, uint64_t> bins;
  for (const Packet& packet : capsule.drain()) {
    EXPECT_EQ(packet.stage, 2u);
    bins[packet.words()[0]] = packet.words()[1];
  }
  EXPECT_EQ(bins, expected);
  ASSERT_EQ(substrata_owl_write_register(capsule.get(), "least", 4000), 0) << substrata_owl_error();
  feed.access(1, SUBSTRATA_WRITE, 0, 300);
  EXPECT_EQ(capsule.metric("LONG_PASSED"), total);
}

TEST(OwlComposition, ExpressionsComputeAsInC) {
  const std::vector<std::pair<std::string, uint64_t>> cases{
      {"1 + 2 * 3", 7},       {"(1 + 2) * 3", 9},
      {"10 - 3 - 2", 5},      {"7 / 0", 0},
      {"7 % 4", 3},           {"1 << 4 | 1", 17},
      {"5 & 6 ^ 1", 5},       {"!0 + !5", 1},
      {"~0 == 0 - 1", 1},     {"1 < 2 && 2 <= 2", 1},
      {"1 > 2 || 3 != 3", 0}, {"min(3, 4) + max(3, 4)", 7},
      {"log2(1024)", 10},     {"log2(0)", 0},
      {"1 << 64", 0},         {"-1 + 2", 1},
      {"size * 2", 16},       {"address >> 4", 0x10},
      {"kind == READ", 1},    {"state == MISS", 0},
      {"0x10 + 1k", 1040},    {"2 * (size - initiator) / 4", 4},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string name = "expression" + std::to_string(i);
    ASSERT_EQ(compose("module " + name + " { input -> map(detail = " + cases[i].first + ") -> output; }"), 0)
        << substrata_owl_error();
    Feed feed("owl.test.expressions");
    TestCapsule capsule(feed.name(), name);
    feed.access(0x100);
    const auto packets = capsule.drain();
    ASSERT_EQ(packets.size(), 1u);
    substrata_transaction t{};
    std::memcpy(&t, packets[0].data.data(), sizeof t);
    EXPECT_EQ(t.detail, cases[i].second) << cases[i].first;
  }
}

TEST(OwlComposition, TriggersOpenForSoMany) {
  ASSERT_EQ(
      compose("module opening { register n = 3; input -> trigger(address == 7, after = n) -> output; }"), 0)
      << substrata_owl_error();
  Feed feed("owl.test.trigger");
  TestCapsule capsule(feed.name(), "opening");
  for (uint64_t i = 0; i < 20; ++i) feed.access(i);
  std::vector<uint64_t> got;
  for (const Packet& packet : capsule.drain()) got.push_back(packet.words()[2]);
  EXPECT_EQ(got, (std::vector<uint64_t>{7, 8, 9}));
}

TEST(OwlComposition, PatternsOfPatternsExposeTheNextLevelAndExpandExactly) {  // OW-9
  ASSERT_EQ(compose("module levels { input -> pattern(forward = 1) -> pattern(symbols = 1); }"), 0)
      << substrata_owl_error();
  Feed feed("owl.test.levels");
  TestCapsule capsule(feed.name(), "levels", "", 1 << 22);
  // Rows of 32 accesses, 12 rows with a fixed step between them, then a jump: rows are patterns, row groups a
  // level up.
  std::vector<uint64_t> sent;
  std::mt19937_64 random(2);
  std::vector<uint64_t> row{0};
  for (int i = 1; i < 32; ++i) row.push_back(random() % 2000 * 4);
  uint64_t base = 1 << 20;
  for (int group = 0; group < (tests::kSanitized ? 20 : 200); ++group) {
    base += random() % 1000 * 16384;
    for (uint64_t r = 0; r < 12; ++r)
      for (const uint64_t offset : row) sent.push_back(base + r * 65536 + offset);
  }
  for (const uint64_t address : sent) feed.access(address);
  substrata_owl_expander* below = nullptr;
  substrata_owl_expander* above = nullptr;
  ASSERT_EQ(substrata_owl_expander_open(&below), 0);
  ASSERT_EQ(substrata_owl_expander_open(&above), 0);
  struct Levels {
    substrata_owl_expander* below;
    std::vector<uint64_t> got;
  } levels{below, {}};
  const auto packets = capsule.drain();
  for (const Packet& packet : packets) {
    if (packet.stage == 0) {  // a definition of the lower level
      ASSERT_EQ(substrata_owl_expander_take(
                    below, packet.data.data(), packet.data.size(), [](void*, uint64_t, uint64_t) { FAIL(); },
                    nullptr),
                0);
      continue;
    }
    ASSERT_EQ(substrata_owl_expander_take(
                  above, packet.data.data(), packet.data.size(),
                  [](void* owner, uint64_t address, uint64_t pattern) {
                    auto& self = *static_cast<Levels*>(owner);
                    if (pattern == 0) {
                      self.got.push_back(address);
                      return;
                    }
                    struct {
                      uint32_t kind = 1;
                      uint32_t number;
                      uint64_t address;
                    } point{1, static_cast<uint32_t>(pattern), address};
                    EXPECT_EQ(substrata_owl_expander_take(
                                  self.below, &point, sizeof point,
                                  [](void* to, uint64_t each, uint64_t) {
                                    static_cast<std::vector<uint64_t>*>(to)->push_back(each);
                                  },
                                  &self.got),
                              0)
                        << substrata_owl_error();
                  },
                  &levels),
              0)
        << substrata_owl_error();
  }
  EXPECT_EQ(levels.got, sent);
  EXPECT_GT(capsule.metric("PATTERN2_POINTS"), 0u);
  EXPECT_LT(packets.size() * 32, sent.size() * 2);
  substrata_owl_expander_close(below);
  substrata_owl_expander_close(above);
}

TEST(OwlComposition, ErrorsPointAtLineAndColumn) {  // OW-6
  EXPECT_NE(refusal("").find("x:1:1: 'module' is missing before the end of the text"), std::string::npos);
  expect_refusal("module a {\n  input -> nothing(x = 1);\n}", "x:2:12: there is no sub-module 'nothing'");
  expect_refusal("module a {\n  input -> histogram(counter = 1);\n}",
                 "x:2:22: module 'histogram' has no register");
  expect_refusal("module a { input -> histogram(counters = 0); }", "x:1:42: 'counters' takes 1 to 65536");
  expect_refusal("module a { input -> filter(size > ); }", "x:1:35: a value is missing before ')'");
  expect_refusal("module a { input -> filter(sice > 1) -> output; }", "x:1:28: 'sice' is not a field");
  EXPECT_NE(refusal("module a { let b = filter(1); input -> counter; }").find("'b' is never fed"),
            std::string::npos);
  EXPECT_NE(refusal("module a { input -> counter }").find("';' is missing before '}'"), std::string::npos);
  EXPECT_NE(refusal("module a { input -> counter; } more").find("behind the module"), std::string::npos);
  EXPECT_NE(refusal("module a { register size = 1; input -> counter; }").find("a field's name"),
            std::string::npos);
  EXPECT_NE(refusal("module a { register r = 9 in 1..4; input -> counter; }").find("outside"),
            std::string::npos);
  EXPECT_NE(refusal("module a { register r = 0; input -> sampler(period = r); }").find("outside the bounds"),
            std::string::npos);
  EXPECT_NE(refusal("module A { }").find("small letters"), std::string::npos);
  EXPECT_NE(refusal("module a \"x { }").find("no closing"), std::string::npos);
  EXPECT_NE(refusal("module a { }").find("nothing is fed"), std::string::npos);
  EXPECT_NE(refusal("module a { input -> filter(" + std::string(1000, '(') + "1").find("nested too deeply"),
            std::string::npos);
}

TEST(OwlComposition, RegistersOfSubModulesTakeTheCompositionsOwn) {
  ASSERT_EQ(compose("module sized { register n = 32; input -> histogram(counters = n, block = 1); }"), 0);
  Feed feed("owl.test.sized");
  TestCapsule capsule(feed.name(), "sized", "n=4");
  for (uint64_t i = 0; i < 10; ++i) feed.access(i);
  EXPECT_EQ(capsule.metric("HISTOGRAM_COUNTERS_USED"), 4u);
  EXPECT_EQ(capsule.metric("HISTOGRAM_EVICTIONS"), 6u);
  EXPECT_EQ(substrata_owl_write_register(capsule.get(), "n", 8), -8);
  EXPECT_EQ(capsule.statistics().cost.counters, 8u);
}

TEST(OwlComposition, ASubModuleThatFeedsItselfIsRefusedWhereItIsFed) {  // OW-6
  expect_refusal("module self { let a = filter(1); input -> counter; a -> a; }",
                 ":1:57: 'a' is never fed by input");
}

TEST(OwlComposition, ACircleThatInputNeverEntersIsRefused) {  // OW-6
  expect_refusal("module circle { let a = filter(1); let b = filter(1); a -> b; b -> a; input -> counter; }",
                 "is never fed by input");
}

TEST(OwlComposition, WhatStandsBehindASubModuleThatHandsNothingOnIsRefused) {  // OW-6
  expect_refusal("module deaf {\n  input -> histogram -> counter;\n}",
                 ":2:25: 'histogram' hands no transactions on");
}

TEST(OwlComposition, TooLongAMetricsNameIsShownAtItsSubModule) {  // OW-6
  expect_refusal(
      "module long_name {\n  let abcdefghijklmnopqrstuvwxyz = counter;\n  input -> "
      "abcdefghijklmnopqrstuvwxyz;\n}",
      ":2:36: ");
}

TEST(OwlComposition, ALiveRegisterOfASubModuleStaysLive) {  // OW-6
  ASSERT_EQ(compose("module live_period { register n = 10; input -> sampler(period = n); }"), 0)
      << substrata_owl_error();
  Feed feed("owl.test.live-period", 1);
  TestCapsule capsule(feed.name(), "live_period");
  for (int i = 0; i < 100; ++i) feed.access(1);
  EXPECT_EQ(capsule.metric("SAMPLER_SAMPLES"), 10u);
  EXPECT_EQ(substrata_owl_write_register(capsule.get(), "n", 5), 0) << substrata_owl_error();
  for (int i = 0; i < 100; ++i) feed.access(1);
  EXPECT_EQ(capsule.metric("SAMPLER_SAMPLES"), 30u);
}

}  // namespace
}  // namespace substrata::owl::test
