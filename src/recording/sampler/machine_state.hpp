// How busy the machine is as a whole: its processors, its memory, its queue.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace substrata::sampler {

// Since boot, in the kernel's ticks. Waiting for input, and time that the hypervisor took, are not busy.
struct ProcessorTime {
  std::int64_t busy = 0;
  std::int64_t all = 0;
};
inline constexpr int kAllProcessors = -1;

struct MachineState {
  std::map<int, ProcessorTime> processors;  // by the system's number, and kAllProcessors; empty: not known
  double memory_bytes = 0;                  // 0: not known
  double available_bytes = 0;
  double load[3] = {-1, -1, -1};  // of 1, 5 and 15 minutes; negative: not known
};
// Below `root`, which stands for /.
std::map<int, ProcessorTime> processor_times(const std::string& root = "");
MachineState machine_state(const std::string& root = "");

}  // namespace substrata::sampler
