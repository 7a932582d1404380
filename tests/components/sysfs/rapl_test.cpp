// rapl's names over recorded zones.
#include <bit>
#include <cerrno>
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
    EXPECT_THAT(substrate.event(name).why, HasSubstr("modprobe msr")) << name;
}

// A machine with the driver msr: processors 0 and 1 of package 0, 2 and 3 of package 3.
class RaplRegisters : public Rapl {
 protected:
  void record_processors(const std::string& vendor, int family, int model) {
    tree.write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " +
                                    std::to_string(family) + "\nmodel\t\t: " + std::to_string(model) + "\n");
    for (int cpu = 0; cpu < 4; ++cpu)
      tree.write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
                 cpu < 2 ? 0 : 3);
  }
  void record_registers(int cpu, const std::string& lines) {
    tree.write("/dev/cpu/" + std::to_string(cpu) + "/msr", lines);
  }
  std::vector<std::string> there() {
    std::vector<std::string> names;
    for (const Event& event : substrate.events())
      if ((event.flags & kEventUnavailable) == 0) names.emplace_back(event.name);
    return names;
  }
};

// Units of a Skylake server: 2^-3 W, 2^-14 J, 2^-10 s; its memory counts in 2^-16 J.
constexpr const char* kSkylakeUnits = "0x606 0xa0e03\n";

TEST_F(RaplRegisters, GiveAPackagesEnergyWhereTheKernelHasNoZones) {
  record_processors("GenuineIntel", 6, 85);
  // 205 W design power, 75 W to 413 W, window 40 units of 2^-10 s.
  record_registers(0,
                   std::string(kSkylakeUnits) + "0x611 0xfffffff0\n0x614 0x280ce802580668\n0x619 0x10000\n");
  record_registers(2, std::string(kSkylakeUnits) + "0x611 0x100\n0x619 0x0\n");
  ASSERT_TRUE(substrate.detect().ok());
  open();
  EXPECT_THAT(there(),
              ElementsAre("PACKAGE_ENERGY:PACKAGE0", "PACKAGE_ENERGY_CNT:PACKAGE0", "DRAM_ENERGY:PACKAGE0",
                          "DRAM_ENERGY_CNT:PACKAGE0", "THERMAL_SPEC:PACKAGE0", "MAXIMUM_POWER:PACKAGE0",
                          "MINIMUM_POWER:PACKAGE0", "MAXIMUM_TIME_WINDOW:PACKAGE0", "PACKAGE_ENERGY:PACKAGE3",
                          "PACKAGE_ENERGY_CNT:PACKAGE3"));
  RunningSet set(substrate, {"PACKAGE_ENERGY:PACKAGE0", "PACKAGE_ENERGY_CNT:PACKAGE0", "DRAM_ENERGY:PACKAGE0",
                             "PACKAGE_ENERGY:PACKAGE3"});
  // 16 to the wrap at 2^32 and 16368 behind it: 2^14 counts are a joule.
  record_registers(0, std::string(kSkylakeUnits) + "0x611 0x3ff0\n0x619 0x18000\n");
  record_registers(2, std::string(kSkylakeUnits) + "0x611 0x101\n");
  EXPECT_THAT(set.read(), ElementsAre(1'000'000'000, 16384, 500'000'000, 61'035));
}

TEST_F(RaplRegisters, StateThePowerLimitsOfAPackage) {
  record_processors("GenuineIntel", 6, 85);
  record_registers(0, std::string(kSkylakeUnits) + "0x611 0x1\n0x614 0x280ce802580668\n");
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"THERMAL_SPEC:PACKAGE0", "MINIMUM_POWER:PACKAGE0", "MAXIMUM_POWER:PACKAGE0",
                           "MAXIMUM_TIME_WINDOW:PACKAGE0"})
                  .ok());
  const std::vector<int64_t> values = set.read();
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(values[0]), 205.0);
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(values[1]), 75.0);
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(values[2]), 413.0);
  EXPECT_DOUBLE_EQ(std::bit_cast<double>(values[3]), 40.0 / 1024);
}

TEST_F(RaplRegisters, OfAmdHaveTheEnergyOfThePackageAlone) {
  record_processors("AuthenticAMD", 26, 2);
  // 2^-16 J. Register 0xC001029A is one core's energy and no package's.
  record_registers(0, "0xc0010299 0xa1003\n0xc001029a 0x7\n0xc001029b 0x20000\n");
  open();
  EXPECT_THAT(there(), ElementsAre("PACKAGE_ENERGY:PACKAGE0", "PACKAGE_ENERGY_CNT:PACKAGE0"));
  RunningSet set(substrate, {"PACKAGE_ENERGY:PACKAGE0"});
  record_registers(0, "0xc0010299 0xa1003\n0xc001029b 0x30000\n");
  EXPECT_THAT(set.read(), ElementsAre(1'000'000'000));
}

TEST_F(RaplRegisters, HaveTheNamesThatZonesLackBesideZones) {
  record_processors("GenuineIntel", 6, 85);
  record_zone("intel-rapl:0", "package-0", 20);
  record_registers(0, std::string(kSkylakeUnits) + "0x611 0x100\n0x614 0x280ce802580668\n");
  open();
  RunningSet set(substrate, {"PACKAGE_ENERGY:PACKAGE0", "PACKAGE_ENERGY_CNT:PACKAGE0"});
  tree.write(kClass + "intel-rapl:0/energy_uj", 25);
  record_registers(0, std::string(kSkylakeUnits) + "0x611 0x107\n");
  EXPECT_THAT(set.read(), ElementsAre(5000, 7));
}

TEST_F(RaplRegisters, ThatGoAwayFailTheRead) {
  record_processors("GenuineIntel", 6, 85);
  record_registers(0, std::string(kSkylakeUnits) + "0x611 0x100\n");
  open();
  RunningSet set(substrate, {"PACKAGE_ENERGY:PACKAGE0"});
  record_registers(0, "");
  EXPECT_EQ(set.refused_read().os_error, EIO);
}

TEST_F(RaplRegisters, OfAHypervisorThatAnswersNothingAreNotTakenForAnEnergyOfZero) {
  record_processors("GenuineIntel", 6, 85);
  record_registers(0, "0x606 0x0\n0x611 0x0\n");
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
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
