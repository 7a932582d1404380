// Whether the kernel lets this process count its events: a container's default filter and some systems'
// settings do not.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace substrata::tests {

// Why a software event of this process cannot be counted; empty where it can.
inline std::string kernel_events_refused() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
  attributes.exclude_kernel = 1;
  const long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
  if (descriptor < 0) return std::string("perf_event_open is refused here: ") + std::strerror(errno);
  close(static_cast<int>(descriptor));
  return "";
}

}  // namespace substrata::tests

// For a test that needs an event of the kernel's.
#define SUBSTRATA_NEEDS_KERNEL_EVENTS()                                                        \
  if (const std::string refused = substrata::tests::kernel_events_refused(); !refused.empty()) \
  GTEST_SKIP() << refused
