// cpufreq over trees made from the kernel's documentation.
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kCpu = "/sys/devices/system/cpu/";

class CpuFreq : public SubstrateOnTree<substrata_entry_cpufreq> {
 protected:
  void record_processor(int number) {
    const std::string cpu = kCpu + "cpu" + std::to_string(number) + "/";
    tree.write(cpu + "cpufreq/scaling_cur_freq", 2'400'000 + number);
    tree.write(cpu + "cpuidle/state0/name", "POLL\n");
    tree.write(cpu + "cpuidle/state0/time", 5);
    tree.write(cpu + "cpuidle/state0/usage", 1);
    tree.write(cpu + "cpuidle/state1/name", "C6 deep\n");
    tree.write(cpu + "cpuidle/state1/time", 1000);
    tree.write(cpu + "cpuidle/state1/usage", 40);
    tree.write(cpu + "thermal_throttle/core_throttle_count", 2);
    tree.write(cpu + "thermal_throttle/package_throttle_total_time_ms", 30);
  }
};

TEST_F(CpuFreq, EachProcessorHasWhatItsDriversShow) {
  record_processor(10);
  record_processor(2);
  tree.write(kCpu + "cpufreq/boost", 1);
  tree.write(kCpu + "cpuidle/current_driver", "intel_idle\n");
  open();
  const auto names = substrate.names();
  EXPECT_EQ(names.size(), 14u);
  EXPECT_THAT(
      std::vector<std::string>(names.begin(), names.begin() + 7),
      ElementsAre("cpu2:frequency", "cpu2:throttled:core", "cpu2:throttled:package:time", "cpu2:POLL:time",
                  "cpu2:POLL:entries", "cpu2:C6_deep:time", "cpu2:C6_deep:entries"));
}

TEST_F(CpuFreq, FrequencyIsALevelInHertzAndResidencyAndThrottlingCount) {
  record_processor(0);
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"cpu0:frequency", "cpu0:C6_deep:time", "cpu0:C6_deep:entries",
                           "cpu0:throttled:core", "cpu0:throttled:package:time"})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  tree.write(kCpu + "cpu0/cpuidle/state1/time", 1900);
  tree.write(kCpu + "cpu0/cpuidle/state1/usage", 41);
  tree.write(kCpu + "cpu0/thermal_throttle/core_throttle_count", 5);
  tree.write(kCpu + "cpu0/thermal_throttle/package_throttle_total_time_ms", 34);
  EXPECT_THAT(set.read(), ElementsAre(2'400'000'000, 900, 1, 3, 4'000'000));
}

TEST_F(CpuFreq, MachineWithoutDriversIsUnavailableAndSaysSo) {
  tree.write(kCpu + "cpu0/topology/core_id", 0);
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("virtual machines"));
}

}  // namespace
