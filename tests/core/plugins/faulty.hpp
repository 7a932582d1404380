// What a test may ask of the faulty substrate, which wraps one event's life and fails the call it is to
// fail.
#pragma once

#include <cstdint>

// Counters of the wrapped calls, and the one to fail (0: none; n: the n-th call that can fail from now on).
struct FaultyControl {
  int64_t calls = 0;
  int64_t fail_call = 0;
  int64_t failed = 0;
  int64_t devices = 0;  // open minus close
  int64_t threads = 0;  // attach minus detach
  int64_t sets = 0;     // create_set minus destroy_set
  int64_t running = 0;  // start minus stop
  int64_t out_of_order = 0;
};

extern "C" FaultyControl* faulty_control();
