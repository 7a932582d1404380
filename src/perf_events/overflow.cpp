// The process's one handler of counter overflows and its table of routes.
#include "perf_events/overflow.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/borrowed_signal.hpp"
#include "base/immortal.hpp"
#include "base/program_counter.hpp"
#include "base/sample_ring.hpp"
#include "base/visitors.hpp"

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
  std::atomic<perf_event_mmap_page*> ring{nullptr};
  std::atomic<bool> by_data_address{false};
  Visitors visitors;  // handlers; only the thread that armed the event gets its signals
  // How fast overflows come, where there is no ring.
  std::atomic<uint32_t> too_many{0};  // within a window
  std::atomic<uint32_t> in_window{0};
  std::atomic<int64_t> window_began_ns{0};
  std::atomic<bool> missing{false};
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
std::atomic<uint32_t> forks{0};  // that lie behind this process; it has no rings of before

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
    route.missing.store(true, std::memory_order_relaxed);
}

// A sample as asked for: PERF_SAMPLE_IP, perhaps PERF_SAMPLE_ADDR.
struct SampleRecord {
  perf_event_header header;
  uint64_t instruction;
  uint64_t data;
};

// Where a sample belongs: user and kernel addresses differ by themselves, a guest's look like ours.
uint64_t address_of(const SampleRecord& record, size_t size, bool by_data_address) noexcept {
  const uint32_t mode = record.header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER) return 0;
  if (!by_data_address) return record.instruction;
  return size >= sizeof(SampleRecord) ? record.data : 0;
}

// What the kernel put into the ring before this signal. Signals may be fewer than samples: the ones that were taken
// here have no signal, or one that finds nothing.
void take_samples(Route& route, Visitors::Visit visit, uint32_t sequence, const SampleSink& sink,
                  perf_event_mmap_page* page, void* context) noexcept {
  const uint32_t forks_before = forks.load(std::memory_order_relaxed);
  const SampleRing ring = SampleRing::of(page);
  const uint64_t head = ring.head();
  const uint64_t mask = route.mask.load(std::memory_order_relaxed);
  const bool by_data_address = route.by_data_address.load(std::memory_order_relaxed);
  // The sink may have disarmed the event, or be back in a child that the program forked there: the ring is gone then.
  while (route.sequence.load(std::memory_order_acquire) == sequence &&
         forks.load(std::memory_order_relaxed) == forks_before) {
    SampleRecord record{};
    const size_t size = ring.take(head, &record, sizeof record);
    if (size == 0) break;
    if (record.header.type == PERF_RECORD_SAMPLE) {
      const Sample sample{address_of(record, size, by_data_address), mask, context};
      route.visitors.begin_call(visit);
      sink.call(sink.owner, &sample);
      route.visitors.end_call(visit);
    } else if (record.header.type == PERF_RECORD_LOST || record.header.type == PERF_RECORD_THROTTLE) {
      route.missing.store(true, std::memory_order_relaxed);
    }
  }
}

void on_overflow(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (Route* const route = info->si_fd < 0 ? nullptr : find_route(info->si_fd); route != nullptr) {
    const Visitors::Visit visit = route->visitors.enter();
    const uint32_t before = route->sequence.load(std::memory_order_seq_cst);
    const SampleSink sink{route->call.load(std::memory_order_acquire),
                          route->owner.load(std::memory_order_acquire)};
    perf_event_mmap_page* const ring = route->ring.load(std::memory_order_acquire);
    const Sample sample{program_counter(context), route->mask.load(std::memory_order_acquire), context};
    // Else it was just disarmed.
    if (before == route->sequence.load(std::memory_order_seq_cst) && sink.call != nullptr) {
      if (ring != nullptr) {
        take_samples(*route, visit, before, sink, ring, context);
      } else {
        note_rate(*route);
        route->visitors.begin_call(visit);
        sink.call(sink.owner, &sample);
        route->visitors.end_call(visit);
      }
    }
    route->visitors.leave(visit);
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
  [[maybe_unused]] static const int kCounted =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  // A real-time signal that is not in use: each overflow is queued by itself and carries its descriptor. Another PAPI
  // in the process takes SIGRTMIN + 2, whether or not it is in use.
  const int number = overflow_signal().hold_free(SIGRTMIN + 3, SIGRTMAX);
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

bool add_route(const SampleRoute& added) noexcept {
  const std::lock_guard guard(lock());
  for (uint32_t i = 0; i < kRoutes; ++i) {
    Route& route = routes[(static_cast<uint32_t>(added.descriptor) + i) % kRoutes];
    const int found = route.descriptor.load(std::memory_order_relaxed);
    if (found != kNever && found != kRemoved) continue;
    route.sequence.fetch_add(1, std::memory_order_release);
    route.call.store(added.sink.call, std::memory_order_release);
    route.owner.store(added.sink.owner, std::memory_order_release);
    route.mask.store(added.mask, std::memory_order_release);
    route.ring.store(added.ring, std::memory_order_release);
    route.by_data_address.store(added.by_data_address, std::memory_order_release);
    route.visitors.forget();
    // The window may begin anywhere in the kernel's, so half of what fits into one.
    const uint64_t too_many = added.most_each_second / (2 * 1'000'000'000 / kWindowNs);
    route.too_many.store(static_cast<uint32_t>(std::clamp<uint64_t>(too_many, 2, UINT32_MAX)),
                         std::memory_order_relaxed);
    route.missing.store(false, std::memory_order_relaxed);
    route.descriptor.store(added.descriptor, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_route(int descriptor, bool ours) noexcept {
  Route* route = nullptr;
  {
    const std::lock_guard guard(lock());
    route = find_route(descriptor);
    if (route == nullptr) return;
    route->sequence.fetch_add(1, std::memory_order_seq_cst);
    route->call.store(nullptr, std::memory_order_release);
  }
  // Unlocked, since the sink may change routes. What other threads were doing at a fork, they do not end in the child.
  if (ours) route->visitors.wait();
  route->descriptor.store(kRemoved, std::memory_order_release);
}

void begin_route(int descriptor) noexcept {
  Route* const route = find_route(descriptor);
  if (route == nullptr) return;
  route->missing.store(false, std::memory_order_relaxed);
  if (perf_event_mmap_page* const ring = route->ring.load(std::memory_order_acquire); ring != nullptr)
    SampleRing::of(ring).clear();
}

bool misses_samples(int descriptor) noexcept {
  const Route* const route = find_route(descriptor);
  return route != nullptr && route->missing.load(std::memory_order_relaxed);
}

}  // namespace substrata::perf
