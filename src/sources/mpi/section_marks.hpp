// Section marks that a program prints, and the current section in memory that the ranks of a node share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace substrata::mpi {

// The section mark a line of output holds: "Begin of NAME section" gives NAME, "End of NAME section" gives
// "". False when it holds none; `name` is then unchanged.
bool find_section_mark(std::string_view line, std::string& name);

// The current section of the program, in memory that all ranks of a node share: the rank that prints the
// marks sets it, all read it. Lock-free; lies zeroed in a mapped file.
struct SectionBoard {
  static constexpr uint32_t kMost = 64;
  static constexpr uint32_t kLength = 64;
  std::atomic<uint32_t> current;  // 0: none
  std::atomic<uint32_t> count;
  char names[kMost][kLength];

  // Called by one thread of one process at a time. A name beyond the 63rd is not kept: the section is then
  // "none".
  void enter(std::string_view name);
  // "" outside of any section: of the current one, or of one that was current.
  std::string name() const { return name(current.load(std::memory_order_acquire)); }
  std::string name(uint32_t section) const;
};

}  // namespace substrata::mpi
