// The system calls this substrate makes, as a table, so that a test can drive it with a kernel of its own.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/uninterrupted.hpp"

namespace substrata::perf {

// Every function takes `context` first. Failures are negative errno values. `read`, `control`, `counter` and
// `ticks` are called on read paths: they neither allocate nor lock. Signal-safe, as the system calls are.
struct Kernel {
  void* context = nullptr;
  // perf_event_open(2); a descriptor or -errno.
  int (*open)(void*, perf_event_attr*, pid_t pid, int cpu, int group, unsigned long flags) noexcept = nullptr;
  // read(2); bytes or -errno.
  ssize_t (*read)(void*, int descriptor, void* to, size_t size) noexcept = nullptr;
  // ioctl(2) of a perf descriptor; 0 or -errno.
  int (*control)(void*, int descriptor, unsigned long request, unsigned long argument) noexcept = nullptr;
  void (*close)(void*, int descriptor) noexcept = nullptr;
  // Maps the first page of a perf descriptor, read-only, or with so many pages of samples behind it, writable; null
  // where that is refused. All mappings of a descriptor are of one size.
  void* (*map)(void*, int descriptor, uint32_t data_pages) noexcept = nullptr;
  void (*unmap)(void*, void* page, uint32_t data_pages) noexcept = nullptr;
  // Sends `signal` to `thread` at each overflow of the descriptor; 0 or -errno.
  int (*deliver)(void*, int descriptor, int signal, pid_t thread) noexcept = nullptr;
  // The hardware counter that perf_event_mmap_page::index names (1 is the first); only where the page allows.
  uint64_t (*counter)(void*, uint32_t index) noexcept = nullptr;
  // The processor's constant-rate counter (x86 TSC, arm64 CNTVCT); null where there is none.
  uint64_t (*ticks)(void*) noexcept = nullptr;
  // `read` is the running kernel's, so read_words may make the system call itself.
  bool running_kernel = false;
};

// read(2) of the running kernel, without a call where that is possible: after a system call every return is mispredicted,
// some 10 ns each. Bytes or -errno.
inline ssize_t read_here(int descriptor, uint64_t* to, size_t size) noexcept {
#if defined(__x86_64__) && !defined(__ILP32__)
  ssize_t got = SYS_read;
  asm volatile("syscall"
               : "+a"(got)
               : "D"(static_cast<long>(descriptor)), "S"(to), "d"(size)
               : "rcx", "r11", "memory");
  return got;
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_read;
  register long first asm("x0") = descriptor;
  register uint64_t* second asm("x1") = to;
  register size_t third asm("x2") = size;
  asm volatile("svc #0" : "+r"(first) : "r"(number), "r"(second), "r"(third) : "memory");
  return first;
#else
  const ssize_t got = ::read(descriptor, to, size);
  return got < 0 ? -errno : got;
#endif
}

inline ssize_t read_words_once(const Kernel& kernel, int descriptor, uint64_t* to, size_t size) noexcept {
  return kernel.running_kernel ? read_here(descriptor, to, size)
                               : kernel.read(kernel.context, descriptor, to, size);
}

// The same, done again where a signal interrupts it.
inline ssize_t read_words(const Kernel& kernel, int descriptor, uint64_t* to, size_t size) noexcept {
  return uninterrupted([&] { return read_words_once(kernel, descriptor, to, size); });
}

// The running kernel. Thread-safe: constant data.
const Kernel& real_kernel() noexcept;

// The one to count with on the machine whose "/" is `root`: the running kernel, or for a recorded machine one that
// opens nothing (ENODEV), for the numbers of its units mean others here. Thread-safe: constant data.
const Kernel& kernel_of(const char* root) noexcept;

}  // namespace substrata::perf
