// The substrate `sysdetect`: the component that stands for the machine's description and has no events.
#include <substrata/substrate.h>

#include "base/table_of.hpp"

namespace {

using namespace substrata;

constexpr Status kNoEvents{Code::kNoEvent, 0,
                           "sysdetect has no events: it stands for PAPI_enum_dev_type and PAPI_get_dev_attr"};

char the_set;  // every set is the same empty one

struct Sysdetect {
  static uint32_t event_count(Device*) noexcept { return 0; }
  static Status event_at(Device*, uint32_t, Event*) noexcept { return kNoEvents; }
  static Status find_event(Device*, const char*, uint32_t*) noexcept { return kNoEvents; }

  static Status create_set(Device*, Thread*, Set** out) noexcept {
    *out = reinterpret_cast<Set*>(&the_set);
    return kSuccess;
  }
  static void destroy_set(Set*) noexcept {}

  static Status program(Set*, const uint32_t*, uint32_t count) noexcept {
    return count == 0 ? kSuccess : kNoEvents;
  }
  static Status start(Set*) noexcept {
    return {Code::kInvalid, 0, "the set is empty, and sysdetect has no event to add to it"};
  }
  static Status stop(Set*) noexcept { return {Code::kNotRunning, 0, "the set is not running"}; }
  static Status read(Set*, int64_t*) noexcept { return kSuccess; }
  static Status reset(Set*) noexcept { return kSuccess; }
};

constexpr SubstrateTable kTable =
    table_of<Sysdetect>({.name = "sysdetect",
                         .summary = "System info detection; no events, its answers are PAPI_get_dev_attr's",
                         .version = "1.0",
                         .max_events = 0,
                         .max_multiplexed = 0,
                         .event_names = ""});

}  // namespace

SUBSTRATA_PUBLISH(sysdetect, kTable);
