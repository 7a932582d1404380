// A plug-in of the first interface: one event, which a set has counted 7 times at every read since it was started.
#include <substrata/substrate.h>

#include <cstring>
#include <new>

namespace {

using namespace substrata;

struct Counting {
  int64_t value;
  uint32_t events;
};

Status event_at(Device*, uint32_t, Event* out) noexcept {
  *out = {.name = "TICKS", .text = "seven at every read", .unit = "ticks"};
  return kSuccess;
}
Status find_event(Device*, const char* name, uint32_t* index) noexcept {
  *index = 0;
  return std::strcmp(name, "TICKS") == 0 ? kSuccess : Status{Code::kNoEvent};
}
Status create_set(Device*, Thread*, Set** out) noexcept {
  Counting* made = new (std::nothrow) Counting{};
  *out = reinterpret_cast<Set*>(made);
  return made == nullptr ? Status{Code::kNoMemory} : kSuccess;
}
Counting* of(Set* set) { return reinterpret_cast<Counting*>(set); }
void destroy_set(Set* set) noexcept { delete of(set); }
Status program(Set* set, const uint32_t*, uint32_t count) noexcept {
  of(set)->events = count;
  return kSuccess;
}
Status clear(Set* set) noexcept {
  of(set)->value = 0;
  return kSuccess;
}
Status stop(Set*) noexcept { return kSuccess; }
Status read(Set* set, int64_t* values) noexcept {
  of(set)->value += 7;
  for (uint32_t i = 0; i < of(set)->events; ++i) values[i] = of(set)->value;
  return kSuccess;
}

constexpr SubstrateTable kTable{
    .name = "first",
    .short_name = "first",
    .summary = "built with the first plug-in interface",
    .version = "1",
    .detect = [](const Host*) noexcept { return kSuccess; },
    .event_count = [](Device*) noexcept { return uint32_t{1}; },
    .event_at = event_at,
    .find_event = find_event,
    .create_set = create_set,
    .destroy_set = destroy_set,
    .program = program,
    .start = clear,
    .stop = stop,
    .read = read,
    .reset = clear,
};

}  // namespace

SUBSTRATA_ENTRY substrata_entry_first(const Host* host, SubstrateTable* out) noexcept {
  return publish(kTable, host, out);
}
