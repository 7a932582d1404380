// The C interface of what goes beyond PAPI.
#include <substrata/extensions.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/guard.hpp"
#include "core/eventset/group.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"

namespace {

using namespace substrata;

int number(const Status& status) noexcept { return static_cast<int>(status.code); }

static_assert(sizeof(substrata_stamp) == sizeof(GroupStamp) &&
              offsetof(substrata_stamp, skew_ns) == offsetof(GroupStamp, skew_ns));
static_assert(sizeof(substrata_value) == sizeof(ValueDetail) &&
              offsetof(substrata_value, flags) == offsetof(ValueDetail, flags) &&
              offsetof(substrata_value, age_ns) == offsetof(ValueDetail, age_ns));

}  // namespace

extern "C" {

int substrata_read_values(int eventset, substrata_value* values, unsigned capacity) {
  return guarded(
      [&] { return number(read_set_details(eventset, reinterpret_cast<ValueDetail*>(values), capacity)); });
}

int substrata_start_group(const int* eventsets, unsigned count, substrata_stamp* stamp) {
  return guarded([&] { return number(start_group(eventsets, count, reinterpret_cast<GroupStamp*>(stamp))); });
}

int substrata_read_group(const int* eventsets, unsigned count, long long* values, unsigned capacity,
                         substrata_stamp* stamp) {
  return guarded([&] {
    return number(read_group(eventsets, count, reinterpret_cast<int64_t*>(values), capacity,
                             reinterpret_cast<GroupStamp*>(stamp)));
  });
}

int substrata_stop_group(const int* eventsets, unsigned count, long long* values, unsigned capacity,
                         substrata_stamp* stamp) {
  return guarded([&] {
    return number(stop_group(eventsets, count, reinterpret_cast<int64_t*>(values), capacity,
                             reinterpret_cast<GroupStamp*>(stamp)));
  });
}

const char* substrata_last_error(void) { return last_refusal(); }

int substrata_event_info(int code, substrata_event* out) {
  return guarded([&] {
    if (out == nullptr || out->struct_size < offsetof(substrata_event, why))
      return number(refuse(Code::kInvalid, "set struct_size to sizeof(substrata_event) before the call"));
    Library& library = Library::instance();
    if (const Status status = library.require_initialised(); !status.ok()) return number(status);
    const auto known = library.catalogue().info(static_cast<uint32_t>(code));
    if (!known) return number(known.error());
    const EventInfo& info = **known;
    substrata_event event{};
    event.struct_size =
        out->struct_size < sizeof event ? out->struct_size : static_cast<uint32_t>(sizeof event);
    event.component = info.component;
    event.kind = static_cast<uint32_t>(info.kind);
    event.type = static_cast<uint32_t>(info.type);
    event.width_bits = info.width_bits;
    event.scope = (info.flags / kEventScopeThread) & 0x1f;
    event.modelled = (info.flags & kEventModelled) != 0 ? 1 : 0;
    event.available = (info.flags & kEventUnavailable) != 0 ? 0 : 1;
    std::snprintf(event.unit, sizeof event.unit, "%s", info.unit.c_str());
    std::snprintf(event.why, sizeof event.why, "%s", info.why.c_str());
    std::memcpy(out, &event, event.struct_size);
    // A client of a shorter structure gets a shorter message, null-terminated all the same.
    if (event.struct_size < sizeof event && event.struct_size > offsetof(substrata_event, why))
      reinterpret_cast<char*>(out)[event.struct_size - 1] = '\0';
    return 0;
  });
}

const char* substrata_unavailable_event(int component, unsigned index) {
  // Where the one before was found: all are asked for in turn, and the first may be far down the list.
  struct Place {
    int component;
    unsigned index;
    uint32_t event;
  };
  static constinit thread_local Place before{-1, 0, 0};
  return guarded([&]() -> const char* {
    Component* const found = Library::instance().registry().at(component);
    const uint32_t count = found != nullptr && found->ensure_open().ok() ? found->event_count() : 0;
    const bool goes_on = before.component == component && index == before.index + 1;
    unsigned left = goes_on ? 0 : index;
    for (uint32_t i = goes_on ? before.event + 1 : 0; i < count; ++i) {
      Event event;
      if (!found->event_at(i, &event).ok() || (event.flags & kEventUnavailable) == 0) continue;
      if (left-- != 0) continue;
      before = {component, index, i};
      return refuse(Code::kNoEvent, "%s", found->full_name(event.name).c_str()).note;
    }
    return nullptr;
  });
}

const char* substrata_component_origin(int component) {
  Component* found = Library::instance().registry().at(component);
  return found != nullptr ? found->origin() : nullptr;
}

const char* substrata_plugin_refusal(unsigned i) {
  return guarded([&]() -> const char* {
    const std::vector<std::string> refusals = Library::instance().registry().refusals();
    return i < refusals.size() ? refuse(Code::kNoComponent, "%s", refusals[i].c_str()).note : nullptr;
  });
}

}  // extern "C"
