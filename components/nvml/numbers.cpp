// The tables of the numbers of a GPU.
#include "nvml/numbers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace substrata::nvml {
namespace {

// Two numbers in one: a function in the low byte, a selection above.
constexpr int64_t both(int low, int high) { return low | (high << 8); }
constexpr int low(int64_t argument) { return static_cast<int>(argument & 0xff); }
constexpr int high(int64_t argument) { return static_cast<int>(argument >> 8); }

template <auto Function>
int one(const Library& nvml, const Gpu& gpu, Pass*, int64_t, int64_t* value) noexcept {
  unsigned number = 0;
  const int answer = Library::call(nvml.*Function, gpu.handle, &number);
  *value = number;
  return answer;
}

template <auto Function>
int chosen(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  unsigned number = 0;
  const int answer = Library::call(nvml.*Function, gpu.handle, static_cast<int>(argument), &number);
  *value = number;
  return answer;
}

template <auto Function>
int first_of_two(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  unsigned numbers[2] = {0, 0};
  const int answer = Library::call(nvml.*Function, gpu.handle, &numbers[0], &numbers[1]);
  *value = numbers[argument];
  return answer;
}

int energy(const Library& nvml, const Gpu& gpu, Pass*, int64_t, int64_t* value) noexcept {
  unsigned long long number = 0;
  const int answer = Library::call(nvml.energy, gpu.handle, &number);
  *value = static_cast<int64_t>(number);
  return answer;
}

int performance_state(const Library& nvml, const Gpu& gpu, Pass*, int64_t, int64_t* value) noexcept {
  constexpr int kUnknown = 32;
  int number = kUnknown;
  const int answer = Library::call(nvml.performance_state, gpu.handle, &number);
  *value = number;
  return answer == kDone && number == kUnknown ? static_cast<int>(kUnsupported) : answer;
}

int utilization(const Library& nvml, const Gpu& gpu, Pass* pass, int64_t argument, int64_t* value) noexcept {
  if (!pass->has_utilization) {
    const int answer = Library::call(nvml.utilization, gpu.handle, &pass->utilization);
    if (answer != kDone) return answer;
    pass->has_utilization = true;
  }
  *value = argument == 0 ? pass->utilization.gpu : pass->utilization.memory;
  return kDone;
}

int memory(const Library& nvml, const Gpu& gpu, Pass* pass, int64_t argument, int64_t* value) noexcept {
  if (!pass->has_memory) {
    const int answer = Library::call(nvml.memory, gpu.handle, &pass->memory);
    if (answer != kDone) return answer;
    pass->has_memory = true;
  }
  const unsigned long long chosen_one = argument == 0   ? pass->memory.total
                                        : argument == 1 ? pass->memory.free
                                                        : pass->memory.used;
  *value = static_cast<int64_t>(chosen_one);
  return kDone;
}

constexpr int kVolatile = 0;  // counted since the driver was loaded

int memory_errors(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  unsigned long long number = 0;
  const int answer =
      Library::call(nvml.memory_errors, gpu.handle, low(argument), kVolatile, high(argument), &number);
  *value = static_cast<int64_t>(number);
  return answer;
}

int ecc_errors(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  unsigned long long number = 0;
  const int answer =
      Library::call(nvml.total_ecc_errors, gpu.handle, static_cast<int>(argument), kVolatile, &number);
  *value = static_cast<int64_t>(number);
  return answer;
}

int all_ecc_errors(const Library& nvml, const Gpu& gpu, Pass* pass, int64_t, int64_t* value) noexcept {
  int64_t corrected = 0;
  int64_t uncorrected = 0;
  int answer = ecc_errors(nvml, gpu, pass, 0, &corrected);
  if (answer == kDone) answer = ecc_errors(nvml, gpu, pass, 1, &uncorrected);
  *value = corrected + uncorrected;
  return answer;
}

// KB/s; the driver counts for 20 ms while the caller waits.
int pcie_rate(const Library& nvml, const Gpu& gpu, Pass* pass, int64_t argument, int64_t* value) noexcept {
  const int answer = chosen<&Library::pcie_throughput>(nvml, gpu, pass, argument, value);
  *value *= 1000;
  return answer;
}

int throttled(const Library& nvml, const Gpu& gpu, Pass*, int64_t mask, int64_t* value) noexcept {
  unsigned long long reasons = 0;
  const int answer = Library::call(nvml.throttle_reasons, gpu.handle, &reasons);
  *value = mask == 0 ? static_cast<int64_t>(reasons) : (static_cast<int64_t>(reasons) & mask) != 0;
  return answer;
}

int violation(const Library& nvml, const Gpu& gpu, Pass*, int64_t policy, int64_t* value) noexcept {
  Violation times{};
  const int answer = Library::call(nvml.violation, gpu.handle, static_cast<int>(policy), &times);
  *value = static_cast<int64_t>(times.violation_ns);
  return answer;
}

int64_t integer_of(const Field& field) noexcept {
  switch (field.type) {
    case 0:
      return static_cast<int64_t>(field.value.real);
    case 1:
      return field.value.u32;
    case 5:
      return field.value.i32;
    case 6:
      return field.value.u16;
    default:
      return field.value.i64;
  }
}

// The identification in the low 16 bits, the scope above: a part of the board, or kAllLinks.
constexpr int64_t kAllLinks = 0xffff;
constexpr int64_t field_of(int64_t id, int64_t scope = 0) { return id | (scope << 16); }

int ask_field(const Library& nvml, const Gpu& gpu, int64_t argument, Field* asked) noexcept {
  *asked = Field{};
  asked->id = static_cast<unsigned>(argument & 0xffff);
  const int64_t scope = argument >> 16;
  asked->scope = scope == kAllLinks ? ~0U : static_cast<unsigned>(scope);
  const int answer = Library::call(nvml.fields, gpu.handle, 1, asked);
  return answer == kDone ? asked->answer : answer;
}

template <int64_t Factor>
int field(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  Field asked;
  const int answer = ask_field(nvml, gpu, argument, &asked);
  *value = integer_of(asked) * Factor;
  return answer;
}

// The driver says by the wall clock when it took a value.
int field_age(const Library& nvml, const Gpu& gpu, Pass*, int64_t argument, int64_t* value) noexcept {
  Field asked;
  const int answer = ask_field(nvml, gpu, argument, &asked);
  if (answer != kDone) return answer;
  if (asked.time_us <= 0) return kUnsupported;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  *value = std::max<int64_t>(0, now.tv_sec * int64_t{1'000'000} + now.tv_nsec / 1000 - asked.time_us);
  return kDone;
}

// The driver numbers processes as the machine does; a container's processes have other numbers.
bool sees_numbers_of_the_machine() noexcept {
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;
  struct stat own {};
  return ::stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == kFirstNamespace;
}

constexpr int64_t kHowMany = 0;
constexpr int64_t kMemoryOfAll = 1;
constexpr int64_t kMemoryOfThis = 2;

Processes list_processes(const Library& nvml, const Gpu& gpu) noexcept {
  constexpr unsigned kMost = 256;
  constexpr unsigned long long kNotKnown = ~0ULL;
  ProcessOnGpu all[kMost];
  unsigned count = kMost;
  Processes out;
  out.answer = Library::call(nvml.processes, gpu.handle, &count, all);
  out.count = count;
  const auto own = static_cast<unsigned>(::getpid());
  for (unsigned i = 0; out.answer == kDone && i < std::min(count, kMost); ++i) {
    const bool known = all[i].memory != kNotKnown, is_own = all[i].process == own;
    const int64_t memory = known ? static_cast<int64_t>(all[i].memory) : 0;
    out.memory += memory;
    out.all_known = out.all_known && known;
    if (!is_own) continue;
    out.own_found = true;
    out.own_memory += memory;
    out.own_known = out.own_known && known;
  }
  return out;
}

int processes(const Library& nvml, const Gpu& gpu, Pass* pass, int64_t what, int64_t* value) noexcept {
  if (!pass->has_processes) pass->processes = list_processes(nvml, gpu);
  pass->has_processes = true;
  const Processes& all = pass->processes;
  *value = what == kHowMany ? all.count : what == kMemoryOfAll ? all.memory : all.own_memory;
  if (what == kHowMany && all.answer == kTooSmall) return kDone;
  if (all.answer != kDone || what == kHowMany) return all.answer;
  if (what == kMemoryOfAll) return all.all_known ? kDone : kUnsupported;
  if (!all.own_known) return kUnsupported;
  return all.own_found || sees_numbers_of_the_machine() ? kDone : kOtherNumbers;
}

constexpr int64_t kPowerAverage = 185;
constexpr int64_t kPowerInstant = 186;
constexpr int64_t kMemoryTemperature = 82;
constexpr int64_t kLinkSent = 138;
constexpr int64_t kLinkReceived = 139;
constexpr int64_t kPcieSent = 197;
constexpr int64_t kPcieReceived = 198;
constexpr int64_t kMemoryScope = 2;

constexpr int64_t kPowerReasons = 0x4 | 0x80;     // the power limit, the power brake
constexpr int64_t kThermalReasons = 0x20 | 0x40;  // by software, by hardware

constexpr Number kNumbers[] = {
    {"graphics_clock", nullptr, "MHz", "clock of the graphics domain", false, false, 64,
     chosen<&Library::clock>, 0, Window::kMoment},
    {"sm_clock", nullptr, "MHz", "clock of the multiprocessors", false, false, 64, chosen<&Library::clock>, 1,
     Window::kMoment},
    {"memory_clock", nullptr, "MHz", "clock of the memory", false, false, 64, chosen<&Library::clock>, 2,
     Window::kMoment},
    {"graphics_max_clock", nullptr, "MHz", "highest clock of the graphics domain", false, false, 64,
     chosen<&Library::max_clock>, 0},
    {"sm_max_clock", nullptr, "MHz", "highest clock of the multiprocessors", false, false, 64,
     chosen<&Library::max_clock>, 1},
    {"memory_max_clock", nullptr, "MHz", "highest clock of the memory", false, false, 64,
     chosen<&Library::max_clock>, 2},
    {"fan_speed", nullptr, "%", "speed that the fans are asked for, of the highest", false, false, 64,
     one<&Library::fan_speed>, 0, Window::kMoment},
    {"gpu_utilization", nullptr, "%", "time in which a kernel ran", false, false, 64, utilization, 0,
     Window::kDriver},
    {"memory_utilization", nullptr, "%", "time in which memory was read or written", false, false, 64,
     utilization, 1, Window::kDriver},
    {"temperature", nullptr, "degC", "temperature of the GPU", false, false, 64,
     chosen<&Library::temperature>, 0, Window::kMoment},
    {"memory_temperature", nullptr, "degC", "temperature of the memory", false, false, 64, field<1>,
     field_of(kMemoryTemperature), Window::kMoment},
    {"pstate", nullptr, "", "performance state, 0 the fastest, 15 the slowest", false, false, 64,
     performance_state, 0, Window::kMoment},
    {"total_memory", nullptr, "bytes", "memory installed", false, true, 64, memory, 0},
    {"unallocated_memory", nullptr, "bytes", "memory free", false, true, 64, memory, 1, Window::kMoment},
    {"allocated_memory", nullptr, "bytes", "memory in use, the driver's own included", false, true, 64,
     memory, 2, Window::kMoment},
    {"total_energy_consumption", nullptr, "mJ", "energy used since the driver was loaded", false, false, 64,
     energy, 0},
    {"energy", nullptr, "mJ", "energy used since the set started", true, false, 64, energy, 0},
    {"power", nullptr, "mW", "power of the board", false, false, 64, one<&Library::power>, 0, Window::kPower},
    {"gpu_inst_power", "power_instant", "mW", "power of the GPU", false, false, 64, field<1>,
     field_of(kPowerInstant), Window::kMoment},
    {"power_average", nullptr, "mW", "power of the GPU", false, false, 64, field<1>, field_of(kPowerAverage),
     Window::kSecond},
    {"gpu_memory_avg_power", nullptr, "mW", "power of the memory", false, false, 64, field<1>,
     field_of(kPowerAverage, kMemoryScope), Window::kSecond},
    {kPowerLimit, nullptr, "mW", "power limit; PAPI_write sets it, where permitted", false, false, 64,
     one<&Library::power_limit>, 0},
    {"power_management_limit_constraint_min", nullptr, "mW", "lowest power limit that can be set", false,
     false, 64, first_of_two<&Library::power_limits>, 0},
    {"power_management_limit_constraint_max", nullptr, "mW", "highest power limit that can be set", false,
     false, 64, first_of_two<&Library::power_limits>, 1},
    {"l1_single_ecc_errors", nullptr, "", "corrected errors of the L1 cache since the driver was loaded",
     false, false, 64, memory_errors, both(0, 0)},
    {"l2_single_ecc_errors", nullptr, "", "corrected errors of the L2 cache since the driver was loaded",
     false, false, 64, memory_errors, both(0, 1)},
    {"memory_single_ecc_errors", nullptr, "", "corrected errors of the memory since the driver was loaded",
     false, false, 64, memory_errors, both(0, 2)},
    {"regfile_single_ecc_errors", nullptr, "",
     "corrected errors of the register file since the driver was loaded", false, false, 64, memory_errors,
     both(0, 3)},
    {"1l_double_ecc_errors", "l1_double_ecc_errors", "",
     "uncorrected errors of the L1 cache since the driver was loaded", false, false, 64, memory_errors,
     both(1, 0)},
    {"l2_double_ecc_errors", nullptr, "", "uncorrected errors of the L2 cache since the driver was loaded",
     false, false, 64, memory_errors, both(1, 1)},
    {"memory_double_ecc_errors", nullptr, "", "uncorrected errors of the memory since the driver was loaded",
     false, false, 64, memory_errors, both(1, 2)},
    {"regfile_double_ecc_errors", nullptr, "",
     "uncorrected errors of the register file since the driver was loaded", false, false, 64, memory_errors,
     both(1, 3)},
    {"total_ecc_errors", nullptr, "", "errors, corrected and not, since the driver was loaded", false, false,
     64, all_ecc_errors, 0},
    {"total_single_ecc_errors", nullptr, "", "corrected errors since the driver was loaded", false, false, 64,
     ecc_errors, 0},
    {"total_double_ecc_errors", nullptr, "", "uncorrected errors since the driver was loaded", false, false,
     64, ecc_errors, 1},
    {"pcie_tx_bytes", nullptr, "bytes", "sent over PCI Express", true, false, 32, field<1>,
     field_of(kPcieSent)},
    {"pcie_rx_bytes", nullptr, "bytes", "received over PCI Express", true, false, 32, field<1>,
     field_of(kPcieReceived)},
    {"pcie_tx_rate", nullptr, "bytes/s", "sent over PCI Express", false, false, 64, pcie_rate, 0,
     Window::kWhile},
    {"pcie_rx_rate", nullptr, "bytes/s", "received over PCI Express", false, false, 64, pcie_rate, 1,
     Window::kWhile},
    {"pcie_replays", nullptr, "", "PCI Express packets sent again", true, false, 32,
     one<&Library::pcie_replays>, 0},
    {"nvlink_tx_bytes", nullptr, "bytes", "sent over all NVLinks", true, false, 64, field<1024>,
     field_of(kLinkSent, kAllLinks)},
    {"nvlink_rx_bytes", nullptr, "bytes", "received over all NVLinks", true, false, 64, field<1024>,
     field_of(kLinkReceived, kAllLinks)},
    {"encoder_utilization", nullptr, "%", "use of the video encoder", false, false, 64,
     first_of_two<&Library::encoder>, 0, Window::kDriver},
    {"decoder_utilization", nullptr, "%", "use of the video decoder", false, false, 64,
     first_of_two<&Library::decoder>, 0, Window::kDriver},
    {"throttle_reasons", nullptr, "", "why the clocks are below their highest: NVML's bit mask", false, false,
     64, throttled, 0, Window::kMoment},
    {"throttled_by_power", nullptr, "", "1 while the power limit or the power brake slows the clocks", false,
     false, 64, throttled, kPowerReasons, Window::kMoment},
    {"throttled_by_heat", nullptr, "", "1 while the temperature slows the clocks", false, false, 64,
     throttled, kThermalReasons, Window::kMoment},
    {"time_throttled_by_power", nullptr, "ns", "time in which the power limit slowed the clocks", true, false,
     64, violation, 0},
    {"time_throttled_by_heat", nullptr, "ns", "time in which the temperature slowed the clocks", true, false,
     64, violation, 1},
    {"gpu_inst_power_age", nullptr, "us", "time since the driver took the value that gpu_inst_power is",
     false, false, 64, field_age, field_of(kPowerInstant)},
    {"power_average_age", nullptr, "us", "time since the driver took the value that power_average is", false,
     false, 64, field_age, field_of(kPowerAverage)},
    {"memory_temperature_age", nullptr, "us",
     "time since the driver took the value that memory_temperature is", false, false, 64, field_age,
     field_of(kMemoryTemperature)},
    {"compute_processes", nullptr, "", "processes that compute on the GPU", false, true, 64, processes,
     kHowMany, Window::kMoment},
    {"compute_processes_memory", nullptr, "bytes", "memory that all of these processes use", false, true, 64,
     processes, kMemoryOfAll, Window::kMoment},
    {"process_memory", nullptr, "bytes", "memory that the process that reads uses", false, true, 64,
     processes, kMemoryOfThis, Window::kMoment},
};

constexpr double kThousandth = 1000.0;
constexpr double kMebibytes = 1048576.0;

constexpr Metric kMetrics[] = {
    {"gpm_graphics_utilization", "m%", "time in which a graphics or compute engine was busy", 1, kThousandth},
    {"gpm_sm_utilization", "m%", "multiprocessors that had work, mean", 2, kThousandth},
    {"gpm_sm_occupancy", "m%", "warps that were resident, of those that fit", 3, kThousandth},
    {"gpm_integer_utilization", "m%", "use of the integer pipes", 4, kThousandth},
    {"gpm_tensor_utilization", "m%", "use of the tensor pipes", 5, kThousandth},
    {"gpm_fp64_tensor_utilization", "m%", "use of the FP64 tensor pipes", 6, kThousandth},
    {"gpm_half_tensor_utilization", "m%", "use of the half precision tensor pipes", 7, kThousandth},
    {"gpm_double_matrix_utilization", "m%", "use of the double precision matrix instructions", 8,
     kThousandth},
    {"gpm_integer_tensor_utilization", "m%", "use of the integer tensor pipes", 9, kThousandth},
    {"gpm_dram_bandwidth", "m%", "use of the memory's bandwidth", 10, kThousandth},
    {"gpm_fp64_utilization", "m%", "use of the FP64 pipes", 11, kThousandth},
    {"gpm_fp32_utilization", "m%", "use of the FP32 pipes", 12, kThousandth},
    {"gpm_fp16_utilization", "m%", "use of the FP16 pipes", 13, kThousandth},
    {"gpm_pcie_tx_rate", "bytes/s", "sent over PCI Express", 20, kMebibytes},
    {"gpm_pcie_rx_rate", "bytes/s", "received over PCI Express", 21, kMebibytes},
    {"gpm_nvlink_rx_rate", "bytes/s", "received over all NVLinks", 60, kMebibytes},
    {"gpm_nvlink_tx_rate", "bytes/s", "sent over all NVLinks", 61, kMebibytes},
};

}  // namespace

const char* words_for(Window window, int major, int minor) noexcept {
  switch (window) {
    case Window::kNone:
      return "";
    case Window::kMoment:
      return ", value of the moment";
    case Window::kSecond:
      return ", mean of the last second";
    case Window::kDriver:
      return ", of the driver's last window (a sixth of a second to a second)";
    case Window::kWhile:
      return ", mean of 20 ms in which the read waits";
    case Window::kPower:
      break;
  }
  if (major == 0)
    return ", since Ampere (but not its GA100) the mean of the last second, before that the value of the "
           "moment";
  return major > 8 || (major == 8 && minor > 0) ? ", mean of the last second" : ", value of the moment";
}

const Number* numbers(size_t* count) noexcept {
  *count = sizeof kNumbers / sizeof kNumbers[0];
  return kNumbers;
}

const Metric* metrics(size_t* count) noexcept {
  *count = sizeof kMetrics / sizeof kMetrics[0];
  return kMetrics;
}

}  // namespace substrata::nvml
