// Writes the begins and ends of high-level regions to a file that a recorder outside the program reads.
#pragma once

#include <cstdint>
#include <string_view>

namespace substrata::high_level {

// Appends a line to the file that SUBSTRATA_REGIONS names: "TIME RANK THREAD begin NAME" or "... end NAME",
// time in nanoseconds of CLOCK_MONOTONIC_RAW, rank -1 outside of MPI, thread as gettid() gives it. One
// write() a line, so that processes may share the file. After 100,000 lines of a process one line "... full"
// follows and nothing more. Without the setting every call costs one load. Thread-safe, never fails towards
// the caller.
void write_region_begin(std::string_view region) noexcept;
void write_region_end(std::string_view region) noexcept;

}  // namespace substrata::high_level
