// Who is inside something that another thread takes away.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "base/owner_lock.hpp"
#include "base/pause.hpp"

namespace substrata {

// Counts threads between enter() and leave(), usually in signal handlers. One that calls the program's code there may
// never come back, for a handler may leave by siglongjmp(). So such a call is not waited for longer than a second; what
// it comes back to must be looked at again. All but wait() is signal-safe.
class Visitors {
 public:
  using Visit = uint32_t;

  Visit enter() noexcept {
    inside_.fetch_add(1, std::memory_order_seq_cst);
    thread_.store(this_thread_number(), std::memory_order_seq_cst);
    return round_.load(std::memory_order_seq_cst);
  }
  void leave(Visit visit) noexcept {
    if (round_.load(std::memory_order_seq_cst) == visit) inside_.fetch_sub(1, std::memory_order_seq_cst);
  }
  // Around calls of the program's code.
  void begin_call(Visit visit) noexcept {
    if (round_.load(std::memory_order_seq_cst) == visit) calling_.fetch_add(1, std::memory_order_seq_cst);
  }
  void end_call(Visit visit) noexcept {
    if (round_.load(std::memory_order_seq_cst) == visit) calling_.fetch_sub(1, std::memory_order_seq_cst);
  }

  // Nobody, or only the calling thread, which is there now or has left by a jump.
  bool only_caller() const noexcept {
    const int inside = inside_.load(std::memory_order_seq_cst);
    return inside == 0 || (inside == 1 && thread_.load(std::memory_order_seq_cst) == this_thread_number());
  }
  // Until nobody but the calling thread is inside.
  void wait() noexcept {
    constexpr int64_t kLongestCallNs = 1'000'000'000;
    int64_t called_since = 0;  // 0: nobody is in the program's code
    for (Pause pause; inside_.load(std::memory_order_seq_cst) != 0 &&
                      thread_.load(std::memory_order_seq_cst) != this_thread_number();
         pause.once()) {
      if (calling_.load(std::memory_order_seq_cst) == 0) {
        called_since = 0;
        continue;
      }
      const int64_t now = clock_now_ns();
      if (called_since == 0) called_since = now;
      if (now - called_since > kLongestCallNs) return forget();
    }
  }
  // Whoever is inside counts no more.
  void forget() noexcept {
    round_.fetch_add(1, std::memory_order_seq_cst);
    inside_.store(0, std::memory_order_seq_cst);
    calling_.store(0, std::memory_order_seq_cst);
  }

 private:
  std::atomic<int> inside_{0}, calling_{0};
  std::atomic<uint64_t> thread_{0};  // of the last one
  std::atomic<Visit> round_{0};
};

}  // namespace substrata
