// The process's one handler of counter overflows and its table of routes.
#include "overflow.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/borrowed_signal.hpp"
#include "base/immortal.hpp"
#include "base/program_counter.hpp"

namespace substrata::perf {
namespace {

// Open addressing by descriptor. A route is published by its descriptor, last; its sequence shows the handler
// a change while it copied.
struct Route {
  std::atomic<int> descriptor{-1};
  std::atomic<uint32_t> sequence{0};
  std::atomic<void (*)(void*, const Sample*) noexcept> call{nullptr};
  std::atomic<void*> owner{nullptr};
  std::atomic<uint64_t> mask{0};
  // How fast overflows come.
  std::atomic<uint32_t> too_many{0};  // within a window
  std::atomic<uint32_t> in_window{0};
  std::atomic<int64_t> window_began_ns{0};
  std::atomic<bool> held_back{false};
};
constexpr int64_t kWindowNs = 1'000'000;
constexpr uint32_t kRoutes = 4096;
Route routes[kRoutes];
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<void*>::is_always_lock_free);

ForkLock& lock() noexcept {
  static Immortal<ForkLock> of_routes;
  return *of_routes;
}
uint32_t holders = 0;
bool holds_unqueued = false;
std::atomic<uint64_t> lost{0};

// A free place is -1 where a search may end, -2 where a removed route was and searches go on.
constexpr int kNever = -1, kRemoved = -2;

Route* find_route(int descriptor) noexcept {
  for (uint32_t i = 0; i < kRoutes; ++i) {
    Route& route = routes[(static_cast<uint32_t>(descriptor) + i) % kRoutes];
    const int found = route.descriptor.load(std::memory_order_acquire);
    if (found == descriptor) return &route;
    if (found == kNever) break;
  }
  return nullptr;
}

void note_rate(Route& route) noexcept {
  timespec clock{};
  ::clock_gettime(CLOCK_MONOTONIC, &clock);
  const int64_t now = static_cast<int64_t>(clock.tv_sec) * 1'000'000'000 + clock.tv_nsec;
  if (now - route.window_began_ns.load(std::memory_order_relaxed) > kWindowNs) {
    route.window_began_ns.store(now, std::memory_order_relaxed);
    route.in_window.store(0, std::memory_order_relaxed);
  }
  const uint32_t count = route.in_window.fetch_add(1, std::memory_order_relaxed) + 1;
  if (count >= route.too_many.load(std::memory_order_relaxed))
    route.held_back.store(true, std::memory_order_relaxed);
}

void on_overflow(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (Route* const route = info->si_fd < 0 ? nullptr : find_route(info->si_fd); route != nullptr) {
    const uint32_t before = route->sequence.load(std::memory_order_acquire);
    const SampleSink sink{route->call.load(std::memory_order_acquire),
                          route->owner.load(std::memory_order_acquire)};
    const Sample sample{program_counter(context), route->mask.load(std::memory_order_acquire), context};
    // Else it was just disarmed.
    if (before == route->sequence.load(std::memory_order_acquire) && sink.call != nullptr) {
      note_rate(*route);
      sink.call(sink.owner, &sample);
    }
  }
  errno = saved;
}

BorrowedSignal& overflow_signal() noexcept {
  static Immortal<BorrowedSignal> one(on_overflow);
  return *one;
}

BorrowedSignal& unqueued_signal() noexcept;

// The kernel's way out when it cannot queue a real-time signal (RLIMIT_SIGPENDING, shared by all processes of
// the user): it sends a plain SIGIO, whose default action would end the process.
void on_unqueued(int signal, siginfo_t* info, void*) noexcept {
  if (info->si_code > 0) {
    lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // Sent by a process: what would have come without us.
  const int saved = errno;
  unqueued_signal().pass_on(signal, info, nullptr);
  errno = saved;
}

BorrowedSignal& unqueued_signal() noexcept {
  static Immortal<BorrowedSignal> one(on_unqueued);
  return *one;
}

}  // namespace

int hold_overflow_signal() noexcept {
  // A real-time signal that is not in use: each overflow is queued by itself and carries its descriptor.
  const int number = overflow_signal().hold_free(SIGRTMIN + 2, SIGRTMAX);
  if (number < 0) return number;
  const std::lock_guard guard(lock());
  if (holders++ == 0) holds_unqueued = unqueued_signal().hold_if_default(SIGIO) > 0;
  return number;
}

void release_overflow_signal() noexcept {
  overflow_signal().release();
  const std::lock_guard guard(lock());
  if (--holders != 0) return;
  if (holds_unqueued) unqueued_signal().release();
  for (Route& route : routes) route.descriptor.store(kNever, std::memory_order_release);
}

uint64_t lost_overflows() noexcept { return lost.load(std::memory_order_relaxed); }

bool add_route(int descriptor, const SampleSink& sink, uint64_t mask, uint64_t most_each_second) noexcept {
  const std::lock_guard guard(lock());
  for (uint32_t i = 0; i < kRoutes; ++i) {
    Route& route = routes[(static_cast<uint32_t>(descriptor) + i) % kRoutes];
    const int found = route.descriptor.load(std::memory_order_relaxed);
    if (found != kNever && found != kRemoved) continue;
    route.sequence.fetch_add(1, std::memory_order_release);
    route.call.store(sink.call, std::memory_order_release);
    route.owner.store(sink.owner, std::memory_order_release);
    route.mask.store(mask, std::memory_order_release);
    // The window may begin anywhere in the kernel's, so half of what fits into one.
    const uint64_t too_many = most_each_second / (2 * 1'000'000'000 / kWindowNs);
    route.too_many.store(static_cast<uint32_t>(std::clamp<uint64_t>(too_many, 2, UINT32_MAX)),
                         std::memory_order_relaxed);
    route.held_back.store(false, std::memory_order_relaxed);
    route.descriptor.store(descriptor, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_route(int descriptor) noexcept {
  const std::lock_guard guard(lock());
  Route* const route = find_route(descriptor);
  if (route == nullptr) return;
  route->sequence.fetch_add(1, std::memory_order_release);
  route->call.store(nullptr, std::memory_order_release);
  route->descriptor.store(kRemoved, std::memory_order_release);
}

void begin_route(int descriptor) noexcept {
  if (Route* const route = find_route(descriptor); route != nullptr)
    route->held_back.store(false, std::memory_order_relaxed);
}

bool was_held_back(int descriptor) noexcept {
  const Route* const route = find_route(descriptor);
  return route != nullptr && route->held_back.load(std::memory_order_relaxed);
}

}  // namespace substrata::perf
