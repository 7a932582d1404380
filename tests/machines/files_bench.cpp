// What a read through PAPI's interface costs of numbers that stand in the kernel's files, on a recorded machine, beside
// a bare pread of the same file and its number. The files are on a disk, which answers faster than sysfs does.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <papi.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace {

struct Reading {
  const char* event;
  const char* file;
};
constexpr Reading kReadings[] = {
    {"coretemp:::coretemp-isa-0000:Package_id_0",
     "/sys/devices/platform/coretemp.0/hwmon/hwmon0/temp1_input"},
    {"cpufreq:::cpu0:frequency", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"},
    {"infiniband:::mlx5_0_1:port_xmit_data", "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data"},
    {"powercap:::ENERGY_UJ:ZONE0", "/sys/class/powercap/intel-rapl:0/energy_uj"},
};

void bare(benchmark::State& state, const Reading& reading) {
  const int file = open((std::string(MACHINE) + reading.file).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return state.SkipWithError("no such file");
  char text[64] = {};
  for (auto _ : state) {
    if (pread(file, text, sizeof text - 1, 0) < 1) return state.SkipWithError("the file cannot be read");
    benchmark::DoNotOptimize(strtoll(text, nullptr, 10));
  }
  close(file);
}

// `refresh`: for how many microseconds a temperature may be handed out again, null for a fresh one at each read.
void through_papi(benchmark::State& state, const Reading& reading, const char* refresh) {
  if (refresh != nullptr) setenv("SUBSTRATA_CORETEMP_REFRESH_LATENCY", refresh, 1);
  int set = PAPI_NULL;
  long long value = 0;
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK ||
      PAPI_add_named_event(set, reading.event) != PAPI_OK || PAPI_start(set) != PAPI_OK)
    return state.SkipWithError("the event does not count");
  for (auto _ : state) {
    if (PAPI_read(set, &value) != PAPI_OK) return state.SkipWithError("the event cannot be read");
    benchmark::DoNotOptimize(value);
  }
  PAPI_stop(set, nullptr);
  PAPI_shutdown();
  unsetenv("SUBSTRATA_CORETEMP_REFRESH_LATENCY");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SUBSTRATA_ROOT", MACHINE, 1);
  for (const Reading& reading : kReadings) {
    const std::string name = std::string(reading.event).substr(0, std::string(reading.event).find(':'));
    benchmark::RegisterBenchmark(("floor_" + name).c_str(), bare, reading);
    benchmark::RegisterBenchmark(name.c_str(), through_papi, reading, nullptr);
  }
  benchmark::RegisterBenchmark("coretemp_kept", through_papi, kReadings[0], "60000000");
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
