// The kernel's PMU descriptions: formats, terms, processor lists.
#include <gtest/gtest.h>

#include "fake_kernel.hpp"
#include "perf_events/device_files.hpp"

namespace substrata::test {
namespace {

TEST(SysfsFormat, RangesAreReadAndNonsenseIsRefused) {
  const auto field = perf::parse_format("config1:0-7,32-35\n");
  ASSERT_TRUE(field.has_value());
  EXPECT_EQ(field->word, 1u);
  ASSERT_EQ(field->ranges.size(), 2u);
  EXPECT_EQ(field->ranges[1].low, 32u);
  EXPECT_EQ(field->ranges[1].high, 35u);
  EXPECT_EQ(perf::parse_format("config:63")->ranges[0].low, 63u);
  for (const char* bad :
       {"", "config", "config:", "config:64", "config:7-3", "config3:0-7", "config:a", "config:0-"})
    EXPECT_FALSE(perf::parse_format(bad).has_value()) << bad;
}

TEST(SysfsTerms, ValuesAreSpreadOverTheFieldsBits) {  // PA-20
  perf::Pmu pmu;
  pmu.name = "amd";
  pmu.format.emplace("event", *perf::parse_format("config:0-7,32-35"));
  pmu.format.emplace("umask", *perf::parse_format("config:8-15"));
  pmu.format.emplace("ldlat", *perf::parse_format("config1:0-15"));
  pmu.format.emplace("inv", *perf::parse_format("config:23"));
  pmu.events.emplace("cycles", "event=0x176,umask=2");
  std::string error;
  EXPECT_EQ(perf::encode_terms(pmu, "event=0x176", &error)->word[0], 0x100000076u);
  EXPECT_EQ(perf::encode_terms(pmu, "cycles, inv", &error)->word[0], 0x100000076u | 0x200u | 1u << 23);
  EXPECT_EQ(perf::encode_terms(pmu, "event=1,ldlat=0x20", &error)->word[1], 0x20u);
  EXPECT_EQ(perf::encode_terms(pmu, "config2=7", &error)->word[2], 7u);
  EXPECT_FALSE(perf::encode_terms(pmu, "event=0x1000", &error).has_value());
  EXPECT_NE(error.find("does not fit"), std::string::npos);
  EXPECT_FALSE(perf::encode_terms(pmu, "edge=1", &error).has_value());
  EXPECT_FALSE(perf::encode_terms(pmu, "event=q", &error).has_value());
  EXPECT_FALSE(perf::encode_terms(pmu, "", &error).has_value());
}

TEST(SysfsCpuList, RangesAndSinglesAreExpanded) {
  EXPECT_EQ(perf::parse_cpu_list("0-2,5\n"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(perf::parse_cpu_list("7"), (std::vector<int>{7}));
  EXPECT_TRUE(perf::parse_cpu_list("").empty());
  EXPECT_TRUE(perf::parse_cpu_list("3-1").empty());
  EXPECT_TRUE(perf::parse_cpu_list("0-99999999").empty());
  EXPECT_TRUE(perf::parse_cpu_list("x").empty());
}

TEST(SysfsTree, PmusAreReadWithWhatTheyAre) {
  tests::TemporaryFolder tree;
  const std::string devices = "sys/bus/event_source/devices/";
  tree.write(devices + "uncore_imc_0/type", "12\n");
  tree.write(devices + "uncore_imc_0/cpumask", "0,18\n");
  tree.write(devices + "uncore_imc_0/events/reads", "event=0x4,umask=0x3\n");
  tree.write(devices + "uncore_imc_0/events/reads.unit", "MiB\n");
  tree.write(devices + "uncore_imc_0/events/reads.scale", "6.103515625e-5\n");
  tree.write(devices + "cpu_core/type", "4\n");
  tree.write(devices + "cpu_core/cpus", "0-15\n");
  tree.write(devices + "broken/type", "x\n");
  const std::vector<perf::Pmu> pmus = perf::read_pmus(tree.path());
  ASSERT_EQ(pmus.size(), 2u);
  EXPECT_TRUE(pmus[0].core);
  EXPECT_EQ(pmus[0].cpus.size(), 16u);
  EXPECT_FALSE(pmus[1].core);
  EXPECT_EQ(pmus[1].cpumask, (std::vector<int>{0, 18}));
  EXPECT_EQ(pmus[1].units.at("reads"), "MiB");
  EXPECT_EQ(pmus[1].events.size(), 1u);
  EXPECT_TRUE(perf::read_pmus(tree.path() + "/nowhere").empty());
}

}  // namespace
}  // namespace substrata::test
