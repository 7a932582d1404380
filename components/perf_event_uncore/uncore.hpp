// What the entry point and its tests share: the table, and detection over any kernel.
#pragma once

#include <substrata/substrate.h>

#include "perf_events/kernel.hpp"

namespace substrata::perf {

// kNoSupport where the kernel shows no PMU with a cpumask; kPermission and its like where one is shown but a
// processor as a whole may not be counted. Thread-safe.
Status detect_uncore(const Host& host, const Kernel& kernel) noexcept;

// perf_event's slots under this substrate's name and limits; without overflow, which has no program to
// interrupt.
const SubstrateTable& uncore_table() noexcept;

}  // namespace substrata::perf
