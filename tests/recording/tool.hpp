// The program `substrata` as the tests of its commands call it.
#pragma once

#include <string>

#include "support/program.hpp"

substrata::tests::Ran tool(const std::string& arguments);

inline constexpr const char* kEvents = " -e perf::TASK-CLOCK,perf::PAGE-FAULTS ";
// Writes a megabyte, which touches pages, and ends with a status of its own.
inline constexpr const char* kCommand = " -- sh -c 'head -c 1000000 /dev/zero | md5sum >/dev/null; exit 3'";

inline bool perf_works() { return tool("stat -e perf::TASK-CLOCK -- true").status == 0; }
#define NEEDS_PERF() \
  if (!perf_works()) \
  GTEST_SKIP() << "perf::TASK-CLOCK does not open here: " << tool("stat -e perf::TASK-CLOCK -- true").errors
