// The running kernel's system calls behind the table of kernel.hpp.
#include "perf_events/kernel.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

#include "base/uncancelled.hpp"

namespace substrata::perf {
namespace {

int open_event(void*, perf_event_attr* attr, pid_t pid, int cpu, int group, unsigned long flags) noexcept {
  return static_cast<int>(uninterrupted(
      [&] { return result_or_error(::syscall(SYS_perf_event_open, attr, pid, cpu, group, flags)); }));
}

ssize_t read_event(void*, int descriptor, void* to, size_t size) noexcept {
  return result_or_error(::syscall(SYS_read, descriptor, to, size));  // read() is a cancellation point
}

int control_event(void*, int descriptor, unsigned long request, unsigned long argument) noexcept {
  return ::ioctl(descriptor, request, argument) < 0 ? -errno : 0;
}

void close_event(void*, int descriptor) noexcept {
  const Uncancelled here;
  ::close(descriptor);
}

size_t page_size() noexcept { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

void* map_event(void*, int descriptor, uint32_t data_pages) noexcept {
  const int access = data_pages == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const page = ::mmap(nullptr, (1 + data_pages) * page_size(), access, MAP_SHARED, descriptor, 0);
  return page == MAP_FAILED ? nullptr : page;
}

void unmap_event(void*, void* page, uint32_t data_pages) noexcept {
  ::munmap(page, (1 + data_pages) * page_size());
}

int deliver_event(void*, int descriptor, int signal, pid_t thread) noexcept {
  const f_owner_ex owner{F_OWNER_TID, thread};
  if (::fcntl(descriptor, F_SETOWN_EX, &owner) < 0 || ::fcntl(descriptor, F_SETSIG, signal) < 0)
    return -errno;
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_ASYNC) < 0) return -errno;
  return 0;
}

#if defined(__x86_64__) || defined(__i386__)

uint64_t hardware_counter(void*, uint32_t index) noexcept {
  return static_cast<uint64_t>(__builtin_ia32_rdpmc(static_cast<int>(index - 1)));
}
uint64_t processor_ticks(void*) noexcept { return __rdtsc(); }
constexpr auto kTicks = processor_ticks;

#elif defined(__aarch64__)

// The event counters have no indexed read from user space without writing PMSELR, so each has its own
// register.
#define SUBSTRATA_PMEVCNTR(n)                                 \
  case n:                                                     \
    asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
    break;

uint64_t hardware_counter(void*, uint32_t index) noexcept {
  uint64_t value = 0;
  if (index == 32) {  // the cycle counter is number 31
    asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
    return value;
  }
  switch (index - 1) {
    SUBSTRATA_PMEVCNTR(0)
    SUBSTRATA_PMEVCNTR(1)
    SUBSTRATA_PMEVCNTR(2)
    SUBSTRATA_PMEVCNTR(3)
    SUBSTRATA_PMEVCNTR(4)
    SUBSTRATA_PMEVCNTR(5)
    SUBSTRATA_PMEVCNTR(6)
    SUBSTRATA_PMEVCNTR(7)
    SUBSTRATA_PMEVCNTR(8)
    SUBSTRATA_PMEVCNTR(9)
    SUBSTRATA_PMEVCNTR(10)
    SUBSTRATA_PMEVCNTR(11)
    SUBSTRATA_PMEVCNTR(12)
    SUBSTRATA_PMEVCNTR(13)
    SUBSTRATA_PMEVCNTR(14)
    SUBSTRATA_PMEVCNTR(15)
    SUBSTRATA_PMEVCNTR(16)
    SUBSTRATA_PMEVCNTR(17)
    SUBSTRATA_PMEVCNTR(18)
    SUBSTRATA_PMEVCNTR(19)
    SUBSTRATA_PMEVCNTR(20)
    SUBSTRATA_PMEVCNTR(21)
    SUBSTRATA_PMEVCNTR(22)
    SUBSTRATA_PMEVCNTR(23)
    SUBSTRATA_PMEVCNTR(24)
    SUBSTRATA_PMEVCNTR(25)
    SUBSTRATA_PMEVCNTR(26)
    SUBSTRATA_PMEVCNTR(27)
    SUBSTRATA_PMEVCNTR(28)
    SUBSTRATA_PMEVCNTR(29)
    SUBSTRATA_PMEVCNTR(30)
    default:
      break;
  }
  return value;
}
#undef SUBSTRATA_PMEVCNTR

uint64_t processor_ticks(void*) noexcept {
  uint64_t value = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
}
constexpr auto kTicks = processor_ticks;

#else

constexpr uint64_t (*hardware_counter)(void*, uint32_t) noexcept = nullptr;
constexpr uint64_t (*kTicks)(void*) noexcept = nullptr;

#endif

constexpr Kernel kReal{
    .context = nullptr,
    .open = open_event,
    .read = read_event,
    .control = control_event,
    .close = close_event,
    .map = map_event,
    .unmap = unmap_event,
    .deliver = deliver_event,
    .counter = hardware_counter,
    .ticks = kTicks,
    .running_kernel = true,
};

int open_nothing(void*, perf_event_attr*, pid_t, int, int, unsigned long) noexcept { return -ENODEV; }

constexpr Kernel kRecorded = [] {
  Kernel kernel = kReal;
  kernel.open = open_nothing;
  kernel.ticks = nullptr;
  kernel.running_kernel = false;
  return kernel;
}();

}  // namespace

const Kernel& real_kernel() noexcept { return kReal; }

const Kernel& kernel_of(const char* root) noexcept {
  return root == nullptr || *root == '\0' ? kReal : kRecorded;
}

}  // namespace substrata::perf
