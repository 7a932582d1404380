// When the job began that this process belongs to.
#pragma once

#include <cstdint>

namespace substrata::high_level {

// Nanoseconds of the time of day. The start of the program, also in what it forks; for a rank of a launcher the
// start of the process that launched the ranks on this node. The earliest known where /proc is absent.
int64_t job_start_ns();

}  // namespace substrata::high_level
