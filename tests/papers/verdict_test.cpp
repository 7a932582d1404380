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
  return compare_with_recorded(report, Json{{"reduced", report_with(recorded)}}.dump());
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
  EXPECT_FALSE(compare_with_recorded(report, Json{{"reduced", report_with("holds")}}.dump()));
}

TEST(RecordedVerdict, IsThatItHoldsWhereNothingIsRecorded) {
  Json report = report_with("differs");
  EXPECT_FALSE(compare_with_recorded(report, {}));
}

}  // namespace
}  // namespace substrata::papers
