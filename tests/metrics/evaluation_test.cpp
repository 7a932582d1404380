// Numbers of metrics against numbers computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/evaluation.hpp"
#include "metrics/library.hpp"

namespace {

using namespace substrata;
using namespace substrata::metrics;

Number counted(double value) {
  Number out;
  out.present = true;
  out.value = value;
  return out;
}

// A metric from values of its terms, given in the units that its file declares.
Number number_of(const Metric& metric, const std::map<std::string, double>& values, double elapsed_s = 2,
                 double processors = 4) {
  std::vector<Number> terms;
  for (const Term& term : metric.terms) terms.push_back(counted(values.at(term.name) * term.unit.factor));
  return evaluate(metric, terms, elapsed_s, processors);
}

struct ByHand {
  const char* metric;
  const char* unit_of_processor;  // libpfm4's name
  std::map<std::string, double> counts;
  double expected;
};
class MetricsByHand : public testing::TestWithParam<ByHand> {};

// Over two seconds on four processors.
TEST_P(MetricsByHand, AreWhatTheCountsGive) {
  const ByHand& one = GetParam();
  const Library library({one.unit_of_processor}, nullptr);
  const std::vector<const Metric*> found = library.find(one.metric);
  ASSERT_FALSE(found.empty());
  const Number number = number_of(*found.front(), one.counts);
  ASSERT_TRUE(number.present);
  EXPECT_NEAR(number.value, one.expected, 1e-12 * std::fabs(one.expected));
}

INSTANTIATE_TEST_SUITE_P(
    Twenty, MetricsByHand,
    testing::Values(
        ByHand{"IPC", "skx", {{"instructions", 1000}, {"cycles", 2000}}, 0.5},
        ByHand{"CPI", "skx", {{"instructions", 1000}, {"cycles", 2500}}, 2.5},
        ByHand{"GHZ", "skx", {{"cycles", 6e9}, {"time", 2e9}}, 3},
        ByHand{"CLOCK_RATIO", "skx", {{"cycles", 3300}, {"reference", 3000}}, 1.1},
        ByHand{"INSTRUCTION_RATE", "skx", {{"instructions", 8e9}}, 4},
        ByHand{"BRANCH_MISS_RATIO", "skx", {{"misses", 30}, {"branches", 2000}}, 1.5},
        ByHand{"BRANCH_MPKI", "skx", {{"misses", 30}, {"instructions", 12000}}, 2.5},
        ByHand{"L1D_MISS_RATIO", "skx", {{"misses", 125}, {"accesses", 1000}}, 12.5},
        ByHand{"L2_BW", "skx", {{"lines", 1e9}}, 32},
        ByHand{"L3_MPKI", "skx", {{"misses", 7}, {"instructions", 14000}}, 0.5},
        ByHand{"DTLB_MPKI", "skx", {{"misses", 9}, {"instructions", 4500}}, 2},
        ByHand{"DP_FLOPS", "skx", {{"operations", 5e9}}, 2.5},
        ByHand{"DP_INTENSITY", "skx", {{"operations", 6400}, {"lines", 200}}, 0.5},
        // The kernel's unit makes bytes of the controllers' counts; the file declares bytes.
        ByHand{"MEM_BW", "skx", {{"reads", 3e9}, {"writes", 1e9}}, 2},
        ByHand{"TMA_RETIRING", "skx", {{"retired", 1000}, {"cycles", 1000}}, 25},
        ByHand{"TMA_BACKEND_BOUND",
               "clx",
               {{"undelivered", 400}, {"issued", 1100}, {"recovery", 25}, {"cycles", 1000}},
               60},
        ByHand{"TMA_BAD_SPECULATION",
               "icx",
               {{"retired", 500}, {"undelivered", 100}, {"waited", 300}, {"slots", 1000}},
               10},
        ByHand{"TMA_FRONTEND_BOUND", "amd64_fam19h_zen4", {{"empty", 1500}, {"cycles", 1000}}, 25},
        ByHand{"TMA_RETIRING", "icx", {{"retired", 500}, {"slots", 1000}}, 50},
        ByHand{"TMA_BACKEND_BOUND", "spr", {{"waited", 300}, {"slots", 1000}}, 30},
        ByHand{"MEM_READ_BW", "hsw_ep", {{"lines", 4e9}}, 2},
        ByHand{"MEM_WRITE_BW", "icx", {{"lines", 2e9}}, 1},
        ByHand{"NUMA_REMOTE_RATIO", "clx", {{"remote", 3}, {"near", 1}}, 75},
        ByHand{"TMA_RETIRING", "amd64_fam19h_zen4", {{"retired", 300}, {"cycles", 100}}, 50},
        ByHand{"TMA_BACKEND_BOUND", "amd64_fam19h_zen4", {{"stalled", 120}, {"cycles", 100}}, 20},
        ByHand{"TMA_BAD_SPECULATION",
               "amd64_fam19h_zen4",
               {{"dispatched", 360}, {"retired", 300}, {"cycles", 100}},
               10},
        ByHand{"MEM_READ_BW", "amd64_fam19h_zen4", {{"near", 1e9}, {"far", 5e8}}, 48},
        ByHand{"TMA_RETIRING", "amd64_fam1ah_zen5", {{"retired", 300}, {"cycles", 100}}, 37.5},
        ByHand{"TMA_FRONTEND_BOUND", "AuthenticAMD-1A-02", {{"empty", 200}, {"cycles", 100}}, 25},
        ByHand{"TMA_BACKEND_BOUND", "AuthenticAMD-1A-02", {{"stalled", 160}, {"cycles", 100}}, 20},
        ByHand{"TMA_BAD_SPECULATION",
               "amd64_fam1ah_zen5",
               {{"dispatched", 380}, {"retired", 300}, {"cycles", 100}},
               10},
        ByHand{"MEM_READ_BW", "AuthenticAMD-1A-02", {{"near", 1e9}, {"far", 5e8}}, 48},
        ByHand{"NUMA_REMOTE_RATIO", "AuthenticAMD-1A-02", {{"far", 1}, {"near", 3}}, 25},
        ByHand{"NUMA_REMOTE_RATIO", "amd64_fam19h_zen4", {{"far", 1}, {"near", 3}}, 25},
        ByHand{"TMA_FRONTEND_BOUND", "arm_n2", {{"stalled", 125}, {"cycles", 100}}, 25},
        ByHand{"TMA_BACKEND_BOUND", "arm_n2", {{"stalled", 250}, {"cycles", 100}}, 50},
        ByHand{"TMA_RETIRING",
               "arm_n2",
               {{"retired", 400}, {"speculated", 500}, {"stalled", 250}, {"cycles", 100}},
               40},
        ByHand{"TMA_BAD_SPECULATION",
               "arm_n2",
               {{"retired", 400}, {"speculated", 500}, {"stalled", 250}, {"cycles", 100}},
               10},
        ByHand{"CPUS", "skx", {{"time", 3e9}}, 1.5}, ByHand{"CPU_SHARE", "skx", {{"time", 4e9}}, 50},
        ByHand{"FAULT_RATE", "skx", {{"faults", 50}, {"time", 5e8}}, 100},
        ByHand{"NET_RX_BW", "skx", {{"received", 3e6}}, 1.5},
        ByHand{"PACKAGE_POWER", "skx", {{"energy", 90e6}}, 45},
        ByHand{"ENERGY_PER_INSTRUCTION", "skx", {{"energy", 30e6}, {"instructions", 1e10}}, 3},
        ByHand{"PACKAGE_TEMPERATURE", "skx", {{"temperature", 61500}}, 61.5},
        ByHand{"MPI_MESSAGE_BYTES", "skx", {{"sent", 4096}, {"messages", 8}}, 512}),
    [](const auto& one) {
      std::string name = std::string(one.param.metric) + "_" + one.param.unit_of_processor;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

Metric metric_of(const std::string& lines) {
  Definitions definitions;
  const auto faults = parse_definitions("metric M\n text t\n" + lines, "m", &definitions);
  for (const Fault& fault : faults) ADD_FAILURE() << fault.text();
  return definitions.metrics.at(0);
}

TEST(MetricNumbers, DividedByNothingAreNone) {
  const Metric ratio = metric_of("term a = x\nterm b = y\nformula a / b\n");
  EXPECT_FALSE(evaluate(ratio, {counted(3), counted(0)}, 1, 1).present);
}
TEST(MetricNumbers, OfTheLesserAndTheGreaterAreOneOfTheTwo) {
  const Metric between = metric_of("term a = x\nterm b = y\nformula max(0, min(a, b))\n");
  EXPECT_DOUBLE_EQ(evaluate(between, {counted(3), counted(7)}, 1, 1).value, 3);
  EXPECT_DOUBLE_EQ(evaluate(between, {counted(-3), counted(7)}, 1, 1).value, 0);
  EXPECT_FALSE(evaluate(between, {counted(3), Number{}}, 1, 1).present) << "of a number and none";
}
TEST(MetricNumbers, OfATermWithoutAValueAreNone) {
  const Metric sum = metric_of("term a = x\nterm b = y\nformula a + b\n");
  EXPECT_FALSE(evaluate(sum, {counted(3), Number{}}, 1, 1).present);
}
TEST(MetricNumbers, OfTermsThatTheFormulaDoesNotUseAreNotQualifiedByThem) {
  const Metric one = metric_of("term a = x\nterm b = y\nformula a\n");
  Number modelled = counted(5);
  modelled.modelled = true;
  EXPECT_FALSE(evaluate(one, {counted(3), modelled}, 1, 1).modelled);
}
TEST(MetricNumbers, OfAModelAreModelled) {
  const Metric sum = metric_of("term a = x\nterm b = y\nformula a + b\n");
  Number modelled = counted(5);
  modelled.modelled = true;
  EXPECT_TRUE(evaluate(sum, {counted(3), modelled}, 1, 1).modelled);
}
TEST(MetricNumbers, OfScaledCountsAreScaledWithTheirUncertainty) {
  const Metric ratio = metric_of("term a = x\nterm b = y\nformula a / b\n");
  Number scaled = counted(100);
  scaled.scaled = true;
  scaled.uncertainty = 3;
  const Number number = evaluate(ratio, {scaled, counted(50)}, 1, 1);
  EXPECT_TRUE(number.scaled);
  EXPECT_NEAR(number.uncertainty, 0.06, 1e-12);
}
TEST(MetricNumbers, UncertaintiesOfTwoTermsAddBySquares) {
  const Metric sum = metric_of("term a = x\nterm b = y\nformula a + b\n");
  Number a = counted(10), b = counted(10);
  a.uncertainty = 3;
  b.uncertainty = 4;
  EXPECT_NEAR(evaluate(sum, {a, b}, 1, 1).uncertainty, 5, 1e-12);
}
TEST(MetricNumbers, ATermThatOccursTwiceIsUncertainOnce) {
  const Metric nothing = metric_of("term a = x\nformula a / a\n");
  Number a = counted(10);
  a.uncertainty = 3;
  EXPECT_NEAR(evaluate(nothing, {a}, 1, 1).uncertainty, 0, 1e-12);
}
TEST(ScalingUncertainty, IsNoneOfACounterThatRanAllTheTime) {
  EXPECT_DOUBLE_EQ(scaling_uncertainty(1e6, 1e9, 1e9), 0);
}
TEST(ScalingUncertainty, OfAQuarterOfHundredSlicesIsThatOfAMean) {
  // 100 of 400 slices of 4 ms: sqrt((1 - 1/4) / 100).
  EXPECT_NEAR(scaling_uncertainty(1000, 1.6e9, 4e8), 86.60254037844387, 1e-9);
}
TEST(SeveralEventsOfATerm, AreAddedUnlessTheFileSaysOtherwise) {
  const std::vector<Number> three = {counted(4), counted(1), counted(7)};
  EXPECT_DOUBLE_EQ(fold(Fold::kSum, three).value, 12);
  EXPECT_DOUBLE_EQ(fold(Fold::kMean, three).value, 4);
  EXPECT_DOUBLE_EQ(fold(Fold::kMin, three).value, 1);
  EXPECT_DOUBLE_EQ(fold(Fold::kMax, three).value, 7);
}
TEST(SeveralEventsOfATerm, HaveNoNumberWhereOneHasNone) {
  EXPECT_FALSE(fold(Fold::kSum, {counted(4), Number{}}).present);
}

}  // namespace
