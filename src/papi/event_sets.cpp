// Eventsets made, filled, listed and taken apart.
#include "core/eventset/event_set.hpp"

#include <algorithm>

#include "papi/boundary.hpp"
#include "papi/event_names.hpp"

using namespace substrata;
using namespace substrata::capi;

namespace {

// Generation 7.0 calls a preset it does not know an invalid argument, 7.3 an event without component.
Status check_code(int code) noexcept {
  if (code == 0) return refuse(Code::kInvalid, "0 is not an event code");
  if (!unknown_to_generation(code)) return kSuccess;
  return refuse(kGeneration70 ? Code::kInvalid : Code::kNoComponent, "0x%x is not a preset of this interface",
                static_cast<unsigned>(code));
}

// PAPI reports how many of a list were taken if it could not take all of them.
int answer_for_many(const ManyOutcome& outcome) noexcept {
  if (outcome.status.ok()) return PAPI_OK;
  return outcome.done > 0 ? outcome.done : answer(outcome.status);
}

}  // namespace

CAPI int PAPI_create_eventset(int* EventSet) {
  return answered([&] {
    if (const Status up = require_up(); !up.ok()) return answer(up);
    if (EventSet == nullptr) return answer(refuse(Code::kInvalid, "no place to put the eventset's handle"));
    if (*EventSet != PAPI_NULL)
      return answer(refuse(Code::kInvalid, "the handle must be PAPI_NULL before PAPI_create_eventset"));
    return answer_into(create_event_set(&face), EventSet);
  });
}

CAPI int PAPI_destroy_eventset(int* EventSet) {
  return answered([&] {
    if (EventSet == nullptr) return answer(Code::kInvalid);
    // PAPI has no such set before initialisation either.
    if (!is_up()) return answer(Code::kNoEventSet);
    const Status status = destroy_event_set(*EventSet);
    if (status.ok()) *EventSet = PAPI_NULL;
    return answer(status);
  });
}

CAPI int PAPI_cleanup_eventset(int EventSet) {
  return answered([&] { return answer(cleanup_event_set(EventSet)); });
}

CAPI int PAPI_assign_eventset_component(int EventSet, int cidx) {
  return answered([&] {
    const Status assigned = assign_component(EventSet, cidx);
    return assigned.code == Code::kRunning ? answer(Code::kInvalid) : answer(assigned);  // as in PAPI
  });
}

CAPI int PAPI_get_eventset_component(int EventSet) {
  return answered([&] { return answer(component_of_set(EventSet)); });
}

CAPI int PAPI_add_event(int EventSet, int Event) {
  return answered([&] {
    const Result<uint32_t> state = state_of(EventSet);
    if (!state) return answer(state.status());
    if ((*state & kSetRunning) != 0) return answer(Code::kRunning);
    if (const Status known = check_code(Event); !known.ok()) return answer(known);
    return answer(add_event(EventSet, static_cast<uint32_t>(Event)));
  });
}

CAPI int PAPI_add_named_event(int EventSet, const char* EventName) {
  return answered([&] {
    if (EventName == nullptr) return answer(refuse(Code::kInvalid, "no event name given"));
    const Status status = add_named_event(EventSet, EventName);
    // A known event that cannot be counted here is refused as by its code.
    if (status.code == Code::kNoEvent && library().catalogue().find(EventName)) return answer(status);
    return answer_for_name(status, EventName);
  });
}

CAPI int PAPI_add_events(int EventSet, int* Events, int number) {
  return answered([&] { return answer_for_many(add_events(EventSet, Events, number)); });
}

CAPI int PAPI_remove_event(int EventSet, int EventCode) {
  return answered([&] { return answer(remove_event(EventSet, static_cast<uint32_t>(EventCode))); });
}

CAPI int PAPI_remove_named_event(int EventSet, const char* EventName) {
  return answered([&] {
    if (EventName == nullptr) return answer(refuse(Code::kInvalid, "no event name given"));
    return answer_for_name(remove_named_event(EventSet, EventName), EventName);
  });
}

CAPI int PAPI_remove_events(int EventSet, int* Events, int number) {
  return answered([&] { return answer_for_many(remove_events(EventSet, Events, number)); });
}

CAPI int PAPI_num_events(int EventSet) {
  return answered([&] { return answer(event_count_of(EventSet)); });
}

// *number: in, places in Events; out, events written, or the events of the set when there is no place at all.
CAPI int PAPI_list_events(int EventSet, int* Events, int* number) {
  return answered([&] {
    const Result<std::vector<uint32_t>> codes = events_of(EventSet);
    if (!codes) return answer(codes.status());
    if (number == nullptr || *number < 0 || (Events == nullptr && *number > 0))
      return answer(refuse(Code::kInvalid, "no place to list the events"));
    const int count = static_cast<int>(codes->size());
    if (*number == 0) {
      *number = count;
      return PAPI_OK;
    }
    *number = std::min(*number, count);
    for (int i = 0; i < *number; ++i) Events[i] = static_cast<int>((*codes)[static_cast<size_t>(i)]);
    return PAPI_OK;
  });
}
