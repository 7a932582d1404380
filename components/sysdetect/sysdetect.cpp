// The substrate `sysdetect`: the component that stands for the machine's description and has no events.
#include <substrata/substrate.h>

namespace {

using namespace substrata;

constexpr Status kNoEvents{Code::kNoEvent, 0,
                           "sysdetect has no events: it stands for PAPI_enum_dev_type and PAPI_get_dev_attr"};

char the_set;  // every set is the same empty one

uint32_t event_count(Device*) noexcept { return 0; }
Status event_at(Device*, uint32_t, Event*) noexcept { return kNoEvents; }
Status find_event(Device*, const char*, uint32_t*) noexcept { return kNoEvents; }

Status create_set(Device*, Thread*, Set** out) noexcept {
  *out = reinterpret_cast<Set*>(&the_set);
  return kSuccess;
}
void destroy_set(Set*) noexcept {}

Status program(Set*, const uint32_t*, uint32_t count) noexcept { return count == 0 ? kSuccess : kNoEvents; }
Status start(Set*) noexcept {
  return {Code::kInvalid, 0, "the set is empty, and sysdetect has no event to add to it"};
}
Status stop(Set*) noexcept { return {Code::kNotRunning, 0, "the set is not running"}; }
Status read(Set*, int64_t*) noexcept { return kSuccess; }
Status reset(Set*) noexcept { return kSuccess; }

constexpr SubstrateTable kTable{
    .name = "sysdetect",
    .summary = "System info detection; no events, its answers are PAPI_get_dev_attr's",
    .version = "1.0",
    .max_events = 0,
    .max_multiplexed = 0,
    .event_count = event_count,
    .event_at = event_at,
    .find_event = find_event,
    .create_set = create_set,
    .destroy_set = destroy_set,
    .program = program,
    .start = start,
    .stop = stop,
    .read = read,
    .reset = reset,
    .event_names = "",
};

}  // namespace

SUBSTRATA_PUBLISH(sysdetect, kTable);
