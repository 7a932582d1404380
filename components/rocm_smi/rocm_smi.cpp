// The substrate `rocm_smi`: AMD's GPUs under the names of PAPI's rocm_smi, from the kernel driver's files and AMD's
// library.
#include <substrata/substrate.h>

#include "rocm_smi/library.hpp"
#include "sysfs/amd_gpus.hpp"

namespace {

using namespace substrata;
using namespace sysfs::amd;
using sysfs::AmdGpuNumber;
using sysfs::AmdLibraryNumber;

constexpr AmdGpuNumber temperature(const char* name, const char* file, const char* label, const char* text) {
  return {name, file, label, nullptr, "mdegC", text, 1, 1, false, false};
}
constexpr AmdGpuNumber clock(const char* name, const char* levels, const char* file, const char* text) {
  return {name, file, nullptr, nullptr, "Hz", text, 1'000'000, 1, true, false, levels};
}

constexpr AmdGpuNumber kNumbers[] = {
    level("busy_percent:device=*", "gpu_busy_percent", "%", "time that work ran on"),
    level("memory_busy_percent:device=*", "mem_busy_percent", "%", "time that the memory was busy of"),
    level("mem_total_VRAM:device=*", "mem_info_vram_total", "bytes", "memory of"),
    level("mem_usage_VRAM:device=*", "mem_info_vram_used", "bytes", "memory in use of"),
    level("mem_total_VIS_VRAM:device=*", "mem_info_vis_vram_total", "bytes",
          "memory that processors can reach of"),
    level("mem_usage_VIS_VRAM:device=*", "mem_info_vis_vram_used", "bytes",
          "memory in use that processors can reach of"),
    level("mem_total_GTT:device=*", "mem_info_gtt_total", "bytes", "main memory that can be mapped by"),
    level("mem_usage_GTT:device=*", "mem_info_gtt_used", "bytes", "main memory that is mapped by"),
    {"power_average:device=*:sensor=0", "sensor/power1_average", nullptr, "sensor/power1_input", "uW",
     "power used by", 1, 1, false, false},
    {"power_cap:device=*:sensor=0", "sensor/power1_cap", nullptr, nullptr, "uW", "power cap of", 1, 1, false,
     true},
    level("power_cap_range_min:device=*:sensor=0", "sensor/power1_cap_min", "uW", "lowest power cap of"),
    level("power_cap_range_max:device=*:sensor=0", "sensor/power1_cap_max", "uW", "highest power cap of"),
    temperature("temp_current:device=*:sensor=0", "sensor/temp@_input", "edge", "temperature at the edge of"),
    temperature("temp_current:device=*:sensor=1", "sensor/temp@_input", "junction", "highest temperature in"),
    temperature("temp_current:device=*:sensor=2", "sensor/temp@_input", "mem",
                "temperature of the memory of"),
    temperature("temp_critical:device=*:sensor=0", "sensor/temp@_crit", "edge",
                "critical edge temperature of"),
    temperature("temp_critical:device=*:sensor=1", "sensor/temp@_crit", "junction",
                "critical junction temperature of"),
    temperature("temp_critical:device=*:sensor=2", "sensor/temp@_crit", "mem",
                "critical memory temperature of"),
    level("fan_rpms:device=*:sensor=0", "sensor/fan1_input", "RPM", "fan speed of"),
    level("fan_speed:device=*:sensor=0", "sensor/pwm1", "", "fan speed, 0 to 255, of"),
    clock("gpu_clk_freq_System:device=*:current", "gpu_clk_freq_System:device=*:idx=@", "pp_dpm_sclk",
          "clock of"),
    clock("gpu_clk_freq_Memory:device=*:current", "gpu_clk_freq_Memory:device=*:idx=@", "pp_dpm_mclk",
          "memory clock of"),
    clock("gpu_clk_freq_SOC:device=*:current", "gpu_clk_freq_SOC:device=*:idx=@", "pp_dpm_socclk",
          "clock of the parts around the cores of"),
    clock("gpu_clk_freq_DataFabric:device=*:current", "gpu_clk_freq_DataFabric:device=*:idx=@", "pp_dpm_fclk",
          "clock of the data fabric of"),
    throughput("pci_throughput_received:device=*", "packets/s",
               "packets received over PCI Express, in a second that the read waits, by", 0),
    throughput("pci_throughput_sent:device=*", "packets/s",
               "packets sent over PCI Express, in a second that the read waits, by", 1),
    throughput("pci_throughput_max_packet:device=*", "bytes", "largest packet over PCI Express of", 2),
    replays("pci_replay_counter:device=*"),
};

// What the files lack.
constexpr AmdLibraryNumber hot(const char* name, const char* text, int sensor, int metric) {
  return {name, "mdegC", text, false, rocm_smi::kTemperature, rocm_smi::temperature_of(sensor, metric)};
}
constexpr AmdLibraryNumber kLibraryNumbers[] = {
    {"energy_count:device=*", "uJ", "energy used by", true, rocm_smi::kEnergy, 0},
    hot("temp_max:device=*:sensor=0", "highest allowed edge temperature of", 0, rocm_smi::kHighest),
    hot("temp_max:device=*:sensor=1", "highest allowed junction temperature of", 1, rocm_smi::kHighest),
    hot("temp_max:device=*:sensor=2", "highest allowed memory temperature of", 2, rocm_smi::kHighest),
    hot("temp_current:device=*:sensor=3", "temperature of the first stack of memory of", 3,
        rocm_smi::kCurrent),
    hot("temp_current:device=*:sensor=4", "temperature of the second stack of memory of", 4,
        rocm_smi::kCurrent),
    hot("temp_current:device=*:sensor=5", "temperature of the third stack of memory of", 5,
        rocm_smi::kCurrent),
    hot("temp_current:device=*:sensor=6", "temperature of the fourth stack of memory of", 6,
        rocm_smi::kCurrent),
};

using Gpus = sysfs::AmdGpus<kNumbers, rocm_smi::begin, kLibraryNumbers>;

constexpr SubstrateTable kTable = sysfs::NumberSlots<Gpus, sysfs::AmdSampler>::table({
    .name = "rocm_smi",
    .summary = "AMD's GPUs under the names of PAPI's rocm_smi, from the driver amdgpu",
    .traits = kReadBlocks,
    .read_bound_ns = 10'000'000'000,
    .event_names = "*:device=*:*,*_percent:device=*,mem_*:device=*",
});

}  // namespace

SUBSTRATA_PUBLISH(rocm_smi, kTable);
