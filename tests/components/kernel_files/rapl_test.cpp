// rapl's names over recorded zones.
#include <bit>
#include <string>
#include <vector>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kClass = "/sys/class/powercap/";

class Rapl : public SubstrateOnTree<substrata_entry_rapl> {
 protected:
  void record_zone(const std::string& zone, const std::string& name, int64_t energy_uj) {
    tree.write(kClass + zone + "/name", name + "\n");
    tree.write(kClass + zone + "/energy_uj", energy_uj);
    tree.write(kClass + zone + "/max_energy_range_uj", 1'000'000);
  }
};

TEST_F(Rapl, ZonesHaveThePackageNumbersAndNamesOfPapisRegisters) {
  record_zone("intel-rapl:0", "psys", 10);
  record_zone("intel-rapl:1", "package-0", 20);
  record_zone("intel-rapl:1:0", "core", 30);
  record_zone("intel-rapl:1:1", "uncore", 40);
  record_zone("intel-rapl:1:2", "dram", 50);
  record_zone("intel-rapl:2", "package-2-die-1", 60);
  record_zone("intel-rapl-mmio:0", "package-0", 70);
  tree.write(kClass + "intel-rapl:1/constraint_0_max_power_uw", 205'000'000);
  open();
  std::vector<std::string> there;
  for (const Event& event : substrate.events())
    if ((event.flags & kEventUnavailable) == 0) there.emplace_back(event.name);
  EXPECT_THAT(there, ElementsAre("PSYS_ENERGY:PACKAGE0", "PACKAGE_ENERGY:PACKAGE0", "THERMAL_SPEC:PACKAGE0",
                                 "PP0_ENERGY:PACKAGE0", "PP1_ENERGY:PACKAGE0", "DRAM_ENERGY:PACKAGE0",
                                 "PACKAGE_ENERGY:PACKAGE2_DIE1"));
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"THERMAL_SPEC:PACKAGE0"}).ok());
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(set.read()[0]), 205.0);
}

TEST_F(Rapl, NamesThatOnlyRegistersHaveAreRefusedWithTheReason) {
  record_zone("intel-rapl:0", "package-0", 20);
  record_zone("intel-rapl:0:0", "dram", 5);
  open();
  for (const char* const name : {"MINIMUM_POWER:PACKAGE0", "MAXIMUM_TIME_WINDOW:PACKAGE0",
                                 "PACKAGE_ENERGY_CNT:PACKAGE0", "DRAM_ENERGY_CNT:PACKAGE0"})
    EXPECT_THAT(substrate.event(name).why, HasSubstr("/dev/cpu/*/msr")) << name;
}

TEST_F(Rapl, EnergyIsInNanojoulesAndFollowedAcrossItsWrap) {
  record_zone("intel-rapl:0", "package-0", 999'990);
  record_zone("intel-rapl:0:0", "dram", 5);
  open();
  RunningSet set(substrate, {"DRAM_ENERGY:PACKAGE0", "PACKAGE_ENERGY:PACKAGE0"});
  tree.write(kClass + "intel-rapl:0/energy_uj", 20);  // 10 to the range
  tree.write(kClass + "intel-rapl:0:0/energy_uj", 8);
  EXPECT_THAT(set.read(), ElementsAre(3000, 30'000));
}

TEST_F(Rapl, MachineWithoutZonesIsUnavailableWithTheCure) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe intel_rapl_msr"));
}

}  // namespace
