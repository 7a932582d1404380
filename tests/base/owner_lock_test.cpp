// The lock that is cheap for one thread: it excludes all others, whatever the kernel allows them.
#include "base/owner_lock.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
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
// How often the thread gave its processor up by itself so far.
long times_given_up(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string key = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stol(line.substr(key.size()));
  return 0;
}

TEST(OwnerLock, StrangerSleepsWhileTheOwnerIsInside) {
  OwnerLock lock;
  lock.set_owner(substrata::this_thread_number());
  lock.lock();
  std::atomic<pid_t> thread{0};
  std::thread stranger([&] {
    thread = static_cast<pid_t>(syscall(SYS_gettid));
    lock.lock();
    lock.unlock();
  });
  while (thread == 0) std::this_thread::yield();
  const long before = times_given_up(thread);
  long sleeps = 0;
  for (int look = 0; look < 1000 && sleeps <= 5; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    sleeps = times_given_up(thread) - before;
  }
  lock.unlock();
  stranger.join();
  EXPECT_GT(sleeps, 5);
}

}  // namespace
