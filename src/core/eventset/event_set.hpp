// Eventsets as clients handle them: made, filled, configured, taken apart. Measuring is in measure.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/visibility.hpp"

namespace substrata {

struct Face;

// PAPI_state's bits.
enum SetState : uint32_t {
  kSetStopped = 0x01,
  kSetRunning = 0x02,
  kSetPaused = 0x04,
  kSetOverflowing = 0x10,
  kSetProfiling = 0x20,
  kSetMultiplexing = 0x40,
  kSetAttached = 0x80,
  kSetCpuAttached = 0x100,
};

// Common to all calls below: kNotInitialised before initialisation, kNoEventSet for a handle that is not in
// use, kRunning for a change to a running set, kNoComponent where the set must have a component and has none.
// A failed call has no effect. Thread-safe; calls on one set are serialised.

// The set goes with the face's use of the layer; null: with the layer.
SUBSTRATA_PRIVATE_API Result<int> create_event_set(const Face* owner = nullptr);
// kInvalid when it still holds events.
SUBSTRATA_PRIVATE_API Status destroy_event_set(int handle);
// Removes all events and frees the set from its component.
SUBSTRATA_PRIVATE_API Status cleanup_event_set(int handle);

// Binds an empty set to a substrate. kInvalid when bound already, kNoComponent for a bad index, kDisabled
// with the reason when that substrate is unavailable.
SUBSTRATA_PRIVATE_API Status assign_component(int handle, int component);
SUBSTRATA_PRIVATE_API Result<int> component_of_set(int handle);

// kInvalid: code 0, or an event of another substrate than the set's (PA-2). kNoComponent: no such code.
// kNoEvent: known but not available here. kConflict: already in the set, or cannot be counted with the
// others.
SUBSTRATA_PRIVATE_API Status add_event(int handle, uint32_t code);
SUBSTRATA_PRIVATE_API Status add_named_event(int handle, std::string_view name);
SUBSTRATA_PRIVATE_API Status remove_event(int handle, uint32_t code);  // kInvalid when not in the set
SUBSTRATA_PRIVATE_API Status remove_named_event(int handle, std::string_view name);

// As many as went in (or out) before the first refusal, and that refusal. kInvalid for a null list or count
// <= 0.
struct ManyOutcome {
  int done = 0;
  Status status{};
};
SUBSTRATA_PRIVATE_API ManyOutcome add_events(int handle, const int* codes, int count);
SUBSTRATA_PRIVATE_API ManyOutcome remove_events(int handle, const int* codes, int count);

SUBSTRATA_PRIVATE_API Result<int> event_count_of(int handle);
// The codes in order of addition.
SUBSTRATA_PRIVATE_API Result<std::vector<uint32_t>> events_of(int handle);
SUBSTRATA_PRIVATE_API Result<uint32_t> state_of(int handle);  // SetState bits

// Options of one set, passed to the substrate as one Configuration: all or nothing.
// kInvalidDomain / kInvalid for values outside PAPI's; kComponent where the substrate cannot.
SUBSTRATA_PRIVATE_API Status set_domain(int handle, uint32_t domain);
SUBSTRATA_PRIVATE_API Status set_granularity(int handle, uint32_t granularity);
SUBSTRATA_PRIVATE_API Status set_inherit(int handle, bool inherit);
// The set lies beneath one of another substrate, and runs beside the thread's own set of its substrate. Until its
// cleanup.
Status put_beneath(int handle);
// Measures another thread or process; kSystem when it does not exist.
SUBSTRATA_PRIVATE_API Status attach_set(int handle, unsigned long tid);
// kInvalid when not attached.
SUBSTRATA_PRIVATE_API Status detach_set(int handle);
// kInvalid for a processor that does not exist.
SUBSTRATA_PRIVATE_API Status bind_set_to_cpu(int handle, int cpu);
// Multiplexes: by the substrate's own means (kKernelMultiplex) unless `force_software`, else by the
// layer (core/multiplex/multiplexer.hpp), for good. `period_ns` 0: the default. kConflict while an event is armed
// for overflow and the means change.
SUBSTRATA_PRIVATE_API Status set_multiplex(int handle, uint64_t period_ns, bool force_software);
struct MultiplexOption {
  bool on = false;
  uint64_t period_ns = 0;
  bool software = false;
};
SUBSTRATA_PRIVATE_API Result<MultiplexOption> multiplex_of(int handle);
// The whole configuration as it stands (PAPI_get_opt of DOMAIN, GRANUL, INHERIT, ATTACH, CPU_ATTACH).
SUBSTRATA_PRIVATE_API Result<Configuration> configuration_of(int handle);

// Overflow by the substrate's own means: every `threshold` counts of the event the sink is called, perhaps in
// a signal. kComponent where the substrate cannot arm (Component::arms_itself): the timer-driven way is then
// for the caller to take. kNoEvent when the event is not in the set, kNoSupport for a derived event.
Status arm_event(int handle, uint32_t code, int64_t threshold, uint32_t flags, const SampleSink& sink);
Status disarm_event(int handle, uint32_t code);
// Positions of the events of an overflow vector (bit i: i-th native event) in the order of addition.
SUBSTRATA_PRIVATE_API Result<std::vector<int>> events_of_vector(int handle, uint64_t vector);

}  // namespace substrata
