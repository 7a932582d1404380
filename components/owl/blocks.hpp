// Blocks of addresses, whose size a register gives.
#pragma once

#include <bit>
#include <cstdint>

namespace substrata::owl {

inline const char* block_objection(uint64_t block) noexcept {
  return std::has_single_bit(block) ? nullptr : "the register 'block' must hold a power of two";
}
inline unsigned shift_of(uint64_t block) noexcept { return static_cast<unsigned>(std::countr_zero(block)); }

}  // namespace substrata::owl
