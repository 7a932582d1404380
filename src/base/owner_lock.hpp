// Serialises the calls on one object that nearly always come from one thread, at the price of two plain
// stores there.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fork_lock.hpp"

namespace substrata {

// The calling thread's number, 0 before its first use. Initial-exec, so that reading it is one instruction.
extern thread_local constinit uint64_t thread_number_storage
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
uint64_t assign_thread_number() noexcept;

// A number for the calling thread, never 0 and never used again by a later thread. Signal-safe.
inline uint64_t this_thread_number() noexcept {
  const uint64_t number = thread_number_storage;
  return number != 0 ? number : assign_thread_number();
}

// A lock biased to one owner thread. The owner marks itself busy with a store and looks whether a stranger is
// there; another thread registers, makes all threads of the process pass a barrier (membarrier(2)), and
// waits until the owner is no longer busy. Where membarrier is refused, also from some moment on (a filter of
// system calls that the program installs), the owner's store is sequentially consistent. Re-entrant on both
// sides (a signal handler of the owner may read the set it interrupted).
// Thread-safe.
class OwnerLock {
 public:
  // Whose calls are cheap from now on; call while no other thread can see the object, or while holding the
  // lock.
  void set_owner(uint64_t thread_number) noexcept { owner_.store(thread_number, std::memory_order_relaxed); }
  uint64_t owner() const noexcept { return owner_.load(std::memory_order_relaxed); }

  void lock() noexcept {
    if (this_thread_number() == owner_.load(std::memory_order_relaxed)) {
      const uint32_t depth = busy_.load(std::memory_order_relaxed);
      if (cheap_.load(std::memory_order_relaxed)) {
        busy_.store(depth + 1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
      } else {
        busy_.store(depth + 1, std::memory_order_seq_cst);
      }
      if (depth != 0 || strangers_.load(std::memory_order_seq_cst) == 0) [[likely]]
        return;
      wait_for_strangers();
      return;
    }
    lock_as_stranger();
  }
  // Without waiting (a hot path, a signal handler): enters only as the owner, and only where neither the
  // interrupted code nor a stranger is inside. Left by unlock_as_owner().
  bool try_lock_as_owner() noexcept {
    const uint64_t number = thread_number_storage;
    if (number == 0 || number != owner_.load(std::memory_order_relaxed) ||
        busy_.load(std::memory_order_relaxed) != 0)
      return false;
    if (cheap_.load(std::memory_order_relaxed)) [[likely]] {
      busy_.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      busy_.store(1, std::memory_order_seq_cst);
    }
    if (strangers_.load(std::memory_order_seq_cst) == 0) return true;
    busy_.store(0, std::memory_order_release);
    return false;
  }
  void unlock_as_owner() noexcept { busy_.store(0, std::memory_order_release); }
  void unlock() noexcept {
    if (this_thread_number() == owner_.load(std::memory_order_relaxed)) {
      const uint32_t depth = busy_.load(std::memory_order_relaxed);
      busy_.store(depth - 1, std::memory_order_release);
      return;
    }
    unlock_as_stranger();
  }

  // Whether an owner makes plain stores, which needs strangers that have membarrier.
  static bool cheap() noexcept { return cheap_.load(std::memory_order_relaxed); }

  // In a forked child: as new, the strangers were other threads. False: another thread, the owner, was inside.
  bool renew_in_child() noexcept;

 private:
  void wait_for_strangers() noexcept;
  void lock_as_stranger() noexcept;
  void unlock_as_stranger() noexcept;
  static void pass_barrier() noexcept;
  static std::atomic<bool> cheap_;    // owners make a plain store
  static std::atomic<bool> barrier_;  // so strangers make every thread pass a barrier

  std::atomic<uint64_t> owner_{0};
  std::atomic<uint32_t> busy_{0};
  std::atomic<uint32_t> strangers_{0};
  ForkLock stranger_lock_;
};

}  // namespace substrata
