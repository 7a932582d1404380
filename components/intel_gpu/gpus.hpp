// Intel's GPUs as the kernel's drivers i915 and xe show them: their files, and the events of their counter units.
#pragma once

#include <linux/perf_event.h>
#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::intel_gpu {

// A number in a file of a GPU.
struct FileEvent {
  std::string name;  // without ":device=0"
  std::string path;
  const char* unit;
  std::string text;
  bool counts;
};

// An event of a GPU's counter unit.
struct UnitEvent {
  std::string name;
  perf_event_attr attr;
  int cpu;
  std::string unit;
  std::string text;
};

struct Gpu {
  std::vector<FileEvent> files;
  std::vector<UnitEvent> units;
};

// In the order of their cards. Allocates.
std::vector<Gpu> find_gpus(const Host& host);

// Whether there is one: cheaper. Allocates.
bool has_gpu(const Host& host);

}  // namespace substrata::intel_gpu
