// The substrate `rocm_smi`: AMD's GPUs under the names of PAPI's rocm_smi, from the kernel driver's files.
#include <substrata/substrate.h>

#include "sysfs/amd_gpus.hpp"

namespace {

using namespace substrata;
using sysfs::AmdGpuNumber;

constexpr AmdGpuNumber level(const char* name, const char* file, const char* unit, const char* text) {
  return {name, file, nullptr, nullptr, unit, text, 1, 1, false, false};
}
constexpr AmdGpuNumber temperature(const char* name, const char* file, const char* label, const char* text) {
  return {name, file, label, nullptr, "mdegC", text, 1, 1, false, false};
}
constexpr AmdGpuNumber clock(const char* name, const char* file, const char* text) {
  return {name, file, nullptr, nullptr, "Hz", text, 1'000'000, 1, true, false};
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
    clock("gpu_clk_freq_System:device=*:current", "pp_dpm_sclk", "clock of"),
    clock("gpu_clk_freq_Memory:device=*:current", "pp_dpm_mclk", "memory clock of"),
    clock("gpu_clk_freq_SOC:device=*:current", "pp_dpm_socclk", "clock of the parts around the cores of"),
    clock("gpu_clk_freq_DataFabric:device=*:current", "pp_dpm_fclk", "clock of the data fabric of"),
};

using Gpus = sysfs::AmdGpus<kNumbers>;

constexpr SubstrateTable kTable = sysfs::NumberSlots<Gpus>::table({
    .name = "rocm_smi",
    .summary = "AMD's GPUs under the names of PAPI's rocm_smi, from the driver amdgpu",
    .event_names = "*:device=*:*,*_percent:device=*,mem_*:device=*",
});

}  // namespace

SUBSTRATA_PUBLISH(rocm_smi, kTable);
