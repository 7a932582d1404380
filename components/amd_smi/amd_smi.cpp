// The substrate `amd_smi`: AMD's GPUs under the names of PAPI's amd_smi, from the kernel driver's files and AMD's
// library.
#include <substrata/substrate.h>

#include <cstdint>

#include "library.hpp"
#include "sysfs/amd_gpus.hpp"

namespace {

using namespace substrata;
using sysfs::AmdGpuNumber;
using sysfs::AmdLibraryNumber;

// In the unit of the file, or in one of `by` of them.
constexpr AmdGpuNumber level(const char* name, const char* file, const char* unit, const char* text,
                             int64_t by = 1) {
  return {name, file, nullptr, nullptr, unit, text, 1, by, false, false};
}
constexpr AmdGpuNumber temperature(const char* name, const char* label, const char* text) {
  return {name, "sensor/temp@_input", label, nullptr, "degC", text, 1, 1000, false, false};
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
    {"clk_freq_sys_current:device=*", "pp_dpm_sclk", nullptr, nullptr, "MHz", "clock of", 1, 1, true, false},
};

// What the files lack.
constexpr AmdLibraryNumber hot(const char* name, const char* text, int sensor) {
  return {name, "degC", text, false, amd_smi::kTemperature, sensor};
}
constexpr AmdLibraryNumber kLibraryNumbers[] = {
    {"energy_consumed:device=*", "uJ", "energy used by", true, amd_smi::kEnergy, 0},
    hot("temp_current_sensor=3:device=*", "temperature of the first stack of memory of", 3),
    hot("temp_current_sensor=4:device=*", "temperature of the second stack of memory of", 4),
    hot("temp_current_sensor=5:device=*", "temperature of the third stack of memory of", 5),
    hot("temp_current_sensor=6:device=*", "temperature of the fourth stack of memory of", 6),
};

using Gpus = sysfs::AmdGpus<kNumbers, amd_smi::begin, kLibraryNumbers>;

constexpr SubstrateTable kTable = sysfs::NumberSlots<Gpus, sysfs::AmdSampler>::table({
    .name = "amd_smi",
    .summary = "AMD's GPUs under the names of PAPI's amd_smi, from the driver amdgpu",
    .event_names = "*:device=[0-9]*",
});

}  // namespace

SUBSTRATA_PUBLISH(amd_smi, kTable);
