// How busy each logical processor was, from the table at the head of /proc/stat.
#pragma once

#include <cstdint>
#include <string_view>

namespace substrata::thermal_model {

// Time of one logical processor since boot, in the kernel's ticks (10 ms). Time taken by the hypervisor
// (steal) and waiting for input count as not busy.
struct ProcessorTime {
  uint32_t processor = 0;
  int64_t busy = 0, total = 0;
};

// Takes the next processor's line off the front of *text; false at the end of the table or at a line that is
// cut or not as it should be. No allocation. Signal-safe.
bool next_processor(std::string_view* text, ProcessorTime* time) noexcept;

}  // namespace substrata::thermal_model
