// The runtime's state of one thread of the program.
#ifndef SUBSTRATA_ACCESS_TRACER_THREADS_HPP
#define SUBSTRATA_ACCESS_TRACER_THREADS_HPP

#include "interface.h"
#include "publishing.hpp"
#include "sink.hpp"
#include "sites.hpp"

namespace substrata::access_tracer {

// One thread that accessed memory. Made at its first access, kept until the program ends.
struct ThreadState {
  substrata_memory_thread table{};  // the only part the hooks touch
  ThreadPublisher publisher{table};
  SinkRecords records{table};
  Tallies moved;  // counts of sites that have been bound to something else since
};

}  // namespace substrata::access_tracer

#endif
