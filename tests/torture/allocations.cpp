// malloc and its relatives, over those of the GNU C library.
#include "allocations.hpp"

#include <execinfo.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "torture.hpp"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* block);
}

namespace substrata::torture {
namespace {

// In the program itself: needs no allocation at a thread's first access.
constinit thread_local std::int64_t made = 0;
constinit thread_local std::int64_t failing_from = 0;
constinit thread_local Failing failing = Failing::kNone;
constinit std::atomic<std::int64_t> living{0};
constinit bool shown = false;
constinit thread_local std::uint64_t* stacks = nullptr;
constinit thread_local std::int64_t stacks_wanted = 0;

_Unwind_Reason_Code mix(_Unwind_Context* context, void* number) noexcept {
  std::uint64_t& so_far = *static_cast<std::uint64_t*>(number);
  so_far = (so_far ^ _Unwind_GetIP(context)) * 0x9e3779b97f4a7c15;
  so_far ^= so_far >> 29;
  return _URC_NO_REASON;
}
std::uint64_t number_of_call_stack() noexcept {
  std::uint64_t number = 0;
  _Unwind_Backtrace(mix, &number);
  return number;
}

[[maybe_unused]] bool fails() noexcept {
  const std::int64_t now = made++;
  if (failing == Failing::kNone) [[likely]] {
    if (now < stacks_wanted) {
      const std::int64_t wanted = std::exchange(stacks_wanted, 0);
      stacks[now] = number_of_call_stack();
      stacks_wanted = wanted;
    }
    return false;
  }
  if (failing == Failing::kOnce ? now != failing_from : now < failing_from) return false;
  if (left_to_hwloc()) return false;
  if (shown && now == failing_from) {
    const Failing how = std::exchange(failing, Failing::kNone);
    void* callers[40];
    backtrace_symbols_fd(callers, backtrace(callers, 40), 2);
    made = now + 1;
    failing = how;
  }
  errno = ENOMEM;
  return true;
}

[[maybe_unused]] void* counted(void* block) noexcept {
  if (block != nullptr) living.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

void fail_allocation(std::int64_t n, Failing how) noexcept {
  made = 0;
  failing_from = n;
  failing = how;
}
void number_call_stacks(std::uint64_t* numbers, std::int64_t places) noexcept {
  number_of_call_stack();  // its first use allocates
  stacks = numbers;
  stacks_wanted = numbers != nullptr ? places : 0;
}
void show_failing_allocation(bool show) noexcept { shown = show; }
std::int64_t allow_allocations() noexcept {
  failing = Failing::kNone;
  return made;
}
std::int64_t living_blocks() noexcept { return living.load(std::memory_order_relaxed); }

}  // namespace substrata::torture

using namespace substrata::torture;

// A sanitizer brings its own allocator, which nothing here replaces: no allocation fails then, and none is counted.
#ifndef TORTURE_SANITIZED
extern "C" {

void* malloc(size_t bytes) noexcept { return fails() ? nullptr : counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) noexcept {
  return fails() ? nullptr : counted(__libc_calloc(count, bytes));
}
void* realloc(void* block, size_t bytes) noexcept {
  if (fails()) return nullptr;
  void* const moved = __libc_realloc(block, bytes);
  if (block == nullptr) return counted(moved);
  if (moved == nullptr && bytes == 0) living.fetch_sub(1, std::memory_order_relaxed);
  return moved;
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  return fails() ? nullptr : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  void* const block = memalign(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
void free(void* block) noexcept {
  if (block == nullptr) return;
  living.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}

}  // extern "C"
#endif
