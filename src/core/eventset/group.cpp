// Group reads: one time stamp, with the skew that the reads themselves took.
#include "core/eventset/group.hpp"

#include "base/clock.hpp"
#include "core/eventset/measure.hpp"

namespace substrata {
namespace {

// The interval in which something happened, as a stamp.
void stamp_interval(int64_t before, int64_t after, GroupStamp* stamp) {
  if (stamp == nullptr) return;
  stamp->time_ns = before + (after - before) / 2;
  stamp->skew_ns = (after - before + 1) / 2;
}

Status check_list(const int* handles, uint32_t count) {
  if (handles == nullptr || count == 0) return refuse(Code::kInvalid, "a group needs at least one eventset");
  return kSuccess;
}

Result<uint32_t> values_of(const int* handles, uint32_t count) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Result<int> events = event_count_of(handles[i]);
    if (!events) return events.error();
    total += static_cast<uint32_t>(*events);
  }
  return total;
}

Status check_capacity(const int* handles, uint32_t count, uint32_t capacity) {
  const Result<uint32_t> total = values_of(handles, count);
  if (!total) return total.error();
  if (*total > capacity)
    return refuse(Code::kBufferTooSmall, "the group has %u values; the capacity is %u", *total, capacity);
  return kSuccess;
}

}  // namespace

Status start_group(const int* handles, uint32_t count, GroupStamp* stamp) {
  if (const Status status = check_list(handles, count); !status.ok()) return status;
  const int64_t before = clock_now_ns();
  for (uint32_t i = 0; i < count; ++i) {
    const Status status = start_set(handles[i]);
    if (status.ok()) continue;
    // The first refusal is the one to report; its message would not survive those of the stops.
    char message[1024];
    size_t length = 0;
    for (const char* from = status.note; from != nullptr && *from != '\0' && length < sizeof message - 1;
         ++from)
      message[length++] = *from;
    message[length] = '\0';
    while (i-- > 0) stop_set(handles[i], nullptr);
    Status refusal = refuse(status.code, "%s", message);
    refusal.os_error = status.os_error;
    return refusal;
  }
  stamp_interval(before, clock_now_ns(), stamp);
  return kSuccess;
}

Status read_group(const int* handles, uint32_t count, int64_t* values, uint32_t capacity, GroupStamp* stamp) {
  if (const Status status = check_list(handles, count); !status.ok()) return status;
  if (values == nullptr) return refuse(Code::kInvalid, "a place for the values was expected, not null");
  if (const Status status = check_capacity(handles, count, capacity); !status.ok()) return status;
  const int64_t before = clock_now_ns();
  for (uint32_t i = 0; i < count; ++i) {
    if (const Status status = read_set(handles[i], values); !status.ok()) return status;
    values += event_count_of(handles[i]).value_or(0);
  }
  stamp_interval(before, clock_now_ns(), stamp);
  return kSuccess;
}

Status stop_group(const int* handles, uint32_t count, int64_t* values, uint32_t capacity, GroupStamp* stamp) {
  if (const Status status = check_list(handles, count); !status.ok()) return status;
  if (values != nullptr) {
    if (const Status status = check_capacity(handles, count, capacity); !status.ok()) return status;
  }
  const int64_t before = clock_now_ns();
  Status first = kSuccess;
  for (uint32_t i = 0; i < count; ++i) {
    const Status status = stop_set(handles[i], values);
    if (!status.ok() && first.ok()) first = status;
    if (values != nullptr) values += event_count_of(handles[i]).value_or(0);
  }
  stamp_interval(before, clock_now_ns(), stamp);
  return first;
}

}  // namespace substrata
