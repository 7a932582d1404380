// Advances the rank's virtual clock by what the program computed between two calls.
#include "sources/mpi/call_time.hpp"

#include <mutex>

#include "sources/mpi/messages.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

Call::Call() {
  ThisThread& mine = this_thread;
  ++mine.depth;
  Shim& self = shim();
  if (!self.counting) return;
  mine.entered_at = real_cycles();
  const int64_t now = mine.time.at(mine.entered_at);
  const std::lock_guard guard(self.lock);
  if (mine.left_at >= 0) {
    const int64_t computed = now - mine.left_at - nanoseconds_of_ticks(mine.polled);
    self.clock.compute(computed);
    if (computed > 0) self.computed_ns += computed;
    if (self.cluster.log.is_open())
      self.cluster.log.computed(self.network.factor * static_cast<double>(computed));
  }
  mine.polled = 0;
  mine.polls = 0;
  stop_quick_tests();
  mine.quiet = 0;
}

// What the program computes begins with the last reading: after it only what needs it.
Call::~Call() {
  ThisThread& mine = this_thread;
  mine.collective = 0;
  mine.is_setting_up = false;
  Shim& self = shim();
  if (!self.counting) {
    --mine.depth;
    return;
  }
  const std::lock_guard guard(self.lock);
  if (!self.arrivals.awaited.empty()) unharmed([&] { settle(self); });
  --mine.depth;
  const int64_t ticks = real_cycles();
  mine.left_at = mine.time.at(ticks);
  if (mine.has_noticed) account_noticed(self, ticks);
}

void Poll::end() {
  if (this_thread.has_noticed) account_noticed();
  if (stands_for_ == 0) return;
  const int64_t took = real_cycles() - began_;
  this_thread.polled += may_be_interrupted(took) ? took : took * stands_for_;
  const Requests& requests = shim().requests;
  if (!requests.may_test_quickly || !requests.all_have_callbacks()) return;
  quick_tests.left = this_thread.quiet;
  this_thread.quiet = 0;
}

}  // namespace substrata::mpi
