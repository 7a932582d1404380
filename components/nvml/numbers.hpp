// The numbers that a GPU has, under PAPI's names and ours: what each is, its unit, and how it is asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "nvidia/library.hpp"

namespace substrata::nvml {

// One GPU, or one part of a GPU that is divided (MIG).
struct Gpu {
  Handle handle = nullptr;
  Handle whole = nullptr;                      // the GPU that this is a part of, null for a whole one
  std::string where;                           // the beginning of its events' names
  unsigned instance = 0;                       // of a part
  int major = 0, minor = 0;                    // its compute capability
  unsigned first_limit = 0;                    // the power limit when it was found, in mW
  mutable std::atomic<unsigned> limit_set{0};  // the one that was written last, 0 for none
};

// Those that compute on a GPU, and the memory that they use.
struct Processes {
  int answer = 0;         // NVML's for the list
  bool all_known = true;  // the memory of each
  bool own_known = true;
  bool own_found = false;
  int64_t count = 0, memory = 0, own_memory = 0;
};

// Answers that several numbers share, so that those of one pass come from one call.
struct Pass {
  const Gpu* gpu = nullptr;
  bool has_utilization = false;
  bool has_memory = false;
  bool has_processes = false;
  Utilization utilization{};
  Memory memory{};
  Processes processes{};
};

// Reads one number; kDone or NVML's answer. `argument` is the row's.
using ReadNumber = int(const Library&, const Gpu&, Pass*, int64_t argument, int64_t* value) noexcept;

// What time a level's value is of.
enum class Window : uint8_t {
  kNone,    // constants, limits, counts
  kMoment,  // the driver's value when it is read
  kPower,   // a second since Ampere (but not its GA100), before that the moment
  kSecond,  // the second before
  kDriver,  // the driver's last window
  kWhile,   // 20 ms in which the read waits
};
// In words; of kPower by the GPU's compute capability, 0.0 where it is not known.
const char* words_for(Window window, int major, int minor) noexcept;

struct Number {
  const char* name;
  const char* alias;  // a second name, or null
  const char* unit;
  const char* text;
  bool counts;             // reported from the start of the set on; a gauge otherwise
  bool of_parts;           // a part of a divided GPU has it, too
  uint32_t wraps_at_bits;  // of a count
  ReadNumber* read;
  int64_t argument;
  Window window = Window::kNone;
};

const Number* numbers(size_t* count) noexcept;

// The number that PAPI_write may set.
inline constexpr const char* kPowerLimit = "power_management_limit";

// What the GPU's performance monitor gives (Hopper and later): means over the time between two samples.
struct Metric {
  const char* name;
  const char* unit;
  const char* text;
  unsigned id;    // nvmlGpmMetricId_t
  double factor;  // from NVML's unit to `unit`
};

const Metric* metrics(size_t* count) noexcept;

}  // namespace substrata::nvml
