// Routes the signals of overflowing counters to the sinks of the sets that armed them.
#pragma once

#include <linux/perf_event.h>
#include <substrata/substrate.h>

#include <cstdint>

namespace substrata::perf {

// The signal handler is installed with the first route and the previous action restored with the last one; the
// same for SIGIO where its action is the default one, for the kernel sends that, to end the process, when it
// cannot queue an overflow (docs/decisions/lost_overflows.md). Thread-safe; the handlers are signal-safe and
// neither lock nor allocate.

// Takes a reference on the handler. Returns the signal to deliver, or a negative errno.
int hold_overflow_signal() noexcept;
void release_overflow_signal() noexcept;

// How many overflows of this process could not be queued so far, at least. Signal-safe.
uint64_t lost_overflows() noexcept;

// Where the samples of a descriptor go.
struct SampleRoute {
  int descriptor = -1;
  SampleSink sink;
  uint64_t mask = 0;              // its event in the set
  uint64_t most_each_second = 0;  // the kernel holds a counter back that overflows more often
  // The kernel's ring for the descriptor, which then says where each sample was taken and which did not fit. Null:
  // each signal is a sample at the program counter that it interrupted.
  perf_event_mmap_page* ring = nullptr;
  bool by_data_address = false;  // samples carry the address that was accessed, 0 where it is unknown
};
// False when the table is full.
bool add_route(const SampleRoute& added) noexcept;
// Afterwards no handler reads the ring, unless it is the caller itself; `ours`: the route was not made before a fork.
void remove_route(int descriptor, bool ours) noexcept;
// Whether samples are missing since begin_route: overflows came so fast that the kernel held the counter back, or may
// have, or did not fit into the ring.
void begin_route(int descriptor) noexcept;
bool misses_samples(int descriptor) noexcept;

}  // namespace substrata::perf
