// What perf_event_open needs to count one event of the catalogue.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::perf {

// One descriptor of an event: a hybrid processor needs one for each core type. Legs of different hardware
// `pmu_class`es cannot share a group; class 0 (software) joins any.
struct Leg {
  perf_event_attr attr{};
  int cpu = -1;  // from the name's cpu=; -1: the set decides
  uint32_t pmu_class = 0;
  uint64_t user_access = 0;  // bits of config1 that ask for user-space reads (arm64), 0 where none are needed
};

// The same event of the same PMU, wherever it counts.
inline bool same_counter(const Leg& a, const Leg& b) noexcept {
  return a.attr.type == b.attr.type && a.attr.config == b.attr.config && a.attr.config1 == b.attr.config1 &&
         a.attr.config2 == b.attr.config2;
}

struct Encoding {
  std::vector<Leg> legs;         // summed; empty when `ticks`
  bool ticks = false;            // read by Kernel::ticks, without a descriptor
  bool explicit_domain = false;  // the name says u=, k= or h=: the set's domain does not touch it
  bool fixed_cpu = false;        // the name says cpu=
  bool kernel_side = false;      // happens in the kernel by nature: a user-only domain would always count 0
};

// The classes of Leg::pmu_class that are not "100 + type of the PMU".
inline constexpr uint32_t kSoftwareClass = 0;
inline constexpr uint32_t kCoreClass = 1;
inline constexpr uint32_t kPmuClassBase = 100;

// A zeroed attribute with its size set and everything but user mode excluded.
perf_event_attr blank_attr() noexcept;

// A kernel event of include/uapi/linux/perf_event.h under the names libpfm4's perf PMU gives it.
struct GenericEvent {
  const char* name;  // without "perf::"
  const char* text;
  uint32_t type;
  uint64_t config;
  bool cache_umasks;  // a bare cache (L1D, LL, ...): takes READ, WRITE, PREFETCH, ACCESS, MISS
  bool kernel_side;
  const char* unit;
};
const std::vector<GenericEvent>& generic_events();
// By its name without prefix and qualifiers; null: there is none.
const GenericEvent* find_generic(std::string_view name);

inline constexpr std::string_view kPerfPrefix = "perf::";
inline constexpr std::string_view kRawPrefix = "perf_raw::";
inline constexpr const char* kTicksName = "tsc";

// A qualifier an event name may carry, for listings.
struct Qualifier {
  std::string name;
  std::string text;
  bool mask = false;  // a unit mask, else a modifier with a value
};
// The modifiers of perf:: events (u, k, h, period, freq, precise, excl, mg, mh, cpu, pinned).
const std::vector<Qualifier>& generic_qualifiers();

// Applies ":u=1:k" style qualifiers (without the leading colon) to every leg of `encoding`. False, and a
// message in *error, on an unknown qualifier or a bad value.
bool apply_qualifiers(std::string_view qualifiers, bool cache_umasks, Encoding* encoding, std::string* error);

// Equal without regard to the case of ASCII letters.
bool same_name(std::string_view a, std::string_view b) noexcept;

}  // namespace substrata::perf
