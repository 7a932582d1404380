// The process-wide library: brought up and down any number of times, and what belongs to all eventsets.
#ifndef SUBSTRATA_CORE_LIBRARY_HPP
#define SUBSTRATA_CORE_LIBRARY_HPP

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"
#include "base/result.hpp"
#include "base/visibility.hpp"
#include "events/catalogue.hpp"
#include "registry/registry.hpp"

namespace substrata {

// One per process, made at first use and never destroyed. Every call is safe as the first one, from any
// thread.
class Library {
 public:
  SUBSTRATA_PRIVATE_API static Library& instance() noexcept;

  // Up: reads the settings and the list of substrates; detects and opens nothing. Idempotent. In a forked
  // child the parent's eventsets are given up and the library starts anew.
  SUBSTRATA_PRIVATE_API Status initialise();
  // Down: stops and destroys every eventset, ends every thread's state, closes substrates. Idempotent.
  SUBSTRATA_PRIVATE_API void shutdown();
  bool initialised() const noexcept { return up_.load(std::memory_order_acquire); }
  // kSuccess, or kNotInitialised with its message.
  SUBSTRATA_PRIVATE_API Status require_initialised() const noexcept;

  // Usable before initialisation (the list of substrates is then loaded on demand).
  SUBSTRATA_PRIVATE_API Registry& registry();
  // Tests, before anything else is asked: the entry points to use instead of the built-in ones.
  void use_built_in(const BuiltIn* list) noexcept { registry_.set_built_in(list); }
  // Meaningful after initialisation.
  Catalogue& catalogue() noexcept { return catalogue_; }

  // Counts initialisations and shutdowns: state made under another epoch is stale. Signal-safe.
  uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }

  ForkLock& lock() noexcept { return lock_; }

 private:
  friend class Immortal<Library>;
  Library();
  static void after_fork_in_child() noexcept;
  ForkLock lock_;
  std::atomic<bool> up_{false};
  std::atomic<uint64_t> epoch_{1};
  uint64_t forks_at_start_ = 0;
  Registry registry_;
  Catalogue catalogue_;
};

}  // namespace substrata

#endif
