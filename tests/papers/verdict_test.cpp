// How a report is compared with the recorded one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "papers/report.hpp"

namespace substrata::papers {
namespace {

using Json = nlohmann::ordered_json;

Json report_with(const char* verdict) {
  return {{"sizes", "reduced"}, {"claims", {{{"id", "peak"}, {"verdict", verdict}}}}};
}
bool same(const char* verdict, const char* recorded) {
  Json report = report_with(verdict);
  return compare_with_recorded(report, report_with(recorded).dump());
}
// Of a run at the paper's sizes.
bool same_at_full_size(const char* verdict, const Json& recorded) {
  Json report = report_with(verdict), claims = report_with("holds");
  report["sizes"] = "full";
  if (!recorded.is_discarded()) claims["claims"][0]["verdict_full"] = recorded;
  return compare_with_recorded(report, claims.dump());
}

std::string text_with(const char* verdict, const char* fitted) {
  return text_of({{"id", "shape"},
                  {"title", "t"},
                  {"claims",
                   {{{"verdict", verdict},
                     {"claim", "c"},
                     {"paper", "p"},
                     {"ours", "o"},
                     {"why", "w"},
                     {"fitted", fitted},
                     {"mutant", nullptr}}}}});
}

// A model that was fitted to a figure was said to hold by that figure, as if it had foretold it.
TEST(ReproductionVerdict, OfAFigureThatTheModelWasFittedToSaysThatItIsCalibrated) {
  EXPECT_NE(text_with("holds", "the costs, to this figure").find("holds, calibrated and no prediction: c"),
            std::string::npos);
  EXPECT_NE(text_with("holds", "nothing").find("holds: c"), std::string::npos);
  EXPECT_EQ(text_with("differs", "the costs, to this figure").find("calibrated"), std::string::npos);
}

// A claim that misses looked like a defect of the program.
TEST(RecordedVerdict, ThatAClaimDiffersIsNoChangeWhereItDifferedBefore) {
  EXPECT_TRUE(same("differs", "differs"));
}

TEST(RecordedVerdict, OfAClaimThatHeldChangesWhereItDiffers) { EXPECT_FALSE(same("differs", "holds")); }

TEST(RecordedVerdict, OfAClaimThatDifferedChangesWhereItHolds) { EXPECT_FALSE(same("holds", "differs")); }

TEST(RecordedVerdict, MayBeOneOfTwoWhereTheMachineDecides) {
  EXPECT_TRUE(same("undecided", "holds|undecided"));
}

TEST(RecordedVerdict, IsNoneOfARefusedClaim) { EXPECT_FALSE(same("refused", "refused")); }

TEST(RecordedVerdict, IsMissingOfANewClaim) {
  Json report = report_with("holds");
  report["claims"][0]["id"] = "ridge";
  EXPECT_FALSE(compare_with_recorded(report, report_with("holds").dump()));
}

TEST(RecordedVerdict, AtThePapersSizesIsThatAtReducedOnesUnlessAnotherIsStated) {
  EXPECT_TRUE(same_at_full_size("holds", Json::value_t::discarded));
  EXPECT_TRUE(same_at_full_size("differs", "differs"));
  EXPECT_FALSE(same_at_full_size("holds", "differs"));
}

TEST(RecordedVerdict, IsThatItDoesNotDifferWhereNullIsRecorded) {
  EXPECT_TRUE(same_at_full_size("undecided", nullptr));
  EXPECT_FALSE(same_at_full_size("differs", nullptr));
}

}  // namespace
}  // namespace substrata::papers
