// What the entry point and its tests share: the substrate over any kernel.
#pragma once

#include <substrata/substrate.h>

#include "perf_events/kernel.hpp"

namespace substrata::intel_gpu {

// As the table's open, over a kernel that outlives the device.
Status open_over(const Host* host, const perf::Kernel& kernel, Device** out) noexcept;

}  // namespace substrata::intel_gpu
