// A call of the program into the tracer's runtime, from which nothing is thrown and in which nothing waits for
// itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/raised.hpp"

namespace substrata::access_tracer {

// While one of these is there, its thread is in the runtime or in the allocator. A signal handler of the program
// that interrupts it and enters too would wait for locks that its own thread holds: what it wants is counted
// as skipped. The same holds for what an observer does while it is given accesses.
class Entry {
 public:
  Entry() noexcept : is_first_(!inside && has_begun_.load(std::memory_order_relaxed)) {
    if (is_first_) inside = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Entry() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_first_) inside = false;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // Does it, or counts it as skipped, as it does where there is no memory for it.
  template <typename Call>
  void run(const Call& call) const noexcept {
    try {
      if (is_first_) return call();
    } catch (...) {
      // No memory.
    }
    skipped_.fetch_add(1, std::memory_order_relaxed);
  }

  // While one of these is there, its thread gives accesses to observers: it holds no lock of the runtime, so they may
  // ask what lies at an address.
  struct HandingOn : Raised<volatile bool> {
    HandingOn() noexcept : Raised(handing_on) {}
  };
  // Does it where the thread hands accesses on, else as run() does.
  template <typename Call>
  static void answer(const Call& call) noexcept {
    if (!handing_on) return Entry().run(call);
    handing_on = false;  // a signal handler that asks meanwhile is refused
    try {
      call();
    } catch (...) {
      // No memory.
    }
    handing_on = true;
  }

  // Before this, the libraries that the runtime needs may themselves not have begun.
  static void begin() noexcept { has_begun_.store(true, std::memory_order_relaxed); }
  // So far, in the process.
  static uint64_t skipped() noexcept { return skipped_.load(std::memory_order_relaxed); }

 private:
  static inline thread_local volatile bool inside __attribute__((tls_model("initial-exec"))) = false;
  static inline thread_local volatile bool handing_on __attribute__((tls_model("initial-exec"))) = false;
  static inline std::atomic<bool> has_begun_{false};
  static inline std::atomic<uint64_t> skipped_{0};
  const bool is_first_;
};

}  // namespace substrata::access_tracer
