// The global clock: how wrong it is with and without each of its means.
#include <gtest/gtest.h>
#include <substrata/myrinet.h>
#include <substrata/result.hpp>

#include <cmath>
#include <string>

#include "myrinet/clocks.hpp"
#include "support/sanitized.hpp"

namespace substrata::myrinet::test {
namespace {

constexpr double kShort = tests::kSanitized ? 200 : 1200;

substrata_myrinet_clock_result measure(substrata_myrinet_clock_options options) {
  options.struct_size = sizeof options;
  auto result = client::sized<substrata_myrinet_clock_result>();
  EXPECT_EQ(substrata_myrinet_clock_experiment(&options, &result), 0) << substrata_myrinet_error();
  return result;
}

substrata_myrinet_clock_options drifting(uint64_t seed) {
  substrata_myrinet_clock_options options{};
  options.drift_ppm = 100;
  options.seed = seed;
  return options;
}

constexpr double kClaim_ns = 3000;  // section 3.2

TEST(MyrinetClock, HoldsForAnHourWithFiveMinutesBetweenSynchronisationsUnderLoad) {  // MY-5
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto result = measure(drifting(seed));
    EXPECT_LT(result.pair_error_ns, kClaim_ns) << seed;
    EXPECT_GT(result.pair_error_ns, 0) << seed;
    EXPECT_GT(result.load_packets, 1000u);
    // Growing from a second, then every five minutes.
    EXPECT_EQ(result.rounds, 20u);
  }
}

TEST(MyrinetClock, FailsWithoutCorrectionOfTheDrift) {  // MY-5
  auto options = drifting(1);
  options.no_correction = 1;
  // A hundred parts in a million of five minutes are thirty milliseconds.
  EXPECT_GT(measure(options).pair_error_ns, 1000 * kClaim_ns);
}

TEST(MyrinetClock, HoldsWithoutCorrectionEverySecondWhereClocksDriftLittle) {  // MY-5
  auto options = drifting(1);
  options.no_correction = 1;
  options.period_seconds = 1;
  options.seconds = kShort;
  options.drift_ppm = 1;
  EXPECT_LT(measure(options).pair_error_ns, kClaim_ns);
  options.drift_ppm = 100;
  EXPECT_GT(measure(options).pair_error_ns, kClaim_ns);
}

TEST(MyrinetClock, NeedsStampsInsideOperationsOrPriority) {  // MY-6
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    auto options = drifting(seed);
    const double with_both = measure(options).pair_error_ns;
    options.no_stamps = 1;
    options.no_priority = 1;
    EXPECT_GT(measure(options).pair_error_ns, with_both) << seed;
    EXPECT_GT(measure(options).pair_error_ns, kClaim_ns) << seed;
  }
}

TEST(MyrinetClock, RefusesWhatCannotBe) {
  substrata_myrinet_clock_options options = drifting(1);
  auto result = client::sized<substrata_myrinet_clock_result>();
  EXPECT_EQ(substrata_myrinet_clock_experiment(&options, &result), -1);  // no struct_size
  options.struct_size = sizeof options;
  options.nodes = 1;
  EXPECT_EQ(substrata_myrinet_clock_experiment(&options, &result), -1);
  EXPECT_NE(std::string(substrata_myrinet_error()).find("1 nodes"), std::string::npos);
  options.nodes = 2;
  options.drift_ppm = -1;
  EXPECT_EQ(substrata_myrinet_clock_experiment(&options, &result), -1);
  EXPECT_EQ(substrata_myrinet_clock_experiment(nullptr, &result), -1);
}

TEST(MyrinetClocks, AnExactExchangeLeavesNoErrorAndTwoGiveTheDrift) {  // MY-5
  ClusterParameters parameters;
  parameters.clock = ClockMode::kPeriodic;
  parameters.wander_ppb = 0;
  Clocks clocks(parameters);
  const auto exchange = [&](uint32_t node, Time at) {
    return Clocks::Exchange{clocks.local(0, at), clocks.local(node, at + 5000), clocks.local(node, at + 7000),
                            clocks.local(0, at + 12000)};
  };
  clocks.learn(3, exchange(3, kSecond));
  EXPECT_NEAR(clocks.error(3, kSecond + 6000), 0, 2);
  EXPECT_FALSE(clocks.knows_rate(3));
  clocks.learn(3, exchange(3, 11 * kSecond));
  EXPECT_TRUE(clocks.knows_rate(3));
  // A picosecond's rounding in ten seconds, carried on for a hundred.
  EXPECT_NEAR(clocks.error(3, 111 * kSecond), 0, 100);
  EXPECT_EQ(clocks.error(0, kSecond), 0);
}

}  // namespace
}  // namespace substrata::myrinet::test
