// What the user asked for and cannot be had is reported on standard error, and otherwise ignored.
#pragma once

#include <cstdio>
#include <string>

namespace substrata::access_tracer {

// Nothing for an empty message.
inline void report(const std::string& message) {
  if (!message.empty()) std::fprintf(stderr, "substrata access tracer: %s\n", message.c_str());
}

}  // namespace substrata::access_tracer
