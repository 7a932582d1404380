// Records of accesses (substrata/compact.h) as the machine reads them.
#pragma once

#include <substrata/compact.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace substrata::numachine {

class Record {
 public:
  Record() = default;
  explicit constexpr Record(std::uint64_t word) noexcept : word_(word) {}

  unsigned what() const noexcept { return static_cast<unsigned>(word_ & 0xffU); }
  std::uint64_t address() const noexcept { return word_ >> 16; }
  unsigned size() const noexcept { return static_cast<unsigned>(word_ >> 8 & 0xffU) + 1; }
  // A read or write within one line of any cache.
  bool is_plain() const noexcept { return (word_ & 0xfeU) == 0; }
  bool is_write() const noexcept { return (word_ & 1U) != 0; }

 private:
  std::uint64_t word_;
};
static_assert(sizeof(Record) == sizeof(std::uint64_t));
static_assert(SUBSTRATA_COMPACT_READ == 0 && SUBSTRATA_COMPACT_WRITE == 1);

// Records are written once; a vector of them grows without writing them before.
struct Unwritten : std::allocator<Record> {
  template <typename>
  struct rebind {
    using other = Unwritten;
  };
  void construct(Record* place) const noexcept { ::new (static_cast<void*>(place)) Record; }
  void construct(Record* place, const Record& record) const noexcept {
    ::new (static_cast<void*>(place)) Record(record);
  }
};
using Records = std::vector<Record, Unwritten>;

}  // namespace substrata::numachine
