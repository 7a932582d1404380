// Where a signal met a thread.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace substrata {

// The address of the instruction that the handler's third argument gives; 0 where it is null or the processor is of
// another family than these. Signal-safe.
inline uint64_t program_counter(const void* context) noexcept {
  if (context == nullptr) return 0;
  [[maybe_unused]] const auto* where = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uint64_t>(where->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return where->uc_mcontext.pc;
#else
  return 0;
#endif
}

}  // namespace substrata
