// Specs: what is accepted, and what the errors say.
#include "sources/workloads/spec.hpp"

#include <gtest/gtest.h>

#include <string>

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    power_of_two("points", "points", 64, 4, 1U << 20),
    choice("mode", "how", "slow|fast", 1),
    {"seed", "of all", 3, 0, 100},
};

TEST(Spec, IsCutAtTheFirstColon) {
  EXPECT_EQ(split_spec("fft:points=4:seed=1").name, "fft");
  EXPECT_EQ(split_spec("fft:points=4:seed=1").parameters, "points=4:seed=1");
  EXPECT_EQ(split_spec("fft").name, "fft");
  EXPECT_EQ(split_spec("fft").parameters, "");
}

TEST(Spec, AbsentParametersKeepTheirDefaults) {
  Values values(kParameters);
  std::string error;
  ASSERT_TRUE(values.set("seed=9", error)) << error;
  EXPECT_EQ(values["points"], 64U);
  EXPECT_EQ(values["mode"], 1U);
  EXPECT_EQ(values["seed"], 9U);
  EXPECT_EQ(values.text(), "points=64:mode=fast:seed=9");
}

TEST(Spec, CommasColonsAndBinarySuffixesAreTaken) {
  Values values(kParameters);
  std::string error;
  ASSERT_TRUE(values.set("points=2k,mode=slow:seed=7", error)) << error;
  EXPECT_EQ(values.text(), "points=2048:mode=slow:seed=7");
}

TEST(Spec, ErrorsSayWhatIsWrongAndWhatIsKnown) {
  const std::pair<const char*, const char*> cases[] = {
      {"point=4", "known: points, mode, seed"},
      {"points", "not name=value"},
      {"points=", "not a whole number"},
      {"points=-4", "not a whole number"},
      {"points=0x10", "not a whole number"},
      {"points=99999999999999999999999", "not a whole number"},
      {"points=2", "4 to 1048576"},
      {"points=48", "power of two"},
      {"mode=medium", "slow|fast"},
      {"mode=", "slow|fast"},
      {"seed=1:seed=2", "given twice"},
      {":", "not name=value"},
      {"seed=101", "0 to 100"},
      {"se\x01"
       "ed=1",
       "'se?ed'"},
  };
  for (const auto& [text, part] : cases) {
    Values values(kParameters);
    std::string error;
    EXPECT_FALSE(values.set(text, error)) << text;
    EXPECT_NE(error.find(part), std::string::npos) << text << ": " << error;
  }
}

TEST(Spec, AFailedSetChangesNothing) {
  Values values(kParameters);
  std::string error;
  EXPECT_FALSE(values.set("seed=50:points=5", error));
  EXPECT_EQ(values["seed"], 3U);
}

TEST(Spec, ParametersAreDescribedInOneLine) {
  EXPECT_EQ(describe(kParameters), "points=64 points; mode=fast (slow|fast) how; seed=3 of all");
}

}  // namespace
}  // namespace substrata::workloads
