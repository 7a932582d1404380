// What a reproduction calls its claims.
#include <gtest/gtest.h>

#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

// A claim that the model was fitted to was said to hold like one that was tested.
TEST(ReproductionVerdict, OfAFittedClaimIsCalibrated) {
  Claim claim;
  claim.holds = true;
  claim.kind = Claim::Kind::kFitted;
  EXPECT_STREQ(verdict(claim), "CALIBRATED");
}

// A cost of -0.42 ns was said to hold.
TEST(ReproductionVerdict, OfWhatCannotBeResolvedIsUnresolved) {
  Claim claim;
  claim.holds = true;
  claim.kind = Claim::Kind::kUnresolved;
  EXPECT_STREQ(verdict(claim), "UNRESOLVED");
}

TEST(ReproductionVerdict, OfAFittedClaimThatMissesIsAMiss) {
  Claim claim;
  claim.kind = Claim::Kind::kFitted;
  EXPECT_STREQ(verdict(claim), "DOES NOT HOLD");
}

}  // namespace
}  // namespace substrata::papers
