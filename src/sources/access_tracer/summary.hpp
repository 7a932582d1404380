// The summary of all accesses by function and by object.
#ifndef SUBSTRATA_ACCESS_TRACER_SUMMARY_HPP
#define SUBSTRATA_ACCESS_TRACER_SUMMARY_HPP

#include <string>
#include <vector>

#include "objects.hpp"
#include "threads.hpp"

namespace substrata::access_tracer {

// Writes it as JSON; the file is whole or as it was before.
void write_summary(const std::string& path, const std::vector<ThreadState*>& threads, Objects& objects);

}  // namespace substrata::access_tracer

#endif
