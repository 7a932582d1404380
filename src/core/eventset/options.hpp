// Defaults and limits that are not one eventset's: domains, granularities, multiplex period, debug level.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/visibility.hpp"

namespace substrata {

// Bits of domains and nothing else.
constexpr bool is_domain(uint32_t domain) noexcept {
  return domain != 0 && (domain & ~static_cast<uint32_t>(kDomainAll)) == 0;
}
// What a substrate counts of a domain: all that it has where all is asked for, else what is asked for; 0 where it
// lacks a part of that.
constexpr uint32_t known_domain(const SubstrateTable& table, uint32_t domain) noexcept {
  if (domain == kDomainAll) return table.domains;
  return is_domain(domain) && (domain & ~table.domains) == 0 ? domain : 0;
}

// All thread-safe. Setters answer kNotInitialised before initialisation and kNoComponent for a bad component.

// For sets made later. Every bit must be one of PAPI's (kInvalid); a component must be able to (kNoSupport for a
// domain, kInvalid for a granularity).
SUBSTRATA_PRIVATE_API Status set_default_domain(uint32_t domain, int component = 0);
SUBSTRATA_PRIVATE_API Status set_default_granularity(uint32_t granularity, int component = 0);
SUBSTRATA_PRIVATE_API Result<uint32_t> default_domain(int component = 0);
SUBSTRATA_PRIVATE_API Result<uint32_t> default_granularity(int component = 0);

// Usable before initialisation.
SUBSTRATA_PRIVATE_API uint64_t default_multiplex_ns() noexcept;  // 10 ms at first
SUBSTRATA_PRIVATE_API Status set_default_multiplex_ns(uint64_t ns);
struct TimerOption {
  int timer = 0;  // ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF
  // The signal that such a timer gives, with which a client must pair it. The library takes a free real-time signal
  // instead, so that SIGPROF and its like stay the program's.
  int signal = 0;
  int64_t ns = 0;
  int flags = 0;  // kept; PAPI gives them no meaning
};
SUBSTRATA_PRIVATE_API TimerOption default_timer() noexcept;
SUBSTRATA_PRIVATE_API Status set_default_timer(const TimerOption& option);
SUBSTRATA_PRIVATE_API Status set_default_timer_ns(int64_t ns);

// PAPI_num_cmp_hwctrs / MAX_HWCTRS: events one set of that substrate can hold, of a processor the counters it
// really has here (0 without a PMU, though the kernel's own events count); 0 where it is unavailable or
// counts nothing here. kComponent for a bad index.
SUBSTRATA_PRIVATE_API Result<int> counters_of_component(int component);
// Whether reads of that substrate can do without a system call here (PAPI's fast_counter_read).
SUBSTRATA_PRIVATE_API bool reads_fast(int component);
SUBSTRATA_PRIVATE_API Result<int> multiplex_counters_of_component(int component);
// The domains that this process may count there; before initialisation, and of a disabled one, all that it has.
SUBSTRATA_PRIVATE_API uint32_t countable_domains(int component);

// PAPI_set_debug: 0 quiet, 1 print and go on, 2 print and stop (never obeyed as an exit here). kInvalid
// otherwise.
SUBSTRATA_PRIVATE_API Status set_debug_level(int level);
SUBSTRATA_PRIVATE_API int debug_level() noexcept;
using DebugHandler = int (*)(int code);
SUBSTRATA_PRIVATE_API void set_debug_handler(DebugHandler handler) noexcept;
SUBSTRATA_PRIVATE_API DebugHandler debug_handler() noexcept;

// The user-defined-events file (PAPI_USER_EVENTS_FILE option).
SUBSTRATA_PRIVATE_API Status set_user_events_file(const std::string& path);
// As the library comes up: a bad line is left out, as PAPI does it, and logged; asking for its event says why.
void take_user_events_file(const std::string& path);
std::string user_events_file();

// Everything back to what it was before initialisation.
void reset_options();

}  // namespace substrata
