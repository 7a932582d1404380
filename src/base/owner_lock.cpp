// The rare sides of OwnerLock: threads other than the owner, and forked children.
#include "base/owner_lock.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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
  if (cheap_.load(std::memory_order_relaxed)) barrier_everywhere();
  while (busy_.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void OwnerLock::unlock_as_stranger() noexcept {
  stranger_lock_.unlock();
  strangers_.fetch_sub(1, std::memory_order_seq_cst);
}

void OwnerLock::renew_in_child() noexcept {
  // The lock itself is renewed with all others; here only what the vanished threads had marked.
  strangers_.store(0, std::memory_order_relaxed);
  if (owner() != this_thread_number()) busy_.store(0, std::memory_order_relaxed);
}

}  // namespace substrata
