// The rare sides of OwnerLock: threads other than the owner, and forked children.
#include "base/owner_lock.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pause.hpp"

namespace substrata {

constinit thread_local uint64_t thread_number_storage = 0;

uint64_t assign_thread_number() noexcept {
  static std::atomic<uint64_t> last{0};
  thread_number_storage = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_number_storage;
}

namespace {

// Every thread of the process passes a full barrier. False where the kernel refuses.
bool barrier_everywhere() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool register_barrier() noexcept {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
         barrier_everywhere();
}

}  // namespace

// Chosen once, before any set exists: registration with the kernel survives fork but not exec.
std::atomic<bool> OwnerLock::cheap_{register_barrier()};
std::atomic<bool> OwnerLock::barrier_{cheap_.load()};

void OwnerLock::pass_barrier() noexcept {
  if (!barrier_.load(std::memory_order_acquire) || barrier_everywhere()) return;
  // Refused from now on. An owner that has not seen the stranger made its plain store before, and a processor
  // keeps a store to itself for nanoseconds, not for a millisecond.
  cheap_.store(false, std::memory_order_seq_cst);
  const timespec until_stores_are_seen{0, 1'000'000};
  nanosleep(&until_stores_are_seen, nullptr);
  barrier_.store(false, std::memory_order_release);
}

void OwnerLock::wait_for_strangers() noexcept {
  // Step back, so that a stranger who waits for the owner gets in; then queue behind all who are there.
  busy_.store(0, std::memory_order_release);
  stranger_lock_.lock();
  busy_.store(1, std::memory_order_seq_cst);
  stranger_lock_.unlock();
}

void OwnerLock::lock_as_stranger() noexcept {
  strangers_.fetch_add(1, std::memory_order_seq_cst);
  stranger_lock_.lock();
  pass_barrier();
  for (Pause pause; busy_.load(std::memory_order_seq_cst) != 0;) pause.once();
}

void OwnerLock::unlock_as_stranger() noexcept {
  stranger_lock_.unlock();
  strangers_.fetch_sub(1, std::memory_order_seq_cst);
}

bool OwnerLock::renew_in_child() noexcept {
  // The lock itself is renewed with all others; here only what the vanished threads had marked.
  strangers_.store(0, std::memory_order_relaxed);
  return owner() == this_thread_number() || busy_.exchange(0, std::memory_order_relaxed) == 0;
}

}  // namespace substrata
