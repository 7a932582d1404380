// AMD's GPUs as their kernel driver, amdgpu, shows them: where each is, and events that are numbers in its files.
#pragma once

#include <substrata/substrate.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/guard.hpp"
#include "sysfs/number_files.hpp"

namespace substrata::sysfs {

struct AmdGpu {
  std::string folder;   // /sys/class/drm/card0/device, root included
  std::string sensors;  // its hwmon folder, "" where it has none
};

// In the order of their cards. Allocates.
std::vector<AmdGpu> amd_gpus(const Host& host);

// Not ok, with the cure, where there is none. Allocates.
Status need_amd_gpu(const Host& host);

// An event that every GPU has whose driver shows the file.
struct AmdGpuNumber {
  const char* name;  // a '*' stands for the number of the GPU
  const char*
      file;  // of the device; behind a "sensor/" of its hwmon folder; a '@' there stands for the number of
             // the temperature with the label
  const char* label;       // "edge", "junction", "mem"; null: not a temperature
  const char* other_file;  // that other chips have instead, or null
  const char* unit;
  const char* text;
  int64_t times, by;
  bool starred;     // the line of the level that is in force: "1: 1725Mhz *"
  bool is_written;  // PAPI_write sets it within <file>_min and <file>_max
};

// A device of such events; the whole scan of one.
class AmdGpuNumbers : public NumberFiles {
 public:
  using NumberFiles::NumberFiles;

 protected:
  Status scan(const AmdGpuNumber* numbers, size_t count);
};

// The device of a substrate with these events.
template <const auto& numbers>
class AmdGpus : public AmdGpuNumbers {
 public:
  using AmdGpuNumbers::AmdGpuNumbers;
  Status scan() { return AmdGpuNumbers::scan(numbers, std::size(numbers)); }
  static Status detect(const Host& host) { return need_amd_gpu(host); }
};

}  // namespace substrata::sysfs
