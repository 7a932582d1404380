// Compact records (substrata/compact.h, format 1) from transactions and back.
#pragma once

#include <substrata/compact.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace substrata::feed {

// Records of one transaction at most.
inline constexpr size_t kMostRecords = 8;

// Writes the records of a transaction and gives their number; 0: the format has none for its kind. `phase` is
// that of the newest record. What a record has no field for (start, target, program, flags) is left out.
size_t encode(const substrata_transaction& t, uint32_t* phase, uint64_t* out) noexcept;
// Would decoding give the transaction again, but for time, initiator and probe?
bool is_whole(const substrata_transaction& t) noexcept;

// The transactions of one publisher's records. Thread-compatible.
class Expansion {
 public:
  // The transactions of records from `at` on, which it moves, up to so many; their number.
  size_t take(const uint64_t*& at, const uint64_t* end, substrata_transaction* out, size_t slots) noexcept;
  // Of all that follows.
  void begin_phase(uint16_t phase) noexcept { phase_ = phase; }
  void name(uint32_t initiator, uint16_t probe) noexcept {
    initiator_ = initiator;
    probe_ = probe;
  }

 private:
  bool take_one(uint64_t record, substrata_transaction* out) noexcept;

  uint64_t time_ = 0;  // of the newest transaction
  uint64_t site_ = 0;
  uint64_t detail_ = 0;
  uint64_t upper_ = 0;  // in its place
  uint64_t size_ = 0;
  bool has_size_ = false;
  uint16_t phase_ = 0;
  uint16_t probe_ = 0;
  uint32_t initiator_ = 0;
};

// The phase that holds after these records; 0 before the first that names one.
uint16_t phase_after(std::span<const uint64_t> records) noexcept;

}  // namespace substrata::feed
