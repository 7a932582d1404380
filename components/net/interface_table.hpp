// Parses the kernel's table of network interfaces, /proc/net/dev.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace substrata::net {

// The columns of /proc/net/dev in their order (net/core/net-procfs.c, dev_seq_printf_stats).
inline constexpr uint32_t kColumns = 16;

// One line of the table. The counters are unsigned 64-bit numbers; on kernels and drivers that keep 32 bits
// they wrap at 2^32.
struct InterfaceLine {
  std::string_view name;
  uint64_t counters[kColumns] = {};
};

// Takes the next interface's line off the front of *text, skipping the heading. False at the end. *bad is set
// when a line is not as it should be (that line is then skipped). No allocation. Signal-safe.
bool next_interface(std::string_view* text, InterfaceLine* line, bool* bad) noexcept;

}  // namespace substrata::net
