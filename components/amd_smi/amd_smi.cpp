// The substrate `amd_smi`: AMD's GPUs under the names of PAPI's amd_smi, from the kernel driver's files and AMD's
// library.
#include <substrata/substrate.h>

#include <cstdint>

#include "amd_smi/library.hpp"
#include "sysfs/amd_gpus.hpp"

namespace {

using namespace substrata;
using namespace sysfs::amd;
using sysfs::AmdGpuNumber;
using sysfs::AmdLibraryNumber;

constexpr AmdGpuNumber temperature(const char* name, const char* label, const char* text) {
  return {name, "sensor/temp@_input", label, nullptr, "degC", text, 1, 1000, false, false};
}

constexpr AmdGpuNumber clock(const char* name, const char* levels, const char* file, const char* text) {
  return {name, file, nullptr, nullptr, "MHz", text, 1, 1, true, false, levels};
}
constexpr AmdGpuNumber limit(const char* name, const char* file, const char* label, const char* text) {
  return {name, file, label, nullptr, "degC", text, 1, 1000, false, false};
}
// Lines "ue: 0" and "ce: 2" of a block's file, since the driver was loaded.
constexpr AmdGpuNumber errors(const char* name, const char* file, const char* key, const char* text) {
  return {name, file, nullptr, nullptr, "errors", text, 1, 1, false, false, nullptr, 0, false, false, key};
}

constexpr AmdGpuNumber kNumbers[] = {
    level("gfx_activity:device=*", "gpu_busy_percent", "%", "time that work ran on"),
    level("umc_activity:device=*", "mem_busy_percent", "%", "time that the memory was busy of"),
    level("mem_total_VRAM:device=*", "mem_info_vram_total", "bytes", "memory of"),
    level("mem_usage_VRAM:device=*", "mem_info_vram_used", "bytes", "memory in use of"),
    level("vram_used_mb:device=*", "mem_info_vram_used", "MiB", "memory in use of", 1 << 20),
    level("power_average:device=*", "sensor/power1_average", "W", "power, mean of the driver's window, of",
          1'000'000),
    level("power_current:device=*", "sensor/power1_input", "W", "power now of", 1'000'000),
    {"power_cap:device=*", "sensor/power1_cap", nullptr, nullptr, "uW", "power cap of", 1, 1, false, true},
    level("power_cap_range_min:device=*", "sensor/power1_cap_min", "uW", "lowest power cap of"),
    level("power_cap_range_max:device=*", "sensor/power1_cap_max", "uW", "highest power cap of"),
    temperature("temp_current_sensor=0:device=*", "edge", "temperature at the edge of"),
    temperature("temp_current_sensor=1:device=*", "junction", "highest temperature in"),
    temperature("temp_current_sensor=2:device=*", "mem", "temperature of the memory of"),
    level("fan_rpms_sensor=0:device=*", "sensor/fan1_input", "RPM", "fan speed of"),
    clock("clk_freq_sys_current:device=*", "clk_freq_sys_level_@:device=*", "pp_dpm_sclk", "clock of"),
    clock("clk_freq_gfx_current:device=*", "clk_freq_gfx_level_@:device=*", "pp_dpm_sclk", "clock of"),
    clock("clk_freq_mem_current:device=*", "clk_freq_mem_level_@:device=*", "pp_dpm_mclk", "memory clock of"),
    clock("clk_freq_soc_current:device=*", "clk_freq_soc_level_@:device=*", "pp_dpm_socclk",
          "clock of the parts around the cores of"),
    clock("clk_freq_df_current:device=*", "clk_freq_df_level_@:device=*", "pp_dpm_fclk",
          "clock of the data fabric of"),
    clock("clk_freq_dcef_current:device=*", "clk_freq_dcef_level_@:device=*", "pp_dpm_dcefclk",
          "clock of the display controller of"),
    clock("clk_freq_vclk0_current:device=*", "clk_freq_vclk0_level_@:device=*", "pp_dpm_vclk",
          "clock of the video engine of"),
    clock("clk_freq_dclk0_current:device=*", "clk_freq_dclk0_level_@:device=*", "pp_dpm_dclk",
          "clock of the decoder of"),
    level("mem_total_VIS_VRAM:device=*", "mem_info_vis_vram_total", "bytes",
          "memory that processors can reach of"),
    level("mem_usage_VIS_VRAM:device=*", "mem_info_vis_vram_used", "bytes",
          "memory in use that processors can reach of"),
    level("mem_total_GTT:device=*", "mem_info_gtt_total", "bytes", "main memory that can be mapped by"),
    level("mem_usage_GTT:device=*", "mem_info_gtt_used", "bytes", "main memory that is mapped by"),
    level("vram_total_mb:device=*", "mem_info_vram_total", "MiB", "memory of", 1 << 20),
    level("power_cap_default:device=*", "sensor/power1_cap_default", "uW", "power cap at first of"),
    limit("temp_critical_sensor=0:device=*", "sensor/temp@_crit", "edge", "critical edge temperature of"),
    limit("temp_critical_sensor=1:device=*", "sensor/temp@_crit", "junction",
          "critical junction temperature of"),
    limit("temp_critical_sensor=2:device=*", "sensor/temp@_crit", "mem", "critical memory temperature of"),
    limit("temp_emergency_sensor=0:device=*", "sensor/temp@_emergency", "edge",
          "emergency edge temperature of"),
    limit("temp_emergency_sensor=1:device=*", "sensor/temp@_emergency", "junction",
          "emergency junction temperature of"),
    limit("temp_emergency_sensor=2:device=*", "sensor/temp@_emergency", "mem",
          "emergency memory temperature of"),
    level("voltage_vddgfx_current:device=*", "sensor/in0_input", "mV", "voltage of the cores of"),
    level("fan_speed_sensor=0:device=*", "sensor/pwm1", "", "fan speed, 0 to 255, of"),
    level("gpu_overdrive_percent:device=*", "pp_sclk_od", "%", "clock above the usual of"),
    level("gpu_mem_overdrive_percent:device=*", "pp_mclk_od", "%", "memory clock above the usual of"),
    level("pcie_width:device=*", "current_link_width", "lanes", "PCI Express lanes in use of"),
    level("pcie_max_width:device=*", "max_link_width", "lanes", "PCI Express lanes of"),
    replays("pci_replay_counter:device=*"),
    replays("pcie_replay_count:device=*"),
    throughput("pci_throughput_received:device=*", "packets/s",
               "packets received over PCI Express, in a second that the read waits, by", 0),
    throughput("pci_throughput_sent:device=*", "packets/s",
               "packets sent over PCI Express, in a second that the read waits, by", 1),
    throughput("pci_throughput_max_packet:device=*", "bytes", "largest packet over PCI Express of", 2),
    errors("ecc_umc_correctable:device=*", "ras/umc_err_count", "ce: ", "corrected memory errors of"),
    errors("ecc_umc_uncorrectable:device=*", "ras/umc_err_count", "ue: ", "uncorrected memory errors of"),
    errors("ecc_sdma_correctable:device=*", "ras/sdma_err_count", "ce: ", "corrected DMA errors of"),
    errors("ecc_sdma_uncorrectable:device=*", "ras/sdma_err_count", "ue: ", "uncorrected DMA errors of"),
    errors("ecc_gfx_correctable:device=*", "ras/gfx_err_count", "ce: ", "corrected core errors of"),
    errors("ecc_gfx_uncorrectable:device=*", "ras/gfx_err_count", "ue: ", "uncorrected core errors of"),
    errors("ecc_mmhub_correctable:device=*", "ras/mmhub_err_count", "ce: ", "corrected memory hub errors of"),
    errors("ecc_mmhub_uncorrectable:device=*", "ras/mmhub_err_count",
           "ue: ", "uncorrected memory hub errors of"),
    errors("ecc_pcie_bif_correctable:device=*", "ras/pcie_bif_err_count",
           "ce: ", "corrected bus interface errors of"),
    errors("ecc_pcie_bif_uncorrectable:device=*", "ras/pcie_bif_err_count",
           "ue: ", "uncorrected bus interface errors of"),
    errors("ecc_xgmi_wafl_correctable:device=*", "ras/xgmi_wafl_err_count",
           "ce: ", "corrected errors of the links between GPUs of"),
    errors("ecc_xgmi_wafl_uncorrectable:device=*", "ras/xgmi_wafl_err_count",
           "ue: ", "uncorrected errors of the links between GPUs of"),
};

// What the files lack.
constexpr AmdLibraryNumber hot(const char* name, const char* text, int sensor) {
  return {name, "degC", text, false, amd_smi::kTemperature, sensor};
}
// Where it answers, and the files have not the same.
constexpr AmdLibraryNumber rare(const char* name, const char* unit, const char* text, int what,
                                int64_t argument = 0) {
  return {name, unit, text, false, what, argument, true};
}
constexpr AmdLibraryNumber counted(const char* name, const char* text, int what, int64_t argument) {
  return {name, "", text, true, what, argument, true};
}
constexpr AmdLibraryNumber kLibraryNumbers[] = {
    {"energy_consumed:device=*", "uJ", "energy used by", true, amd_smi::kEnergy, 0},
    hot("temp_current_sensor=3:device=*", "temperature of the first stack of memory of", 3),
    hot("temp_current_sensor=4:device=*", "temperature of the second stack of memory of", 4),
    hot("temp_current_sensor=5:device=*", "temperature of the third stack of memory of", 5),
    hot("temp_current_sensor=6:device=*", "temperature of the fourth stack of memory of", 6),
    rare("energy_timestamp:device=*", "ns", "time of the energy's last renewal of", amd_smi::kEnergyTime),
    rare("gfx_activity:device=*", "%", "time that work ran on", amd_smi::kUsage, amd_smi::kGraphics),
    rare("umc_activity:device=*", "%", "time that the memory was busy of", amd_smi::kUsage, amd_smi::kMemory),
    rare("mm_activity:device=*", "%", "time that the media engines were busy of", amd_smi::kUsage,
         amd_smi::kMedia),
    counted("util_counter_gfx:device=*", "activity of the cores, summed, of", amd_smi::kActivity, 0),
    counted("util_counter_mem:device=*", "activity of the memory, summed, of", amd_smi::kActivity, 1),
    counted("util_counter_dec:device=*", "activity of the decoders, summed, of", amd_smi::kActivity, 2),
    rare("power_cap_default:device=*", "uW", "power cap at first of", amd_smi::kPowerCap, amd_smi::kUsualCap),
    rare("power_cap_dpm:device=*", "MHz", "clock at the power cap of", amd_smi::kPowerCap,
         amd_smi::kClockOfCap),
    rare("power_cap_range_min:device=*", "uW", "lowest power cap of", amd_smi::kPowerCap, amd_smi::kLeastCap),
    rare("power_cap_range_max:device=*", "uW", "highest power cap of", amd_smi::kPowerCap, amd_smi::kMostCap),
    rare("mem_total_VRAM:device=*", "bytes", "memory of", amd_smi::kMemoryTotal, amd_smi::kDeviceMemory),
    rare("mem_usage_VRAM:device=*", "bytes", "memory in use of", amd_smi::kMemoryUsage,
         amd_smi::kDeviceMemory),
    rare("mem_total_VIS_VRAM:device=*", "bytes", "memory that processors can reach of", amd_smi::kMemoryTotal,
         amd_smi::kVisibleMemory),
    rare("mem_usage_VIS_VRAM:device=*", "bytes", "memory in use that processors can reach of",
         amd_smi::kMemoryUsage, amd_smi::kVisibleMemory),
    rare("mem_total_GTT:device=*", "bytes", "main memory that can be mapped by", amd_smi::kMemoryTotal,
         amd_smi::kMappedMemory),
    rare("mem_usage_GTT:device=*", "bytes", "main memory that is mapped by", amd_smi::kMemoryUsage,
         amd_smi::kMappedMemory),
    rare("vram_total_mb:device=*", "MiB", "memory of", amd_smi::kVram, 0),
    rare("vram_used_mb:device=*", "MiB", "memory in use of", amd_smi::kVram, 1),
    rare("ecc_total_correctable:device=*", "errors", "corrected errors of", amd_smi::kErrors,
         amd_smi::kCorrectable),
    rare("ecc_total_uncorrectable:device=*", "errors", "uncorrected errors of", amd_smi::kErrors,
         amd_smi::kUncorrectable),
    rare("ecc_total_deferred:device=*", "errors", "errors found and not yet consumed of", amd_smi::kErrors,
         amd_smi::kDeferred),
    rare("ecc_enabled_mask:device=*", "", "blocks with error checks, a bit each, of", amd_smi::kEccBlocks),
    rare("clk_sys_current:device=*", "MHz", "clock of", amd_smi::kClock,
         4 * amd_smi::kSystemClock + amd_smi::kNow),
    rare("clk_sys_min:device=*", "MHz", "lowest clock of", amd_smi::kClock,
         4 * amd_smi::kSystemClock + amd_smi::kLeast),
    rare("clk_sys_max:device=*", "MHz", "highest clock of", amd_smi::kClock,
         4 * amd_smi::kSystemClock + amd_smi::kMost),
    rare("clk_mem_current:device=*", "MHz", "memory clock of", amd_smi::kClock,
         4 * amd_smi::kMemoryClock + amd_smi::kNow),
    rare("clk_mem_min:device=*", "MHz", "lowest memory clock of", amd_smi::kClock,
         4 * amd_smi::kMemoryClock + amd_smi::kLeast),
    rare("clk_mem_max:device=*", "MHz", "highest memory clock of", amd_smi::kClock,
         4 * amd_smi::kMemoryClock + amd_smi::kMost),
    rare("fan_rpms_sensor=0:device=*", "RPM", "fan speed of", amd_smi::kFan, 0),
    rare("fan_speed_sensor=0:device=*", "", "fan speed, 0 to the highest, of", amd_smi::kFan, 1),
    rare("fan_rpms_max_sensor=0:device=*", "", "highest fan_speed of", amd_smi::kFan, 2),
    rare("pcie_max_width:device=*", "lanes", "PCI Express lanes of", amd_smi::kPciExpress,
         amd_smi::kMostLanes),
    rare("pcie_max_speed:device=*", "MT/s", "highest PCI Express speed of", amd_smi::kPciExpress,
         amd_smi::kMostSpeed),
    rare("pcie_interface_version:device=*", "", "PCI Express version of", amd_smi::kPciExpress,
         amd_smi::kVersion),
    rare("pcie_slot_type:device=*", "", "form of the card, 0 PCI Express, 1 OAM, of", amd_smi::kPciExpress,
         amd_smi::kSlot),
    rare("pcie_width:device=*", "lanes", "PCI Express lanes in use of", amd_smi::kPciExpress,
         amd_smi::kLanes),
    rare("pcie_speed:device=*", "MT/s", "PCI Express speed of", amd_smi::kPciExpress, amd_smi::kSpeed),
    rare("pcie_bandwidth:device=*", "Mb/s", "PCI Express traffic now of", amd_smi::kPciExpress,
         amd_smi::kBandwidth),
    counted("pcie_replay_count:device=*", "PCI Express packets sent again by", amd_smi::kPciExpress,
            amd_smi::kReplayCount),
    counted("pcie_l0_to_recovery_count:device=*", "PCI Express link recoveries of", amd_smi::kPciExpress,
            amd_smi::kRecoveries),
    counted("pcie_replay_rollover_count:device=*", "PCI Express replays that ran out of",
            amd_smi::kPciExpress, amd_smi::kRollovers),
    counted("pcie_nak_sent_count:device=*", "PCI Express packets refused by", amd_smi::kPciExpress,
            amd_smi::kNaksSent),
    counted("pcie_nak_received_count:device=*", "PCI Express packets refused of", amd_smi::kPciExpress,
            amd_smi::kNaksReceived),
    counted("pci_replay_counter:device=*", "PCI Express packets sent again by", amd_smi::kReplays, 0),
    rare("gpu_overdrive_percent:device=*", "%", "clock above the usual of", amd_smi::kOverdrive, 0),
    rare("gpu_mem_overdrive_percent:device=*", "%", "memory clock above the usual of", amd_smi::kOverdrive,
         1),
    rare("perf_level:device=*", "", "performance level, 0 automatic, 1 low, 2 high, 3 manual, of",
         amd_smi::kPerfLevel),
    rare("xgmi_error_status:device=*", "", "errors of the links between GPUs, 0 none, 1 one, 2 several, of",
         amd_smi::kXgmiErrors),
    rare("gpu_id:device=*", "", "device number of", amd_smi::kIdentity, amd_smi::kDeviceId),
    rare("gpu_revision:device=*", "", "revision of", amd_smi::kIdentity, amd_smi::kRevision),
    rare("gpu_subsystem_id:device=*", "", "subsystem number of", amd_smi::kIdentity, amd_smi::kSubsystem),
    rare("gpu_bdfid:device=*", "", "place on the bus of", amd_smi::kIdentity, amd_smi::kPlace),
    rare("numa_node:device=*", "", "NUMA node of", amd_smi::kNumaNode, 0),
    rare("topo_numa_node:device=*", "", "NUMA node by the topology of", amd_smi::kNumaNode, 1),
    rare("memory_reserved_pages:device=*", "pages", "memory pages taken out of use of",
         amd_smi::kReservedPages),
};

using Gpus = sysfs::AmdGpus<kNumbers, amd_smi::begin, kLibraryNumbers>;

constexpr SubstrateTable kTable = sysfs::NumberSlots<Gpus, sysfs::AmdSampler>::table({
    .name = "amd_smi",
    .summary = "AMD's GPUs under the names of PAPI's amd_smi, from the driver amdgpu and libamd_smi",
    .traits = kReadBlocks,
    .read_bound_ns = 10'000'000'000,
    .event_names = "*:device=[0-9]*",
});

}  // namespace

SUBSTRATA_PUBLISH(amd_smi, kTable);
