// Makes a C++ class into a module of the C interface, and what the built-in modules have in common.
#pragma once

#include <substrata/owl_module.h>
#include <substrata/values.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>

#include "base/members.hpp"

namespace substrata::owl {

using Transaction = substrata_transaction;
using Register = substrata_owl_register;
using Metric = substrata_owl_metric;
using Cost = substrata_owl_cost;
using Module = substrata_owl_module;

// What a module object calls of its capsule.
class Services {
 public:
  explicit Services(const substrata_owl_services& services) : services_(services) {}
  void emit(const void* packet, size_t bytes) const noexcept {
    services_.emit(services_.capsule, packet, static_cast<uint32_t>(bytes));
  }
  void forward(const Transaction* transactions, size_t count) const noexcept {
    services_.forward(services_.capsule, transactions, count);
  }
  void signal(const Transaction& cause, uint32_t reason) const noexcept {
    services_.signal(services_.capsule, &cause, reason);
  }

 private:
  substrata_owl_services services_;
};

constexpr bool is_access(const Transaction& t) noexcept {
  return t.kind >= SUBSTRATA_READ && t.kind <= SUBSTRATA_FETCH;
}

constexpr bool has_value(const Transaction& t) noexcept { return (t.flags & SUBSTRATA_FLAG_VALUE) != 0; }

constexpr Register reg(const char* name, const char* text, uint64_t initial, uint64_t least, uint64_t most,
                       bool live = false) {
  return {name, text, initial, least, most, live ? 1u : 0u, 0};
}
constexpr Metric count_metric(const char* name, const char* text, const char* unit = "") {
  return {name, text, unit, 0, 0};
}
constexpr Metric gauge_metric(const char* name, const char* text, const char* unit = "") {
  return {name, text, unit, 1, 0};
}

// The function that merges two instances, or null: an older module's description ends before it.
inline auto merge_of(const Module& module) noexcept -> void (*)(void* into, void* from) {
  return module.struct_size >= offsetof(Module, merge) + sizeof module.merge ? module.merge : nullptr;
}

// False where the module says that it hands no transaction on with these registers.
inline bool may_forward(const Module& module, const uint64_t* registers) noexcept {
  const bool says = module.struct_size >= offsetof(Module, forwards) + sizeof module.forwards;
  return !says || module.forwards == nullptr || module.forwards(&module, registers) != 0;
}

// The bytes of the longest packet with these registers; 0 where the module does not say.
inline uint32_t longest_packet_of(const Module& module, const uint64_t* registers) noexcept {
  const bool says = module.struct_size >= offsetof(Module, longest_packet) + sizeof module.longest_packet;
  return says && module.longest_packet != nullptr ? module.longest_packet(&module, registers) : 0;
}

// A module's counts are a struct of uint64_t in the order of its metrics.
template <typename Struct>
void give(const Struct& counts, uint64_t* metrics) noexcept {
  std::ranges::copy(std::bit_cast<CountArray<Struct>>(counts), metrics);
}

// Adds another instance's counts and takes them from there.
template <typename Struct>
void move_counts(Struct& into, Struct& from) noexcept {
  add_counts(into, from);
  from = {};
}

// M has: M(const uint64_t* registers, const Services&) which may throw std::bad_alloc; observe(batch, count);
// read(metrics); static void cost(registers, Cost&); kRegisters, kMetrics; and optionally write_back(),
// configure(registers), merge(M& from), static const char* objection(registers).
template <typename M>
struct ModuleFunctions {
  static const char* create(const Module*, const uint64_t* registers, const substrata_owl_services* services,
                            void** instance) noexcept {
    if constexpr (requires { M::objection(registers); }) {
      if (const char* wrong = M::objection(registers)) return wrong;
    }
    try {
      *instance = new M(registers, Services(*services));
      return nullptr;
    } catch (...) {
      return "no memory for its tables";
    }
  }
  static void destroy(void* instance) noexcept { delete static_cast<M*>(instance); }
  static void observe(void* instance, const Transaction* batch, size_t count) noexcept {
    static_cast<M*>(instance)->observe(batch, count);
  }
  static void write_back(void* instance) noexcept {
    if constexpr (requires(M & m) { m.write_back(); }) static_cast<M*>(instance)->write_back();
  }
  static void merge(void* into, void* from) noexcept {
    if constexpr (requires(M & a, M & b) { a.merge(b); })
      static_cast<M*>(into)->merge(*static_cast<M*>(from));
  }
  static void read(void* instance, uint64_t* metrics) noexcept { static_cast<M*>(instance)->read(metrics); }
  static void configure(void* instance, const uint64_t* registers) noexcept {
    if constexpr (requires(M & m) { m.configure(registers); })
      static_cast<M*>(instance)->configure(registers);
  }
  static uint32_t longest_packet(const Module*, const uint64_t* registers) noexcept {
    return M::longest_packet(registers);
  }
  static uint32_t forwards(const Module*, const uint64_t* registers) noexcept {
    if constexpr (requires { M::forwards(registers); }) return M::forwards(registers) ? 1 : 0;
    return 0;
  }
  static void cost(const Module*, const uint64_t* registers, Cost* out) noexcept {
    *out = {};
    M::cost(registers, *out);
  }
};

template <typename M>
constexpr Module make_module(const char* name, const char* summary, const char* packets) {
  Module module{};
  module.struct_size = sizeof(Module);
  module.abi = SUBSTRATA_OWL_MODULE_ABI;
  module.name = name;
  module.summary = summary;
  module.packets = packets;
  module.registers = std::data(M::kRegisters);
  module.register_count = static_cast<uint32_t>(std::size(M::kRegisters));
  module.metrics = std::data(M::kMetrics);
  module.metric_count = static_cast<uint32_t>(std::size(M::kMetrics));
  module.cost = ModuleFunctions<M>::cost;
  module.create = ModuleFunctions<M>::create;
  module.destroy = ModuleFunctions<M>::destroy;
  module.observe = ModuleFunctions<M>::observe;
  if constexpr (requires(M & m) { m.write_back(); }) module.write_back = ModuleFunctions<M>::write_back;
  module.read = ModuleFunctions<M>::read;
  if constexpr (requires(M & m, const uint64_t* r) { m.configure(r); }) {
    module.configure = ModuleFunctions<M>::configure;
  }
  if constexpr (requires(M & a, M & b) { a.merge(b); }) module.merge = ModuleFunctions<M>::merge;
  if constexpr (requires(const uint64_t* r) { M::longest_packet(r); })
    module.longest_packet = ModuleFunctions<M>::longest_packet;
  module.forwards = ModuleFunctions<M>::forwards;
  return module;
}

// The built-in ones, each in a file of its own.
extern const Module kCounterModule;
extern const Module kSamplerModule;
extern const Module kHistogramModule;
extern const Module kMissRateModule;
extern const Module kBinsModule;
extern const Module kLogModule;
extern const Module kPatternModule;
extern const Module kLcsModule;
extern const Module kGuardModule;
extern const Module kReuseModule;
extern const Module kHeavyModule;
extern const Module kSharingModule;
extern const Module kWorkingSetModule;
extern const Module kConflictModule;

}  // namespace substrata::owl
