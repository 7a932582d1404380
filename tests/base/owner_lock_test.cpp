// The lock that is cheap for one thread: it excludes all others, whatever the kernel allows them.
#include "base/owner_lock.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "support/refused_call.hpp"

namespace {

using substrata::OwnerLock;

// How often two threads, one of them the owner, were inside at once. What they do inside has no barrier of its
// own, which would hide a missing one of the lock's; and before it enters the owner stores to memory that is in
// no cache, behind which its processor keeps the lock's store to itself for microseconds.
int overlaps() {
  OwnerLock lock;
  std::atomic<bool> ready{false}, done{false}, owner_inside{false}, stranger_inside{false};
  std::atomic<int> found{0};
  const auto enter = [&](std::atomic<bool>& mine, const std::atomic<bool>& others) {
    const std::lock_guard guard(lock);
    mine.store(true, std::memory_order_relaxed);
    for (int i = 0; i < 20; ++i) {
      if (others.load(std::memory_order_relaxed)) {
        found.fetch_add(1);
        break;
      }
    }
    mine.store(false, std::memory_order_relaxed);
  };
  std::thread owner([&] {
    lock.set_owner(substrata::this_thread_number());
    std::vector<uint64_t> far(size_t{1} << 22);
    uint64_t random = 1;
    ready = true;
    while (!done) {
      for (int i = 0; i < 40; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        far[random >> 42] = random;
      }
      enter(owner_inside, stranger_inside);
    }
  });
  while (!ready) std::this_thread::yield();
  for (int i = 0; i < 200000; ++i) enter(stranger_inside, owner_inside);
  done = true;
  owner.join();
  return found;
}

TEST(OwnerLock, ExcludesAlsoOnceMembarrierIsRefused) {
  EXPECT_EXIT(
      {
        if (!substrata::tests::refuse_system_call(SYS_membarrier)) _exit(100);
        _exit(overlaps() == 0 ? 0 : 1);
      },
      [](int status) {
        // Without filters of system calls there is nothing to find out.
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 100);
      },
      "");
}

TEST(OwnerLock, IsNotCheapAnyMoreOnceMembarrierIsRefused) {
  EXPECT_EXIT(
      {
        OwnerLock lock;
        const bool before = OwnerLock::cheap();
        if (!before || !substrata::tests::refuse_system_call(SYS_membarrier)) _exit(100);
        lock.lock();
        lock.unlock();
        _exit(OwnerLock::cheap() ? 1 : 0);
      },
      [](int status) {
        return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 100);
      },
      "");
}

// A thread of a real-time policy that only yields would keep its processor from the owner it waits for. Sleeping
// is seen by the number of times that the thread gave its processor up by itself.
TEST(OwnerLock, StrangerSleepsWhileTheOwnerIsInside) {
  OwnerLock lock;
  lock.set_owner(substrata::this_thread_number());
  lock.lock();
  std::atomic<bool> in{false};
  std::atomic<long> sleeps{0};
  std::thread stranger([&] {
    const auto given_up = [] {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_nvcsw;
    };
    const long before = given_up();
    in = true;
    lock.lock();
    sleeps = given_up() - before;
    lock.unlock();
  });
  while (!in) std::this_thread::yield();
  const timespec pause{0, 50'000'000};
  nanosleep(&pause, nullptr);
  lock.unlock();
  stranger.join();
  EXPECT_GT(sleeps, 5);
}

}  // namespace
