// Two programs at once on the modelled cluster: their slices, histograms and places.
#include <string>
#include <vector>

#include "opened_myrinet.hpp"

namespace substrata::myrinet::test {
namespace {

TEST_F(Myrinet, AProgramThatSharesItsProcessorsWaitsForItsSlices) {  // MY-31
  const uint64_t alone = run("fft:points=4096", 4).simulated_ticks;
  auto options = client::sized<substrata_run_options>();
  options.processes = 4;
  options.seed = 5;
  auto first = client::sized<substrata_run_result>();
  substrata_run_result second = first;
  ASSERT_EQ(substrata_myrinet_run_together("fft:points=4096", "radix:keys=65536", &options, &first, &second),
            0)
      << substrata_myrinet_error();
  EXPECT_EQ(first.correct, 1u) << first.message;
  EXPECT_EQ(second.correct, 1u) << second.message;
  // Its pages' homes run it a half of the time only, and not the same half.
  EXPECT_GT(first.simulated_ticks, 2 * alone);
}

TEST_F(Myrinet, AProgramWithProcessorsOfItsOwnWaitsForNoSlices) {
  auto options = client::sized<substrata_run_options>();
  options.processes = 4;
  options.seed = 5;
  options.parameters = "slice_ms=0";
  auto first = client::sized<substrata_run_result>();
  substrata_run_result second = first;
  ASSERT_EQ(substrata_myrinet_run_together("fft:points=4096", "radix:keys=65536", &options, &first, &second),
            0)
      << substrata_myrinet_error();
  EXPECT_LT(first.simulated_ticks, 200'000'000'000u) << "one slice";
}

TEST_F(Myrinet, TwoProgramsAtOnceHaveHistogramsOfTheirOwn) {  // MY-8
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.programs = 2;
  ASSERT_EQ(substrata_myrinet_configure(&shape), 0);
  Counting set(table_, device_,
               {"PACKETS_SENT:program=0", "PACKETS_SENT:program=1", "PACKETS_SENT", "PACKETS_RECEIVED"});
  auto options = client::sized<substrata_run_options>();
  options.processes = 4;
  options.seed = 2;
  uint64_t ticks[2] = {};
  for (uint64_t& time : ticks) {
    ASSERT_EQ(substrata_myrinet_clear(), 0);
    ASSERT_EQ(substrata_myrinet_start(), 0);
    auto first = client::sized<substrata_run_result>();
    substrata_run_result second = first;
    ASSERT_EQ(substrata_myrinet_run_together("fft:points=1024", "radix:keys=4096:radix=64", &options, &first,
                                             &second),
              0)
        << substrata_myrinet_error();
    EXPECT_EQ(first.correct, 1u) << first.message;
    EXPECT_EQ(second.correct, 1u) << second.message;
    time = first.simulated_ticks + second.simulated_ticks;
    ASSERT_EQ(substrata_myrinet_stop(), 0);
  }
  EXPECT_EQ(ticks[0], ticks[1]);  // decided by the seed, not by the threads
  const std::vector<int64_t> values = set.read();
  EXPECT_GT(values[0], 0);
  EXPECT_GT(values[1], 0);
  EXPECT_EQ(values[0] + values[1], values[2]);
  EXPECT_EQ(values[2], values[3]);
  for (uint32_t program = 0; program < 2; ++program) {
    std::vector<substrata_myrinet_point> points(200);
    uint32_t count = 0;
    ASSERT_EQ(substrata_myrinet_signature(SUBSTRATA_MYRINET_ALL, program, SUBSTRATA_MYRINET_BY_SENDER,
                                          points.data(), 200, &count),
              0);
    uint64_t sent = 0;
    for (uint32_t i = 0; i < count; ++i) sent += points[i].sent;
    EXPECT_EQ(2 * sent, static_cast<uint64_t>(values[program]));  // the set saw both runs
  }
  auto result = client::sized<substrata_run_result>();
  substrata_run_result other = result;
  EXPECT_EQ(substrata_myrinet_run_together("fft:points=1024", "nonsense", &options, &result, &other), -1);
  EXPECT_NE(std::string(substrata_myrinet_error()).find("nonsense"), std::string::npos)
      << substrata_myrinet_error();
}

// How long a program's packets were in a node's interface, all together.
double in_interface(uint32_t node, uint32_t program) {
  uint32_t count = 0;
  std::vector<substrata_myrinet_point> points(200);
  EXPECT_EQ(substrata_myrinet_signature(node, program, SUBSTRATA_MYRINET_BY_SIZE, points.data(), 200, &count),
            0);
  double ns = 0;
  for (uint32_t i = 0; i < count; ++i)
    ns += static_cast<double>(points[i].sent) * points[i].average_ns[SUBSTRATA_MYRINET_SOURCE] +
          static_cast<double>(points[i].received) * points[i].average_ns[SUBSTRATA_MYRINET_DEST];
  return ns;
}

// Of three nodes two exchange messages, and the signatures say which: the second program's pair goes where one of the
// nodes is idle.
TEST_F(Myrinet, ASecondProgramIsPlacedWhereTheFirstsInterfacesAreIdle) {  // MY-44
  auto shape = client::sized<substrata_myrinet_shape>();
  ASSERT_EQ(substrata_myrinet_default_shape(&shape), 0);
  shape.programs = 2;
  ASSERT_EQ(substrata_myrinet_configure(&shape), 0);
  // How much packets of both programs are in the same interfaces.
  const auto met = [](uint32_t shift) {
    EXPECT_EQ(substrata_myrinet_clear(), 0);
    EXPECT_EQ(substrata_myrinet_start(), 0);
    const std::string parameters = "slice_ms=0:shift=" + std::to_string(shift);
    auto options = client::sized<substrata_run_options>();
    options.processes = 3;
    options.parameters = parameters.c_str();
    auto first = client::sized<substrata_run_result>();
    substrata_run_result second = first;
    constexpr char kPair[] = "ping-pong:bytes=4000:rounds=40";
    EXPECT_EQ(substrata_myrinet_run_together(kPair, kPair, &options, &first, &second), 0)
        << substrata_myrinet_error();
    EXPECT_EQ(substrata_myrinet_stop(), 0);
    EXPECT_EQ(first.correct + second.correct, 2u);
    double sum = 0;
    for (uint32_t node = 0; node < 3; ++node) sum += in_interface(node, 0) * in_interface(node, 1);
    return sum;
  };
  const double beside = met(0);
  uint32_t shift = 99;
  ASSERT_EQ(substrata_myrinet_placement(3, &shift), 0) << substrata_myrinet_error();
  ASSERT_NE(shift, 0u);
  EXPECT_LT(met(shift), beside);
}

TEST_F(Myrinet, APlacementNeedsTheStatisticsOfTwoPrograms) {  // MY-44
  uint32_t shift = 0;
  EXPECT_EQ(substrata_myrinet_placement(4, &shift), -1);
  EXPECT_NE(std::string(substrata_myrinet_error()).find("two programs"), std::string::npos);
}

}  // namespace
}  // namespace substrata::myrinet::test
