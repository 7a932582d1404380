// Several eventsets, one per substrate, started and read together under one time stamp (PA-41).
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace substrata {

// When a group was read: the time of the middle of the read, and how far from it any value can have been
// taken.
struct GroupStamp {
  int64_t time_ns = 0;  // clock_now_ns
  int64_t skew_ns = 0;  // every value was taken within time_ns +- skew_ns
};

// All or nothing: on a refusal, the sets started before are stopped again. Thread-safe as the sets are.
Status start_group(const int* handles, uint32_t count, GroupStamp* stamp);
// `values` holds the sets' values one after the other; `capacity` entries. A refusal leaves `values` unspecified.
Status read_group(const int* handles, uint32_t count, int64_t* values, uint32_t capacity, GroupStamp* stamp);
// Stops all, reporting the first refusal; `values` may be null.
Status stop_group(const int* handles, uint32_t count, int64_t* values, uint32_t capacity, GroupStamp* stamp);

}  // namespace substrata
