// The example substrate: counts calls, ticks and the reads of a set; small enough to learn the whole
// interface from.
//
// Events
//   zero      always 0
//   constant  always 42 (a gauge)
//   reads     how often this set was read since it was started or reset
//   ticks     grows by one each time a set of this process that has it is read; shared by all of them, so a set
//             reports differences
//   echo:N    a name with a qualifier: the gauge N, entered into the catalogue when it is first asked for
//   EXAMPLE_ZERO, EXAMPLE_CONSTANT, EXAMPLE_AUTOINC, EXAMPLE_GLOBAL_AUTOINC
//             the events of PAPI's own example component; each read of an AUTOINC gives how many were before it
//
// It needs no hardware, so it opens everywhere. docs/guide/adding_a_substrate.md walks through this file.
#include <substrata/substrate.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace {

using namespace substrata;

// ---- The catalogue: eight fixed events and what qualifiers have added. ----

constexpr uint32_t kFixedEvents = 8;
constexpr uint32_t kMaxEchoes = 64;

enum FixedEvent : uint32_t {
  kZero,
  kConstant,
  kReads,
  kTicks,
  kPapiZero,
  kPapiConstant,
  kPapiAutoinc,
  kPapiGlobalAutoinc
};

constexpr Event kFixed[kFixedEvents] = {
    {.name = "zero",
     .text = "Always zero.",
     .unit = "",
     .kind = ValueKind::kCount,
     .flags = kEventScopeThread},
    {.name = "constant",
     .text = "Always 42.",
     .unit = "",
     .kind = ValueKind::kGauge,
     .flags = kEventScopeNode},
    {.name = "reads",
     .text = "Reads of this eventset since it was started or reset.",
     .unit = "reads",
     .kind = ValueKind::kCount,
     .flags = kEventScopeThread},
    {.name = "ticks",
     .text = "Reads of the eventsets of this process with this event since this one was started or reset.",
     .unit = "reads",
     .kind = ValueKind::kCount,
     .flags = kEventScopeProcess},
    {.name = "EXAMPLE_ZERO",
     .text = "Always zero.",
     .unit = "",
     .kind = ValueKind::kCount,
     .flags = kEventScopeThread},
    {.name = "EXAMPLE_CONSTANT",
     .text = "Always 42.",
     .unit = "",
     .kind = ValueKind::kGauge,
     .flags = kEventScopeNode},
    {.name = "EXAMPLE_AUTOINC",
     .text = "How often it was read in this thread before, since the last reset.",
     .unit = "reads",
     .kind = ValueKind::kGauge,
     .flags = kEventScopeThread},
    {.name = "EXAMPLE_GLOBAL_AUTOINC",
     .text = "How often it was read in this process before, since the last reset.",
     .unit = "reads",
     .kind = ValueKind::kGauge,
     .flags = kEventScopeProcess},
};

// Process-wide state, between open and close.
struct ExampleDevice {
  std::atomic<int64_t> ticks{0};
  std::atomic<int64_t> global_autoinc{0};
  std::atomic<uint32_t> echo_count{0};
  std::mutex adding;  // taken when a qualifier adds an event, never by a read
  struct Echo {
    char name[32];
    int64_t value;
  } echoes[kMaxEchoes];
};

// What the sets of one thread share.
struct ExampleThread {
  int64_t autoinc = 0;
};

// What one eventset needs: its events and where it began to count.
struct ExampleSet {
  ExampleDevice* device;
  ExampleThread* thread;
  uint32_t count = 0;
  uint32_t events[64];
  const int64_t* sources[64];  // where the value of each event lies
  int64_t reads = 0;
  int64_t ticks = 0;  // since start, as of the last read
  int64_t ticks_at_start = 0;
  int64_t ticks_at_stop = 0;
  bool running = false;
  bool has_ticks = false, has_autoinc = false, has_global_autoinc = false;
  int64_t autoinc = 0, global_autoinc = 0;  // as last read
};

ExampleDevice* device_of(Device* device) { return reinterpret_cast<ExampleDevice*>(device); }
ExampleThread* thread_of(Thread* thread) { return reinterpret_cast<ExampleThread*>(thread); }
ExampleSet* set_of(Set* set) { return reinterpret_cast<ExampleSet*>(set); }

Status open(const Host*, Device** out) noexcept {
  auto* device = new (std::nothrow) ExampleDevice;
  if (device == nullptr) return {Code::kNoMemory, 0, "no memory for the example substrate's state"};
  *out = reinterpret_cast<Device*>(device);
  return kSuccess;
}

void close(Device* device) noexcept { delete device_of(device); }

uint32_t event_count(Device* device) noexcept {
  return kFixedEvents + device_of(device)->echo_count.load(std::memory_order_acquire);
}

Status event_at(Device* device, uint32_t index, Event* out) noexcept {
  if (index >= event_count(device))
    return {Code::kNoEvent, 0, "the example substrate has no event of this index"};
  if (index < kFixedEvents) {
    *out = kFixed[index];
    return kSuccess;
  }
  *out = Event{.name = device_of(device)->echoes[index - kFixedEvents].name,
               .text = "The number given in the event's name.",
               .unit = "",
               .kind = ValueKind::kGauge,
               .flags = kEventScopeNode};
  return kSuccess;
}

Status find_event(Device* device, const char* name, uint32_t* index_out) noexcept {
  for (uint32_t i = 0; i < kFixedEvents; ++i) {
    if (std::strcmp(name, kFixed[i].name) == 0) {
      *index_out = i;
      return kSuccess;
    }
  }
  if (std::strncmp(name, "echo:", 5) != 0)
    return {Code::kNoEvent, 0, "not an event of the example substrate"};
  char* end = nullptr;
  const long long value = std::strtoll(name + 5, &end, 10);
  ExampleDevice* self = device_of(device);
  if (end == name + 5 || *end != '\0' || std::strlen(name) >= sizeof self->echoes[0].name)
    return {Code::kAttribute, 0, "echo: takes one decimal number, as in echo:17"};
  const std::lock_guard guard(self->adding);
  const uint32_t count = self->echo_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (std::strcmp(name, self->echoes[i].name) == 0) {
      *index_out = kFixedEvents + i;
      return kSuccess;
    }
  }
  if (count == kMaxEchoes) return {Code::kTooMany, 0, "the example substrate keeps at most 64 echo events"};
  std::strcpy(self->echoes[count].name, name);
  self->echoes[count].value = value;
  self->echo_count.store(count + 1, std::memory_order_release);  // the entry is whole before it is seen
  *index_out = kFixedEvents + count;
  return kSuccess;
}

Status attach(Device*, Thread** out) noexcept {
  auto* thread = new (std::nothrow) ExampleThread;
  if (thread == nullptr) return {Code::kNoMemory, 0, "no memory for a thread of the example substrate"};
  *out = reinterpret_cast<Thread*>(thread);
  return kSuccess;
}

void detach(Device*, Thread* thread) noexcept { delete thread_of(thread); }

Status create_set(Device* device, Thread* thread, Set** out) noexcept {
  auto* set = new (std::nothrow)
      ExampleSet{.device = device_of(device), .thread = thread_of(thread), .events = {}, .sources = {}};
  if (set == nullptr) return {Code::kNoMemory, 0, "no memory for an eventset of the example substrate"};
  *out = reinterpret_cast<Set*>(set);
  return kSuccess;
}

void destroy_set(Set* set) noexcept { delete set_of(set); }

const int64_t* source_of(const ExampleSet* set, uint32_t event) {
  static constexpr int64_t kAlwaysZero = 0;
  static constexpr int64_t kAlways42 = 42;
  switch (event) {
    case kZero:
    case kPapiZero:
      return &kAlwaysZero;
    case kConstant:
    case kPapiConstant:
      return &kAlways42;
    case kReads:
      return &set->reads;
    case kTicks:
      return &set->ticks;
    case kPapiAutoinc:
      return &set->autoinc;
    case kPapiGlobalAutoinc:
      return &set->global_autoinc;
    default:
      return &set->device->echoes[event - kFixedEvents].value;
  }
}

// All or nothing: everything is checked before anything is changed.
Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  ExampleSet* self = set_of(set);
  if (count > 64) return {Code::kTooMany, 0, "an example set holds at most 64 events"};
  const uint32_t known = event_count(reinterpret_cast<Device*>(self->device));
  for (uint32_t i = 0; i < count; ++i) {
    if (events[i] >= known) return {Code::kNoEvent, 0, "the example substrate has no event of this index"};
  }
  self->has_ticks = self->has_autoinc = self->has_global_autoinc = false;
  for (uint32_t i = 0; i < count; ++i) {
    self->has_ticks = self->has_ticks || events[i] == kTicks;
    self->has_autoinc = self->has_autoinc || events[i] == kPapiAutoinc;
    self->has_global_autoinc = self->has_global_autoinc || events[i] == kPapiGlobalAutoinc;
    self->events[i] = events[i];
    self->sources[i] = source_of(self, events[i]);
  }
  self->count = count;
  return kSuccess;
}

void begin(ExampleSet* self) {
  self->reads = 0;
  self->ticks_at_start = self->device->ticks.load(std::memory_order_relaxed);
  self->ticks_at_stop = self->ticks_at_start;
}

// One reading of the events that grow by being read.
void increment(ExampleSet* self) {
  if (self->has_autoinc) self->autoinc = self->thread->autoinc++;
  if (self->has_global_autoinc)
    self->global_autoinc = self->device->global_autoinc.fetch_add(1, std::memory_order_relaxed);
}

Status reset(Set* set) noexcept {
  ExampleSet* self = set_of(set);
  begin(self);
  self->thread->autoinc = 0;
  self->device->global_autoinc.store(0, std::memory_order_relaxed);
  self->autoinc = self->global_autoinc = 0;
  return kSuccess;
}

Status start(Set* set) noexcept {
  begin(set_of(set));
  set_of(set)->running = true;
  return kSuccess;
}

Status stop(Set* set) noexcept {
  ExampleSet* self = set_of(set);
  self->ticks_at_stop = self->device->ticks.load(std::memory_order_relaxed);
  increment(self);
  self->running = false;
  return kSuccess;
}

// The hot path: no allocation, no lock. A stopped set keeps its values.
Status read(Set* set, int64_t* values) noexcept {
  ExampleSet* self = set_of(set);
  int64_t ticks = self->ticks_at_stop;
  if (self->running) {
    // Only for a set that has the event: a line that all threads write makes each read three times as long.
    if (self->has_ticks) {
      ticks = self->device->ticks.load(std::memory_order_relaxed) + 1;
      self->device->ticks.store(ticks,
                                std::memory_order_relaxed);  // a lost tick of another thread does no harm
    }
    ++self->reads;
    increment(self);
  }
  self->ticks = ticks - self->ticks_at_start;
  for (uint32_t i = 0; i < self->count; ++i) values[i] = *self->sources[i];
  return kSuccess;
}

// Sets the counting events; gauges ignore what is written to them.
Status write(Set* set, const int64_t* values) noexcept {
  ExampleSet* self = set_of(set);
  for (uint32_t i = 0; i < self->count; ++i) {
    if (self->events[i] == kReads) self->reads = values[i];
    if (self->events[i] == kPapiAutoinc) self->autoinc = self->thread->autoinc = values[i];
    if (self->events[i] == kPapiGlobalAutoinc) {
      self->global_autoinc = values[i];
      self->device->global_autoinc.store(values[i], std::memory_order_relaxed);
    }
    if (self->events[i] == kTicks) {
      const int64_t now =
          self->running ? self->device->ticks.load(std::memory_order_relaxed) : self->ticks_at_stop;
      self->ticks_at_start = now - values[i];
    }
  }
  return kSuccess;
}

constexpr SubstrateTable kTable{
    .name = "example",
    .summary = "Teaches how a substrate is written; counts its own reads",
    .version = "1",
    .open = open,
    .close = close,
    .event_count = event_count,
    .event_at = event_at,
    .find_event = find_event,
    .attach = attach,
    .detach = detach,
    .create_set = create_set,
    .destroy_set = destroy_set,
    .program = program,
    .start = start,
    .stop = stop,
    .read = read,
    .reset = reset,
    .write = write,
    .event_names = "zero,constant,reads,ticks,echo:*,EXAMPLE_*",
};

}  // namespace

SUBSTRATA_PUBLISH(example, kTable);
