// Eventsets as clients handle them: made, filled, configured, taken apart. Measuring is in measure.hpp.
#ifndef SUBSTRATA_CORE_EVENT_SET_HPP
#define SUBSTRATA_CORE_EVENT_SET_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace substrata {

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

Result<int> create_event_set();
// kInvalid when it still holds events.
Status destroy_event_set(int handle);
// Removes all events and frees the set from its component.
Status cleanup_event_set(int handle);

// Binds an empty set to a substrate. kInvalid when bound already, kNoComponent for a bad index, kDisabled
// with the reason when that substrate is unavailable.
Status assign_component(int handle, int component);
Result<int> component_of_set(int handle);

// kInvalid: code 0, or an event of another substrate than the set's (PA-2). kNoComponent: no such code.
// kNoEvent: known but not available here. kConflict: already in the set, or cannot be counted with the
// others.
Status add_event(int handle, uint32_t code);
Status add_named_event(int handle, std::string_view name);
Status remove_event(int handle, uint32_t code);  // kInvalid when not in the set
Status remove_named_event(int handle, std::string_view name);

// As many as went in (or out) before the first refusal, and that refusal. kInvalid for a null list or count
// <= 0.
struct ManyOutcome {
  int done = 0;
  Status status{};
};
ManyOutcome add_events(int handle, const int* codes, int count);
ManyOutcome remove_events(int handle, const int* codes, int count);

Result<int> event_count_of(int handle);
// The codes in order of addition.
Result<std::vector<uint32_t>> events_of(int handle);
Result<uint32_t> state_of(int handle);  // SetState bits

// Options of one set, passed to the substrate as one Configuration: all or nothing.
// kInvalidDomain / kInvalid for values outside PAPI's; kComponent where the substrate cannot.
Status set_domain(int handle, uint32_t domain);
Status set_granularity(int handle, uint32_t granularity);
Status set_inherit(int handle, bool inherit);
// Measures another thread or process; kSystem when it does not exist.
Status attach_set(int handle, unsigned long tid);
// kInvalid when not attached.
Status detach_set(int handle);
// kInvalid for a processor that does not exist.
Status bind_set_to_cpu(int handle, int cpu);
// The events take turns: by the substrate's own means (kKernelMultiplex) unless `force_software`, else by the
// layer (core/rotation.hpp), for good. `period_ns` 0: the default. kConflict while an event is armed for
// overflow and the means change.
Status set_multiplex(int handle, uint64_t period_ns, bool force_software);
struct MultiplexOption {
  bool on = false;
  uint64_t period_ns = 0;
  bool software = false;
};
Result<MultiplexOption> multiplex_of(int handle);
// The whole configuration as it stands (PAPI_get_opt of DOMAIN, GRANUL, INHERIT, ATTACH, CPU_ATTACH).
Result<Configuration> configuration_of(int handle);

// Overflow by the substrate's own means: every `threshold` counts of the event the sink is called, perhaps in
// a signal. kComponent where the substrate cannot arm (Component::arms_itself): the timer-driven way is then
// for the caller to take. kNoEvent when the event is not in the set, kNoSupport for a derived event.
Status arm_event(int handle, uint32_t code, int64_t threshold, uint32_t flags, const SampleSink& sink);
Status disarm_event(int handle, uint32_t code);
// Marks kSetOverflowing, kSetProfiling in the state of a set that somebody overflows by other means.
Status mark_set(int handle, uint32_t bits, bool on);
// Positions of the events of an overflow vector (bit i: i-th native event) in the order of addition.
Result<std::vector<int>> events_of_vector(int handle, uint64_t vector);

}  // namespace substrata

#endif
