// Translation lookaside buffers of AMD's processors, which describe them in CPUID leaves of their own.
#pragma once

#include "core/system/system_info.hpp"

namespace substrata {

// The registers of one leaf that describe buffers.
struct TlbRegisters {
  uint32_t a = 0;
  uint32_t b = 0;
};

// Adds what the leaves 0x80000005 (level 1), 0x80000006 (level 2) and 0x80000019 (pages of 1 GiB, both levels)
// say to the levels there are.
void add_amd_tlbs(TlbRegisters level_1, TlbRegisters level_2, TlbRegisters gibibyte, HardwareInfo* info);

}  // namespace substrata
