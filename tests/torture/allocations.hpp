// The C library's allocator with a switch that makes it fail. The program's own definitions are used by every library
// in it.
#pragma once

#include <cstdint>

namespace substrata::torture {

enum class Failing { kNone, kOnce, kFromThen };
// From now on the calling thread's n-th allocation fails (n counts from 0), or every one from it on.
void fail_allocation(std::int64_t n, Failing how) noexcept;
// From now on the calling thread's allocations leave a number here that stands for their call stack, as many as there
// is place for; null: no more.
void number_call_stacks(std::uint64_t* numbers, std::int64_t places) noexcept;
// Whether the first failing allocation writes its callers to standard error.
void show_failing_allocation(bool show) noexcept;
// No allocation fails any more; gives how many allocations the thread has made since.
std::int64_t allow_allocations() noexcept;
// Blocks allocated and not freed, by all threads.
std::int64_t living_blocks() noexcept;

}  // namespace substrata::torture
