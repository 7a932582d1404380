// System calls that a signal may interrupt.
#pragma once

#include <sys/types.h>

#include <cerrno>

namespace substrata {

// What a function of the C library gave, with its error as a negative number. Signal-safe.
inline ssize_t result_or_error(ssize_t result) noexcept { return result < 0 ? -errno : result; }

// Makes the call, which gives a result or a negative error number, again for as long as a signal interrupts it.
// Signal-safe.
template <class Call>
ssize_t uninterrupted(Call&& call) noexcept {
  for (;;) {
    const ssize_t result = call();
    if (result != -EINTR) [[likely]]
      return result;
  }
}

}  // namespace substrata
