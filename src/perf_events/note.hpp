// Refusals with a message: what was asked, what refused, what to do.
#pragma once

#include <substrata/substrate.h>

#include <string>

#include "base/error.hpp"

namespace substrata::perf {

// Why perf_event_open refused with `os_error`, and the cure. `root` is where / is; `paranoid` and the seccomp
// state are read below it. `has_pmu`: a processor PMU is known here.
std::string explain_refusal(const char* root, int os_error, bool has_pmu);

// The PAPI error that stands for an errno of perf_event_open.
Code code_of_refusal(int os_error) noexcept;

}  // namespace substrata::perf
