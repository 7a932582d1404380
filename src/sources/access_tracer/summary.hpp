// The summary of all accesses by function and by object.
#pragma once

#include <string>
#include <vector>

#include "sources/access_tracer/objects.hpp"
#include "sources/access_tracer/threads.hpp"

namespace substrata::access_tracer {

struct SummaryOf {
  const std::vector<ThreadState*>& threads;  // those that run
  const Tallies& ended;                      // of those that have ended
  const Times& times;                        // of functions; empty where they were not taken
  uint64_t all_threads;                      // that there were
  uint64_t skipped;                          // accesses and calls that were not taken
};
// Writes it as JSON; the file is whole or as it was before. Throws std::runtime_error where it cannot be written.
void write_summary(const std::string& path, const SummaryOf& of, Objects& objects);

}  // namespace substrata::access_tracer
