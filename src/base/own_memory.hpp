// Memory of this process that may be gone, or not the processor's.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace substrata {

// False: it cannot be read whole, or the system does not allow the question. A system call, which faults for nothing;
// errno stays.
inline bool copy_own_memory(void* to, const void* from, size_t bytes) noexcept {
  const iovec own{to, bytes};
  const iovec there{const_cast<void*>(from), bytes};
  const int before = errno;
  const bool whole = process_vm_readv(getpid(), &own, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  errno = before;
  return whole;
}

}  // namespace substrata
