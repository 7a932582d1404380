// A substrate built outside the tree: what the whole system did, from /proc/stat.
#include <fcntl.h>
#include <substrata/substrate.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

using namespace substrata;

// [events]
struct Source {
  Event event;
  const char* key;  // the line of /proc/stat that holds the number
};

constexpr Source kSources[] = {
    {{.name = "context-switches",
      .text = "Context switches of all processors.",
      .unit = "switches",
      .kind = ValueKind::kCount,
      .flags = kEventScopeNode},
     "ctxt "},
    {{.name = "forks",
      .text = "Processes and threads created.",
      .unit = "processes",
      .kind = ValueKind::kCount,
      .flags = kEventScopeNode},
     "processes "},
    {{.name = "running",
      .text = "Processes that run or wait for a processor.",
      .unit = "processes",
      .kind = ValueKind::kGauge,
      .flags = kEventScopeNode},
     "procs_running "},
};
constexpr uint32_t kSourceCount = sizeof kSources / sizeof kSources[0];

uint32_t event_count(Device*) noexcept { return kSourceCount; }

Status event_at(Device*, uint32_t index, Event* out) noexcept {
  if (index >= kSourceCount) return {Code::kNoEvent, 0, "procstat has no event of this index"};
  *out = kSources[index].event;
  return kSuccess;
}
// [events]

// [sets]
struct ProcSet {
  int file = -1;
  uint32_t count = 0;
  uint32_t events[kSourceCount];
  int64_t base[kSourceCount];  // where counts began
  int64_t last[kSourceCount];  // what a stopped set keeps
  bool running = false;
};

ProcSet* set_of(Set* set) { return reinterpret_cast<ProcSet*>(set); }

Status create_set(Device*, Thread*, Set** out) noexcept {
  auto* set = new (std::nothrow) ProcSet{.events = {}, .base = {}, .last = {}};
  if (set == nullptr) return {Code::kNoMemory, 0, "no memory for an eventset of procstat"};
  set->file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (set->file < 0) {
    const int error = errno;
    delete set;
    return {Code::kSystem, error, "/proc/stat cannot be opened; is /proc mounted?"};
  }
  *out = reinterpret_cast<Set*>(set);
  return kSuccess;
}

void destroy_set(Set* set) noexcept {
  close(set_of(set)->file);
  delete set_of(set);
}

Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  if (count > kSourceCount) return {Code::kTooMany, 0, "procstat counts three events at most"};
  for (uint32_t i = 0; i < count; ++i)
    if (events[i] >= kSourceCount) return {Code::kNoEvent, 0, "procstat has no event of this index"};
  for (uint32_t i = 0; i < count; ++i) set_of(set)->events[i] = events[i];
  set_of(set)->count = count;
  return kSuccess;
}
// [sets]

// [read]
// Reads the file once and picks every number out of it, so that the values belong to one moment.
Status sample(ProcSet* set, int64_t* numbers) noexcept {
  char text[16384];
  const ssize_t size = pread(set->file, text, sizeof text - 1, 0);
  if (size <= 0) return {Code::kSystem, errno, "/proc/stat cannot be read"};
  text[size] = '\0';
  int64_t found[kSourceCount];
  for (uint32_t i = 0; i < set->count; ++i) {
    const char* key = kSources[set->events[i]].key;
    const char* line = std::strstr(text, key);
    while (line != nullptr && line != text && line[-1] != '\n') line = std::strstr(line + 1, key);
    if (line == nullptr) return {Code::kSystem, 0, "this kernel's /proc/stat has no such line"};
    found[i] = std::strtoll(line + std::strlen(key), nullptr, 10);
  }
  for (uint32_t i = 0; i < set->count; ++i) numbers[i] = found[i];  // every value or none
  return kSuccess;
}

Status current(ProcSet* set, int64_t* values) noexcept {
  const Status status = sample(set, values);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < set->count; ++i)
    if (kSources[set->events[i]].event.kind == ValueKind::kCount) values[i] -= set->base[i];
  return kSuccess;
}

Status read(Set* set, int64_t* values) noexcept {
  ProcSet* self = set_of(set);
  if (self->running) return current(self, values);
  std::memcpy(values, self->last, self->count * sizeof values[0]);
  return kSuccess;
}
// [read]

// [run]
Status reset(Set* set) noexcept {
  std::memset(set_of(set)->last, 0, sizeof set_of(set)->last);
  return sample(set_of(set), set_of(set)->base);
}

Status start(Set* set) noexcept {
  const Status status = reset(set);
  set_of(set)->running = status.ok();
  return status;
}

Status stop(Set* set) noexcept {
  const Status status = current(set_of(set), set_of(set)->last);
  set_of(set)->running = !status.ok();
  return status;
}
// [run]

// [publish]
constexpr SubstrateTable kTable{
    .name = "procstat",
    .summary = "What the whole system did, from /proc/stat",
    .version = "1",
    .event_count = event_count,
    .event_at = event_at,
    .create_set = create_set,
    .destroy_set = destroy_set,
    .program = program,
    .start = start,
    .stop = stop,
    .read = read,
    .reset = reset,
};

}  // namespace

SUBSTRATA_PUBLISH(procstat, kTable);
// [publish]
