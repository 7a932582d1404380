// The runtime's state of one thread of the program.
#pragma once

#include "sources/access_tracer/interface.h"
#include "sources/access_tracer/publishing.hpp"
#include "sources/access_tracer/sites.hpp"

namespace substrata::access_tracer {

// One thread that accesses memory. Made at its first access, freed when it ends.
struct ThreadState {
  substrata_memory_thread table{};  // the only part the hooks touch
  ThreadPublisher publisher{table};
  Tallies moved;                              // counts of sites that have been bound to something else since
  uint32_t number = 0;                        // the lowest that no other thread has
  substrata_memory_thread** place = nullptr;  // where the hooks find the table
  int rounds = 0;                             // of the thread's last destructors
  bool is_parents = false;                    // made before this process was forked off
};

}  // namespace substrata::access_tracer
