// The process's one handler of counter overflows and its table of routes.
#include "overflow.hpp"

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <mutex>

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
};
constexpr uint32_t kRoutes = 4096;
Route routes[kRoutes];
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<void*>::is_always_lock_free);

std::mutex& lock() {
  static std::mutex mutex;
  return mutex;
}
uint32_t holders = 0;
int overflow_signal = 0;
struct sigaction previous;

uint64_t program_counter(void* context) noexcept {
  const auto* where = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uint64_t>(where->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return where->uc_mcontext.pc;
#else
  (void)where;
  return 0;
#endif
}

void on_overflow(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  const int descriptor = info->si_fd;
  if (descriptor >= 0) {
    for (uint32_t i = 0; i < kRoutes; ++i) {
      Route& route = routes[(static_cast<uint32_t>(descriptor) + i) % kRoutes];
      const int found = route.descriptor.load(std::memory_order_acquire);
      if (found == -1) break;
      if (found != descriptor) continue;
      const uint32_t before = route.sequence.load(std::memory_order_acquire);
      const SampleSink sink{route.call.load(std::memory_order_acquire),
                            route.owner.load(std::memory_order_acquire)};
      const Sample sample{program_counter(context), route.mask.load(std::memory_order_acquire), context};
      if (before != route.sequence.load(std::memory_order_acquire)) break;  // just disarmed
      if (sink.call != nullptr) sink.call(sink.owner, &sample);
      break;
    }
  }
  errno = saved;
}

// A free place is -1 where a search may end, -2 where a removed route was and searches go on.
constexpr int kNever = -1, kRemoved = -2;

}  // namespace

int hold_overflow_signal() noexcept {
  const std::lock_guard<std::mutex> guard(lock());
  if (holders == 0) {
    // A realtime signal that is not in use: each overflow is queued by itself and carries its descriptor.
    int found = 0;
    for (int signal = SIGRTMIN + 2; signal <= SIGRTMAX && found == 0; ++signal) {
      struct sigaction now;
      if (::sigaction(signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
          now.sa_handler == SIG_DFL)
        found = signal;
    }
    if (found == 0) return -EBUSY;
    struct sigaction action = {};
    action.sa_sigaction = on_overflow;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (::sigaction(found, &action, &previous) != 0) return -errno;
    overflow_signal = found;
  }
  ++holders;
  return overflow_signal;
}

void release_overflow_signal() noexcept {
  const std::lock_guard<std::mutex> guard(lock());
  if (holders == 0 || --holders != 0) return;
  // Ignoring discards what is still queued; the restored default would end the process with it.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(overflow_signal, &ignore, nullptr);
  ::sigaction(overflow_signal, &previous, nullptr);
  overflow_signal = 0;
  for (Route& route : routes) route.descriptor.store(kNever, std::memory_order_release);
}

bool add_route(int descriptor, const SampleSink& sink, uint64_t mask) noexcept {
  const std::lock_guard<std::mutex> guard(lock());
  for (uint32_t i = 0; i < kRoutes; ++i) {
    Route& route = routes[(static_cast<uint32_t>(descriptor) + i) % kRoutes];
    const int found = route.descriptor.load(std::memory_order_relaxed);
    if (found != kNever && found != kRemoved) continue;
    route.sequence.fetch_add(1, std::memory_order_release);
    route.call.store(sink.call, std::memory_order_release);
    route.owner.store(sink.owner, std::memory_order_release);
    route.mask.store(mask, std::memory_order_release);
    route.descriptor.store(descriptor, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_route(int descriptor) noexcept {
  const std::lock_guard<std::mutex> guard(lock());
  for (uint32_t i = 0; i < kRoutes; ++i) {
    Route& route = routes[(static_cast<uint32_t>(descriptor) + i) % kRoutes];
    const int found = route.descriptor.load(std::memory_order_relaxed);
    if (found == kNever) return;
    if (found != descriptor) continue;
    route.sequence.fetch_add(1, std::memory_order_release);
    route.call.store(nullptr, std::memory_order_release);
    route.descriptor.store(kRemoved, std::memory_order_release);
    return;
  }
}

}  // namespace substrata::perf
