// amd_smi and rocm_smi over a tree made from the kernel's documentation (Documentation/gpu/amdgpu/thermal.rst).
#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

const std::string kDrm = "/sys/class/drm/";

// card0 is a screen's controller of another maker, card1 and card2 are GPUs.
void record_node(RecordedTree& tree) {
  tree.write(kDrm + "card0/device/vendor", "0x1a03\n");
  tree.write(kDrm + "card0-VGA-1/status", "connected\n");
  for (const std::string card : {"card1", "card2"}) {
    const std::string device = kDrm + card + "/device/";
    tree.write(device + "vendor", "0x1002\n");
    tree.write(device + "gpu_busy_percent", 87);
    tree.write(device + "mem_busy_percent", 45);
    tree.write(device + "mem_info_vram_total", 68702699520);
    tree.write(device + "mem_info_vram_used", 11141120);
    tree.write(device + "pp_dpm_sclk", "0: 500Mhz\n1: 800Mhz\n2: 1700Mhz *\n");
    tree.write(device + "pcie_bw", "129 52 256\n");
    tree.write(device + "pcie_replay_count", 4);
    const std::string sensors = device + "hwmon/hwmon5/";
    tree.write(sensors + (card == "card1" ? "power1_average" : "power1_input"), 312'500'000);
    tree.write(sensors + "power1_cap", 560'000'000);
    tree.write(sensors + "power1_cap_min", 0);
    tree.write(sensors + "power1_cap_max", 560'000'000);
    tree.write(sensors + "temp1_label", "edge\n");
    tree.write(sensors + "temp1_input", 41000);
    tree.write(sensors + "temp2_label", "junction\n");
    tree.write(sensors + "temp2_input", 52900);
    tree.write(sensors + "temp2_crit", 100000);
  }
}

using RocmSmi = SubstrateOnTree<substrata_entry_rocm_smi>;
using AmdSmi = SubstrateOnTree<substrata_entry_amd_smi>;

TEST_F(RocmSmi, NumbersOfEachGpuStandUnderItsNamesInItsUnits) {
  record_node(tree);
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"busy_percent:device=1", "memory_busy_percent:device=0", "mem_usage_VRAM:device=0",
                           "power_average:device=0:sensor=0", "power_average:device=1:sensor=0",
                           "temp_current:device=1:sensor=1", "temp_critical:device=0:sensor=1",
                           "gpu_clk_freq_System:device=0:current", "gpu_clk_freq_System:device=1:idx=0",
                           "gpu_clk_freq_System:device=1:idx=1"})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(87, 45, 11141120, 312'500'000, 312'500'000, 52900, 100000,
                                      1'700'000'000, 500'000'000, 800'000'000));
  EXPECT_EQ(substrate.find("gpu_clk_freq_System:device=0:idx=3"), -1);
  EXPECT_THAT(substrate.names(), Not(Contains("temp_current:device=0:sensor=2")));
  EXPECT_THAT(substrate.names(), Not(Contains("busy_percent:device=2")));
}

TEST_F(RocmSmi, PciExpressIsOfTheKernelsFilesAndReplaysCountFromTheStart) {
  record_node(tree);
  open();
  RunningSet set(substrate, {"pci_throughput_sent:device=1", "pci_throughput_received:device=1",
                             "pci_throughput_max_packet:device=1", "pci_replay_counter:device=1"});
  tree.write(kDrm + "card2/device/pcie_replay_count", 7);
  EXPECT_THAT(set.read(), ElementsAre(52, 129, 256, 3));
}

TEST_F(RocmSmi, PowerCapIsWrittenWithinTheGpusRangeAndGivenBack) {
  record_node(tree);
  open();
  const std::string file = tree.root() + kDrm + "card2/device/hwmon/hwmon5/power1_cap";
  {
    RunningSet set(substrate, {"power_cap:device=1:sensor=0"});
    const int64_t too_much = 600'000'000;
    EXPECT_EQ(substrate.table.write(set.handle(), &too_much).code, Code::kInvalid);
    const int64_t good = 300'000'000;
    ASSERT_TRUE(substrate.table.write(set.handle(), &good).ok());
    EXPECT_EQ(tests::contents(file), "300000000\n");
  }
  substrate.close();
  EXPECT_EQ(tests::contents(file), "560000000\n");
}

TEST_F(RocmSmi, GpuThatNoLongerGivesANumberFailsTheRead) {
  record_node(tree);
  open();
  RunningSet set(substrate, {"busy_percent:device=0", "busy_percent:device=1"});
  tree.write(kDrm + "card2/device/gpu_busy_percent", "");
  const Status status = set.refused_read();
  EXPECT_THAT(note_of(status), HasSubstr("busy_percent:device=1"));
}

TEST_F(AmdSmi, NumbersOfEachGpuStandUnderItsNamesInItsUnits) {
  record_node(tree);
  open();
  EventSet set(substrate);
  ASSERT_TRUE(set.program({"gfx_activity:device=0", "umc_activity:device=1", "vram_used_mb:device=0",
                           "power_average:device=0", "power_current:device=1", "power_cap:device=0",
                           "temp_current_sensor=1:device=0", "clk_freq_sys_current:device=1"})
                  .ok());
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(), ElementsAre(87, 45, 10, 312, 312, 560'000'000, 52, 1700));
  EXPECT_THAT(substrate.names(), Not(Contains("power_current:device=0")));
}

TEST_F(AmdSmi, ErrorsClocksLimitsAndTheLinkAreThoseOfTheDriversFiles) {
  record_node(tree);
  const std::string device = kDrm + "card1/device/";
  tree.write(device + "ras/umc_err_count", "ue: 1\nce: 23\n");
  tree.write(device + "pp_dpm_mclk", "0: 900Mhz\n1: 1300Mhz *\n");
  tree.write(device + "current_link_width", 16);
  tree.write(device + "hwmon/hwmon5/in0_input", 868);
  tree.write(device + "hwmon/hwmon5/temp2_emergency", 105000);
  tree.write(device + "hwmon/hwmon5/power1_cap_default", 560'000'000);
  open();
  EventSet set(substrate,
               {"ecc_umc_correctable:device=0", "ecc_umc_uncorrectable:device=0",
                "clk_freq_mem_current:device=0", "clk_freq_mem_level_0:device=0", "pcie_width:device=0",
                "voltage_vddgfx_current:device=0", "temp_critical_sensor=1:device=0",
                "temp_emergency_sensor=1:device=0", "power_cap_default:device=0", "vram_total_mb:device=0"});
  ASSERT_TRUE(set.start().ok());
  EXPECT_THAT(set.read(),
              ElementsAre(23, 1, 1300, 900, 16, 868, 100, 105, 560'000'000, 68702699520 / (1 << 20)));
}

TEST_F(AmdSmi, MachineWithoutAGpuOfAmdIsUnavailableWithTheCure) {
  tree.write(kDrm + "card0/device/vendor", "0x10de\n");
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("modprobe amdgpu"));
}

}  // namespace
