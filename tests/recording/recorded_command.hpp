// What the tests of the commands that record let run.
#pragma once

#include "support/tool.hpp"

inline constexpr const char* kEvents = " -e perf::TASK-CLOCK,perf::PAGE-FAULTS ";
// Writes a megabyte, which touches pages, and ends with a status of its own.
inline constexpr const char* kCommand = " -- sh -c 'head -c 1000000 /dev/zero | md5sum >/dev/null; exit 3'";

inline bool perf_works() { return substrata::tests::tool("stat -e perf::TASK-CLOCK -- true").status == 0; }
#define NEEDS_PERF() \
  if (!perf_works()) \
  GTEST_SKIP() << "perf::TASK-CLOCK does not open here: " << tool("stat -e perf::TASK-CLOCK -- true").errors
