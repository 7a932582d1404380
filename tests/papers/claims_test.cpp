// The claims of a reproduction as they are read from a file.
#include "papers/claims.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace substrata::papers {
namespace {

using Json = nlohmann::ordered_json;

Json claim() {
  return {{"id", "peak"},
          {"section", "4.1"},
          {"claim", "it peaks"},
          {"paper", "5 us"},
          {"compared", "peak"},
          {"unit", "us"},
          {"least", 4},
          {"most", 6},
          {"interval", "range"},
          {"fitted", "nothing"},
          {"mutant", {{"setting", "flat=1"}, {"removes", "the peak"}}},
          {"verdict", "holds"}};
}
Study study_with(const Json& claim) {
  const Json sizes = {{"one", 1, 8}, {"two", 2, 8}, {"three", 3, 16}};
  return study_from(Json{{"claims", {claim}}, {"reduced", sizes}, {"full", sizes}}.dump(),
                    [](const Case&) { return Readings{}; });
}
Json without(const char* member) {
  Json one = claim();
  one.erase(member);
  return one;
}
Json with(const char* member, const Json& value) {
  Json one = claim();
  one[member] = value;
  return one;
}

TEST(StatedClaims, HaveTheSizesAtWhichTheyAreTried) {
  const Study study = study_with(claim());
  ASSERT_EQ(study.full.size(), 3u);
  EXPECT_EQ(study.full[2].nodes, 16u);
}

TEST(StatedClaims, WithoutAnUpperBoundAdmitEveryLargerNumber) {
  const Criterion criterion = study_with(without("most")).claims.front().criterion();
  EXPECT_EQ(position_of({1e300, 1e300, 1e300}, criterion), Position::kInside);
}

TEST(StatedClaims, HaveTheSettingsInWhichAParameterIsSwept) {
  const Study study = study_with(with("unsourced", {{"depth", {"depth=1", "depth=4"}}}));
  EXPECT_EQ(study.claims.front().unsourced().front().settings.back(), "depth=4");
}

TEST(StatedClaims, WithoutAMutantAreRefused) {
  EXPECT_THROW(study_with(without("mutant")), std::invalid_argument);
}

TEST(StatedClaims, WithoutABoundAreRefused) {
  Json one = without("most");
  one.erase("least");
  EXPECT_THROW(study_with(one), std::invalid_argument);
}

// A bound that is spelt otherwise would admit every number.
TEST(StatedClaims, WithAnUnknownMemberAreRefused) {
  EXPECT_THROW(study_with(with("at_most", 6)), std::invalid_argument);
}

TEST(StatedClaims, WithoutARecordedVerdictAreRefused) {
  EXPECT_THROW(study_with(without("verdict")), std::invalid_argument);
}

TEST(StatedClaims, WithAVerdictThatIsNoneAreRefused) {
  for (const char* verdict : {"", "refused", "holds|differs|undecided", "holds|"})
    EXPECT_THROW(study_with(with("verdict", verdict)), std::invalid_argument) << verdict;
  EXPECT_THROW(study_with(with("verdict_full", "hold")), std::invalid_argument);
}

TEST(StatedClaims, MayHaveTwoVerdictsOfWhichTheMachineDecides) {
  EXPECT_NO_THROW(study_with(with("verdict", "holds|undecided")));
}

TEST(StatedClaims, WhosePapersSizesWereNotTriedHaveNullThere) {
  EXPECT_NO_THROW(study_with(with("verdict_full", nullptr)));
}

TEST(StatedClaims, WithAnIntervalThatIsNoneAreRefused) {
  EXPECT_THROW(study_with(with("interval", "median")), std::invalid_argument);
}

}  // namespace
}  // namespace substrata::papers
