// The process-wide library: brought up and down any number of times, and what belongs to all eventsets.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"
#include "base/result.hpp"
#include "base/visibility.hpp"
#include "core/events/catalogue.hpp"
#include "core/registry/registry.hpp"

namespace substrata {

// One libpapi of those in a process that stand on this layer (a generation, a copy of the file): each brings the layer
// up and down for itself. Constant-initialised; must be let go before its memory is.
struct Face {
  std::atomic<uint64_t> up_since{0};  // the epoch in which it brought the layer up; 0: it has not
};

// One per process, made at first use and never destroyed. Every call is safe as the first one, from any
// thread.
class Library {
 public:
  SUBSTRATA_PRIVATE_API static Library& instance() noexcept;

  // Up: reads the settings and the list of substrates; detects and opens nothing. Idempotent. In a forked
  // child the parent's eventsets are given up and the library starts anew.
  Status initialise() { return initialise(own_face_); }
  SUBSTRATA_PRIVATE_API Status initialise(Face& face);
  // Down: stops and destroys every eventset, ends every thread's state, and closes substrates unless other threads that
  // have measured still run. While another face has it up only the face's own eventsets are destroyed. Idempotent.
  void shutdown() { shutdown(own_face_); }
  SUBSTRATA_PRIVATE_API void shutdown(Face& face);
  // The face's code goes: a shutdown, unless the process exits, when other threads may still be in calls.
  SUBSTRATA_PRIVATE_API void leave(Face& face);
  bool initialised() const noexcept { return up_.load(std::memory_order_acquire); }
  bool initialised(const Face& face) const noexcept {
    return initialised() && face.up_since.load(std::memory_order_relaxed) == epoch();
  }
  // Whether another one has it up.
  bool shared_beside(const Face& face) const noexcept {
    return initialised() && faces_.load(std::memory_order_relaxed) > (initialised(face) ? 1 : 0);
  }
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
  // The face has nothing up any more. Its eventsets stay.
  void let_go(Face& face) noexcept;
  ForkLock lock_;
  std::atomic<bool> up_{false};
  std::atomic<uint64_t> epoch_{1};
  std::atomic<int> faces_{0};  // that have it up
  Face own_face_;              // of callers within the layer
  uint64_t forks_at_start_ = 0;
  Registry registry_;
  Catalogue catalogue_;
};

}  // namespace substrata
