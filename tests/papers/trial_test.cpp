// How claims are judged: by all sizes and seeds, by swept parameters, and by a mutant.
#include "papers/trial.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace substrata::papers {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();

Claim claim_with(std::vector<Unsourced> unsourced = {}, Mutant mutant = {"off", "the cause"}) {
  return {"high",
          {"1.2", "it is high", "high"},
          {"the reading", "us", 10, kNoBound},
          Interval::kMean,
          "nothing",
          std::move(unsourced),
          std::move(mutant)};
}

// What a model gives for the claim in the setting "": `value`, with its mutant: 1.
Study study_of(std::function<double(const Case&)> value, std::vector<Unsourced> unsourced = {}) {
  return {{claim_with(std::move(unsourced))},
          {{"small", 1, 2}, {"middle", 2, 2}, {"large", 3, 2}},
          {{"large", 3, 2}, {"larger", 4, 2}, {"largest", 5, 2}},
          [value = std::move(value)](const Case& one) {
            return Readings{{"high", {one.setting == "off" ? 1 : value(one)}}};
          }};
}

Trial trial_of(const Study& study) { return try_claims(study, false).front(); }

TEST(Trial, HoldsWhereEverySizeAndSeedIsWithinTheCriterion) {
  EXPECT_EQ(trial_of(study_of([](const Case&) { return 20; })).verdict, Verdict::kHolds);
}

TEST(Trial, DiffersWhereNoneIs) {
  EXPECT_EQ(trial_of(study_of([](const Case&) { return 2; })).verdict, Verdict::kDiffers);
}

TEST(Trial, IsUndecidedWhereTheSizeDecides) {
  const Trial trial = trial_of(study_of([](const Case& one) { return one.size.amount == 1 ? 2 : 20; }));
  EXPECT_EQ(trial.verdict, Verdict::kUndecided) << trial.why;
}

TEST(Trial, IsUndecidedWhereTheIntervalContainsTheBound) {
  const Trial trial = trial_of(study_of([](const Case& one) { return one.seed % 2 == 0 ? 2 : 20; }));
  EXPECT_EQ(trial.verdict, Verdict::kUndecided) << trial.why;
}

TEST(Trial, IsUndecidedWhereAParameterWithoutASourceDecides) {
  const Trial trial = trial_of(study_of([](const Case& one) { return one.setting == "buffers=64" ? 2 : 20; },
                                        {{"buffers", {"buffers=64"}}}));
  EXPECT_EQ(trial.verdict, Verdict::kUndecided) << trial.why;
}

TEST(Trial, NamesTheParameterThatDecides) {
  const Trial trial = trial_of(study_of([](const Case& one) { return one.setting == "depth=2" ? 2 : 20; },
                                        {{"breadth", {"breadth=1"}}, {"depth", {"depth=1", "depth=2"}}}));
  EXPECT_EQ(trial.why, "it depends on a parameter without a source: depth");
}

// A bound of 3 % on a slowdown that was never above it, whatever the monitor cost.
TEST(Trial, RefusesAClaimThatHoldsWithoutItsCause) {
  Study study = study_of([](const Case&) { return 20; });
  study.measure = [](const Case&) { return Readings{{"high", {20}}}; };
  EXPECT_EQ(trial_of(study).verdict, Verdict::kRefused);
}

TEST(Trial, TriesFiveSeeds) {
  std::set<std::uint64_t> seeds;
  trial_of(study_of([&](const Case& one) {
    seeds.insert(one.seed);
    return 20;
  }));
  EXPECT_EQ(seeds.size(), 5u);
}

TEST(Trial, TriesTheLargerSizesOnRequest) {
  EXPECT_EQ(try_claims(study_of([](const Case&) { return 20; }), true).front().sizes.back().name, "largest");
}

TEST(Trial, RefusesAStudyOfTwoSizes) {
  Study study = study_of([](const Case&) { return 20; });
  study.reduced.pop_back();
  EXPECT_THROW(try_claims(study, false), std::invalid_argument);
}

TEST(Trial, RefusesAStudyThatHasNoReadingOfAClaim) {
  Study study = study_of([](const Case&) { return 20; });
  study.measure = [](const Case&) { return Readings{}; };
  EXPECT_THROW(try_claims(study, false), std::invalid_argument);
}

TEST(Claim, NeedsAMutant) { EXPECT_THROW(claim_with({}, {"", ""}), std::invalid_argument); }

TEST(Claim, NeedsTheRangeOfAParameterWithoutASource) {
  EXPECT_THROW(claim_with({{"buffers", {}}}), std::invalid_argument);
}

TEST(Claim, NeedsABound) {
  EXPECT_THROW(Claim("any", {"1", "it is", "so"}, {"the reading", "us", -kNoBound, kNoBound}, Interval::kMean,
                     "nothing", {}, {"off", "the cause"}),
               std::invalid_argument);
}

// Five values with mean 3 and standard deviation 1.581: 3 +- 2.776 * 0.7071.
TEST(Span, OfAMeanIsStudentsInterval) {
  const Span span = span_of({1, 2, 3, 4, 5}, Interval::kMean);
  EXPECT_NEAR(span.most - span.mean, 1.963, 0.001);
}

TEST(Span, OfARangeIsLeastToMost) {
  const Span span = span_of({4, 1, 5, 2, 3}, Interval::kRange);
  EXPECT_TRUE(span.least == 1 && span.most == 5);
}

}  // namespace
}  // namespace substrata::papers
