// Access sites: which object an instruction accessed last, and how often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sources/access_tracer/interface.h"
#include "sources/access_tracer/objects.hpp"

namespace substrata::access_tracer {

struct Tally {
  uint64_t accesses = 0;
  uint64_t bytes = 0;
};

// What calls of a function took, the calls of others in it included.
struct Ran {
  uint64_t calls = 0;
  uint64_t ns = 0;
  uint64_t least_ns = UINT64_MAX;
  void add(const Ran& more) {
    calls += more.calls;
    ns += more.ns;
    least_ns = least_ns < more.least_ns ? least_ns : more.least_ns;
  }
};
using Times = std::unordered_map<uintptr_t, Ran>;  // by an address within the function

// One site's accesses to one object.
struct SiteKey {
  uintptr_t pc;
  uint32_t object;
  uint32_t kind;
  bool operator==(const SiteKey&) const = default;
};
struct SiteHash {
  size_t operator()(const SiteKey& key) const {
    return (key.pc * 0x9e3779b97f4a7c15u) ^ (uint64_t{key.object} << 20) ^ key.kind;
  }
};
using Tallies = std::unordered_map<SiteKey, Tally, SiteHash>;

// The site's count goes into the tallies.
void move_away(Tallies& tallies, substrata_memory_site& site);
// The tallies with what the thread's sites have counted since; the thread may go on.
Tallies counts_of(const Tallies& moved, const substrata_memory_thread& table);

// The site of an access to an object, counted once. Of a watched one every access is handed on.
substrata_memory_site bound_to(uint64_t key, uintptr_t pc, const Extent& extent, bool watched, unsigned kind,
                               unsigned size);
// The site of a function's entry.
substrata_memory_site bound_to_calls(uint64_t key, uintptr_t pc, uint32_t object);

// Gives the site its new object. A signal handler that interrupts this finds no site of its own here.
inline void rebind(substrata_memory_site& site, const substrata_memory_site& to) {
  __atomic_store_n(&site.key, 0, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  substrata_memory_site without_key = to;
  without_key.key = 0;
  site = without_key;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&site.key, to.key, __ATOMIC_RELAXED);
}

// The number that sites of the program's hooks are bound under. Once it has changed, every site looks its
// object up again. Thread-safe.
class BindingSalt {
 public:
  void begin(volatile uint64_t* salt) { salt_ = salt; }
  void forget_bindings() { __atomic_fetch_add(salt_, 0x9e3779b97f4a7c15u, __ATOMIC_RELEASE); }
  uint64_t now() const { return __atomic_load_n(salt_, __ATOMIC_ACQUIRE); }
  uint64_t key_of(uintptr_t pc) const { return pc ^ now(); }
  // The feed changes it as well.
  uint64_t* word() const { return const_cast<uint64_t*>(salt_); }

 private:
  volatile uint64_t* salt_ = nullptr;
};

}  // namespace substrata::access_tracer
