// Rules: when they recruit, what they do and what they report.
#include <gtest/gtest.h>
#include <substrata/owl.h>

#include <csignal>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "feeding.hpp"

namespace substrata::owl::test {
namespace {

TEST(OwlRule, RecruitsWhenTheRatioRisesAndNamesThePairThatConflicts) {  // OW-11
  Feed accesses("owl.test.rule.accesses", 64);
  Feed fills("owl.test.rule.fills", 64);
  TestCapsule background(accesses.name(), "counter", "", 4096, "rule-accesses");
  TestCapsule misses(fills.name(), "counter", "", 4096, "rule-fills");
  substrata_owl_objects_clear();
  ASSERT_EQ(substrata_owl_object_add("left", 0x10000, 0x1000), 0);
  ASSERT_EQ(substrata_owl_object_add("right", 0x20000, 0x1000), 0);
  substrata_owl_rule* rule = nullptr;
  ASSERT_EQ(
      substrata_owl_recruit(
          "# when half of the accesses fill\n"
          "watch counter.TRANSACTIONS of rule-fills per counter.TRANSACTIONS of rule-accesses every 1000\n"
          "when above 0.5\n"
          "attach conflict at owl.test.rule.fills with sets=16:line=64\n"
          "attach missrate at owl.test.rule.accesses,owl.test.rule.fills\n"
          "for 5000\n"
          "report conflicts\nreport objects\n",
          &rule),
      0)
      << substrata_owl_error();
  uint64_t times = 0;
  const char* report = nullptr;
  for (uint64_t i = 0; i < 10'000; ++i) accesses.access(0x10000 + i % 512 * 8);
  ASSERT_EQ(substrata_owl_recruited(rule, &times, &report), 0);
  EXPECT_EQ(times, 0u);
  EXPECT_STREQ(report, "");
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t address = (i % 2 == 0 ? 0x10000 : 0x20000) + i / 2 % 16 * 64;
    accesses.access(address);
    fills.access(address, SUBSTRATA_FILL, SUBSTRATA_HIT);
  }
  ASSERT_EQ(substrata_owl_recruited(rule, &times, &report), 0);
  EXPECT_GE(times, 1u);
  EXPECT_EQ(std::string(report).rfind("conflict left right ", 0), 0u) << report;
  EXPECT_NE(std::string(report).find("object left accesses "), std::string::npos) << report;
  substrata_owl_dismiss(rule);
  substrata_owl_objects_clear();
}

// A condition, and of ten accesses how many fill when it is met; five do before.
using RuleCondition = std::pair<const char*, uint64_t>;

class OwlRuleCondition : public testing::TestWithParam<RuleCondition> {};

TEST_P(OwlRuleCondition, RecruitsWhenItIsMetAndReportsWhatTheRecruitCounted) {  // OW-11
  const auto [condition, filling] = GetParam();
  Feed accesses("owl.test.condition.accesses", 16);
  Feed fills("owl.test.condition.fills", 16);
  TestCapsule background(accesses.name(), "counter", "", 4096, "condition-accesses");
  TestCapsule misses(fills.name(), "counter", "", 4096, "condition-fills");
  const std::string text =
      std::string("watch counter.TRANSACTIONS of condition-fills per counter.TRANSACTIONS of ") +
      "condition-accesses every 1000\nwhen " + condition +
      "\nattach counter at owl.test.condition.fills\nfor 2000\nreport metrics\n";
  substrata_owl_rule* rule = nullptr;
  ASSERT_EQ(substrata_owl_recruit(text.c_str(), &rule), 0) << substrata_owl_error();
  const auto run = [&](uint64_t of_ten) {
    for (uint64_t i = 0; i < 6000; ++i) {
      if (i % 10 < of_ten) fills.access(64 * i, SUBSTRATA_FILL);
      accesses.access(64 * i);
    }
  };
  uint64_t before = 0, times = 0;
  const char* report = nullptr;
  run(5);
  ASSERT_EQ(substrata_owl_recruited(rule, &before, &report), 0);
  run(filling);
  ASSERT_EQ(substrata_owl_recruited(rule, &times, &report), 0);
  EXPECT_EQ(before, 0u);
  EXPECT_GE(times, 1u);
  EXPECT_EQ(std::string(report).rfind("metrics counter owl.test.condition.fills TRANSACTIONS ", 0), 0u)
      << report;
  substrata_owl_dismiss(rule);
}

INSTANTIATE_TEST_SUITE_P(, OwlRuleCondition,
                         testing::Values(RuleCondition{"above 0.7", 9}, RuleCondition{"below 0.3", 1},
                                         RuleCondition{"rising 1.5", 9}, RuleCondition{"falling 0.5", 1}));

TEST(OwlRule, WhatIsNotUnderstoodIsRefusedWithItsLine) {
  substrata_owl_rule* rule = nullptr;
  EXPECT_EQ(substrata_owl_recruit("", &rule), -1);
  EXPECT_EQ(substrata_owl_recruit("\nwhenever", &rule), -1);
  EXPECT_NE(std::string(substrata_owl_error()).find("line 2"), std::string::npos);
  EXPECT_EQ(substrata_owl_recruit("watch a.B of c per d.E of f every 10", &rule), -7);
  EXPECT_EQ(substrata_owl_recruit("attach nothing at x", &rule), -7);
  EXPECT_EQ(substrata_owl_recruit("when above much", &rule), -1);
  EXPECT_EQ(rule, nullptr);
}

// A rule and what it reported.
class Rule {
 public:
  explicit Rule(const std::string& text) {
    EXPECT_EQ(substrata_owl_recruit(text.c_str(), &rule_), 0) << substrata_owl_error();
  }
  ~Rule() { substrata_owl_dismiss(rule_); }
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;
  uint64_t times() {
    uint64_t times = 0;
    const char* report = "";
    EXPECT_EQ(substrata_owl_recruited(rule_, &times, &report), 0);
    report_ = report;
    return times;
  }
  const std::string& report() const { return report_; }

 private:
  substrata_owl_rule* rule_ = nullptr;
  std::string report_;
};

// An event and what its ratio to the reads of its set does.
using WatchedRatio = std::pair<const char*, const char*>;
class OwlRuleOnEvents : public testing::TestWithParam<WatchedRatio> {};

TEST_P(OwlRuleOnEvents, RecruitsByTheRatioOfTwoEvents) {
  const auto [ratio, condition] = GetParam();
  Feed accesses("owl.test.events.accesses", 16);
  TestCapsule background(accesses.name(), "counter", "", 4096, "events-accesses");
  Rule rule(std::string("watch ") + ratio + " every 1000 of counter.TRANSACTIONS of events-accesses\nwhen " +
            condition + "\nattach counter at owl.test.events.accesses\nfor 2000\nreport metrics\n");
  for (uint64_t i = 0; i < 8000; ++i) accesses.access(64 * i);
  EXPECT_GE(rule.times(), 1u);
  EXPECT_EQ(rule.report().rfind("metrics counter owl.test.events.accesses TRANSACTIONS ", 0), 0u)
      << rule.report();
}

// Each look reads both sets once: one event grows by one, the other not at all.
INSTANTIATE_TEST_SUITE_P(, OwlRuleOnEvents,
                         testing::Values(WatchedRatio{"example:::zero per example:::reads", "below 0.5"},
                                         WatchedRatio{"example:::reads per example:::reads", "above 0.5"},
                                         WatchedRatio{
                                             "example:::reads per counter.TRANSACTIONS of events-accesses",
                                             "below 0.01"}));

TEST(OwlRule, AConditionThatTwoEventsDoNotMeetRecruitsNothing) {
  Feed accesses("owl.test.quiet.accesses", 16);
  TestCapsule background(accesses.name(), "counter", "", 4096, "quiet-accesses");
  Rule rule(
      "watch example:::zero per example:::reads every 1000 of counter.TRANSACTIONS of quiet-accesses\nwhen "
      "above 0.5\n"
      "attach counter at owl.test.quiet.accesses\nfor 2000\n");
  for (uint64_t i = 0; i < 8000; ++i) accesses.access(64 * i);
  EXPECT_EQ(rule.times(), 0u);
}

TEST(OwlRule, AnEventThatCannotBeWatchedIsRefusedWithItsLine) {
  substrata_owl_rule* rule = nullptr;
  TestCapsule background("owl.test.refused", "counter", "", 4096, "refused-accesses");
  const auto refusal = [&](const std::string& watch) {
    EXPECT_LT(substrata_owl_recruit(("\n" + watch).c_str(), &rule), 0) << watch;
    return std::string(substrata_owl_error());
  };
  const std::string clock = " every 10 of counter.TRANSACTIONS of refused-accesses";
  EXPECT_NE(refusal("watch no:::such per example:::reads" + clock).find("line 2: the event 'no:::such'"),
            std::string::npos);
  EXPECT_NE(refusal("watch example:::reads per owl:::DROPPED" + clock).find("computed from the feed"),
            std::string::npos);
  EXPECT_NE(refusal("watch example:::reads per example:::reads every 10").find("when to look"),
            std::string::npos);
  EXPECT_EQ(rule, nullptr);
}

volatile std::sig_atomic_t signals_seen = 0;

TEST(OwlRule, ActsByASignalEachTimeItRecruits) {
  struct sigaction counting {};
  counting.sa_handler = [](int) { signals_seen = signals_seen + 1; };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR2, &counting, &before), 0);
  signals_seen = 0;
  Feed accesses("owl.test.act.accesses", 16);
  TestCapsule background(accesses.name(), "counter", "", 4096, "act-accesses");
  uint64_t times = 0;
  {
    Rule rule(
        "watch counter.TRANSACTIONS of act-accesses per counter.TRANSACTIONS of act-accesses every "
        "1000\nwhen above 0.5\n"
        "attach counter at owl.test.act.accesses\nact signal SIGUSR2\nfor 1000\n");
    for (uint64_t i = 0; i < 6500; ++i) accesses.access(64 * i);
    times = rule.times();
  }
  sigaction(SIGUSR2, &before, nullptr);
  EXPECT_GE(times, 2u);
  EXPECT_GE(static_cast<uint64_t>(signals_seen), times);
  EXPECT_LE(static_cast<uint64_t>(signals_seen), times + 1);  // the last one may not have ended
}

// The first address of each pair misses in the first level, every other one of these in the second.
TEST(OwlRule, FollowsAMissFromLevelToLevelByObject) {
  Feed first("owl.test.levels.first", 16);
  Feed second("owl.test.levels.second", 16);
  TestCapsule background(first.name(), "counter", "", 4096, "levels-first");
  substrata_owl_objects_clear();
  ASSERT_EQ(substrata_owl_object_add("near", 0x10000, 0x1000), 0);
  ASSERT_EQ(substrata_owl_object_add("far", 0x20000, 0x1000), 0);
  Rule rule(
      "watch counter.TRANSACTIONS of levels-first per counter.TRANSACTIONS of levels-first every 1024\nwhen "
      "above 0.5\n"
      "attach histogram at owl.test.levels.first\nattach histogram at owl.test.levels.second\nfor 4096\n"
      "report levels\n");
  for (uint64_t i = 0; i < 20'000; ++i) {
    const bool far = i % 2 == 0;
    const uint64_t address = (far ? 0x20000 : 0x10000) + i / 2 % 8 * 64;
    first.access(address, SUBSTRATA_READ, far ? SUBSTRATA_MISS : SUBSTRATA_HIT);
    if (far) second.access(address, SUBSTRATA_FILL, i % 4 == 0 ? SUBSTRATA_MISS : SUBSTRATA_HIT);
  }
  ASSERT_GE(rule.times(), 1u);
  std::istringstream line(rule.report().substr(0, rule.report().find('\n')));
  std::string level, object, place, next, misses;
  uint64_t accesses = 0, missed = 0, fills = 0, from_memory = 0;
  line >> level >> object >> place >> accesses >> misses >> missed >> next >> fills >> misses >> from_memory;
  EXPECT_EQ(level + " " + object + " " + place + " " + next,
            "level far owl.test.levels.first owl.test.levels.second")
      << rule.report();
  EXPECT_GT(accesses, 1000u);
  EXPECT_EQ(missed, accesses);
  EXPECT_NEAR(static_cast<double>(from_memory), static_cast<double>(fills) / 2, 20) << rule.report();
  EXPECT_EQ(rule.report().find("level near owl.test.levels.first 0"), std::string::npos);
  substrata_owl_objects_clear();
}

TEST(OwlRule, KeepsThePacketsOfRecruitsThatNoReportIsMadeOf) {
  Feed accesses("owl.test.kept.accesses", 16);
  TestCapsule background(accesses.name(), "counter", "", 4096, "kept-accesses");
  Rule rule(
      "watch counter.TRANSACTIONS of kept-accesses per counter.TRANSACTIONS of kept-accesses every "
      "1000\nwhen above 0.5\n"
      "attach sampler at owl.test.kept.accesses with period=10\nattach sampler at owl.test.kept.accesses "
      "with period=100\n"
      "for 2000\nreport rings\n");
  for (uint64_t i = 0; i < 9000; ++i) accesses.access(64 * i);
  ASSERT_GE(rule.times(), 1u);
  std::istringstream lines(rule.report());
  std::vector<uint64_t> packets;
  for (std::string ring, module, place, path; lines >> ring >> module >> place >> path;) {
    ASSERT_EQ(ring + " " + module, "ring sampler");
    substrata_owl_reader* reader = nullptr;
    ASSERT_EQ(substrata_owl_reader_open(path.c_str(), SUBSTRATA_OWL_WATCH, &reader), 0)
        << substrata_owl_error();
    substrata_owl_packet packet{};
    std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
    uint64_t found = 0;
    while (substrata_owl_reader_peek(reader, &packet, data.data(), data.size()) == 1) {
      ++found;
      substrata_owl_reader_consume(reader);
    }
    packets.push_back(found);
    substrata_owl_reader_close(reader);
  }
  ASSERT_EQ(packets.size(), 2u) << rule.report();
  EXPECT_GE(packets[0], 200u);
  EXPECT_GE(packets[1], 20u);
}

}  // namespace
}  // namespace substrata::owl::test
