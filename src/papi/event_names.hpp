// How each generation answers an unknown name.
#pragma once

#include <string_view>

#include "papi/boundary.hpp"

namespace substrata::capi {

// Generation 7.0 says PAPI_ECMP for an unknown name without a component or PMU in front, and PAPI_ENOEVNT for
// an unknown component; 7.3 says PAPI_ENOEVNT and PAPI_ENOCMP (both observed).
// Both say PAPI_ENOEVNT for a mask or a modifier that an event of the processor does not have.
inline int answer_for_name(Status status, std::string_view name) noexcept {
  const bool of_processor = name.find(":::") == std::string_view::npos || name.starts_with("perf_event");
  if (status.code == Code::kAttribute && of_processor) status.code = Code::kNoEvent;
  if constexpr (kGeneration70) {
    if (status.code == Code::kNoEvent && name.find(':') == std::string_view::npos &&
        !name.starts_with("PAPI_"))
      status.code = Code::kComponent;
    else if (status.code == Code::kNoComponent && name.find(':') != std::string_view::npos)
      status.code = Code::kNoEvent;
  }
  return answer(status);
}

// A preset this generation's header has no name for.
inline bool unknown_to_generation(int code) noexcept {
  return IS_PRESET(code) && (code & PAPI_PRESET_AND_MASK) >= PAPI_END_idx;
}

}  // namespace substrata::capi
