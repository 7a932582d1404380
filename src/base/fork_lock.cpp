// The list of all locks that a forked child must renew, and the gate before them while a fork waits.
#include "base/fork_lock.hpp"

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/pause.hpp"

namespace substrata {
namespace {

constexpr pthread_mutex_t kUnlocked = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

struct List {
  pthread_mutex_t mutex = kUnlocked;
  ForkLock* first = nullptr;
};
// Constant-initialised and trivially destroyed: usable before and after every other static object.
constinit List list;
constinit std::atomic<int> forks{0};  // that wait or happen; the gate is open at 0
// The locks that the calling thread holds or waits for.
constinit thread_local int held __attribute__((tls_model("initial-exec"))) = 0;

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr int64_t kLongestWait = kNanosecondsPerSecond;

int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

}  // namespace

class ForkGate {
 public:
  // The list stays locked until after the fork.
  static void close() noexcept {
    forks.fetch_add(1);
    ++held;  // other libraries' handlers in this thread pass
    const int64_t deadline = now_ns() + kLongestWait;
    pthread_mutex_lock(&list.mutex);
    for (Pause pause; !all_free() && now_ns() < deadline;) {
      pthread_mutex_unlock(&list.mutex);
      pause.once();
      pthread_mutex_lock(&list.mutex);
    }
  }
  static void open() noexcept {
    pthread_mutex_unlock(&list.mutex);
    --held;
    if (forks.fetch_sub(1) == 1) forks.notify_all();
  }
  static void open_in_child() noexcept {
    // The child's thread is another than the one that locked it, so this is refused; but a thread sanitizer
    // would take it for locked if it saw no unlocking.
    pthread_mutex_unlock(&list.mutex);
    list.mutex = kUnlocked;
    for (ForkLock* lock = list.first; lock != nullptr; lock = lock->next_) lock->make();
    --held;
    forks.store(0);
  }
  static void wait() noexcept {
    for (int waiting = forks.load(); waiting != 0; waiting = forks.load()) forks.wait(waiting);
  }

 private:
  static bool all_free() noexcept {
    for (ForkLock* lock = list.first; lock != nullptr; lock = lock->next_) {
      if (pthread_mutex_trylock(&lock->mutex_) != 0) return false;
      pthread_mutex_unlock(&lock->mutex_);
    }
    return true;
  }
};

namespace {

[[maybe_unused]] const int at_forks =
    pthread_atfork(ForkGate::close, ForkGate::open, ForkGate::open_in_child);

}  // namespace

void ForkLock::make() noexcept {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

ForkLock::ForkLock() noexcept {
  make();
  pthread_mutex_lock(&list.mutex);
  next_ = list.first;
  link_ = &list.first;
  if (next_ != nullptr) next_->link_ = &next_;
  list.first = this;
  pthread_mutex_unlock(&list.mutex);
}

ForkLock::~ForkLock() {
  pthread_mutex_lock(&list.mutex);
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  pthread_mutex_unlock(&list.mutex);
  pthread_mutex_destroy(&mutex_);
}

// The look at the gate comes after the lock: a fork that has found the lock free before is seen then.
void ForkLock::lock() noexcept {
  const bool outermost = held++ == 0;
  pthread_mutex_lock(&mutex_);
  while (outermost && forks.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      pthread_mutex_unlock(&mutex_);
      ForkGate::wait();
      pthread_mutex_lock(&mutex_);
    }
}

void ForkLock::unlock() noexcept {
  pthread_mutex_unlock(&mutex_);
  --held;
}

bool ForkLock::try_lock() noexcept {
  if (pthread_mutex_trylock(&mutex_) != 0) return false;
  if (held++ == 0 && forks.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    unlock();
    return false;
  }
  return true;
}

}  // namespace substrata
