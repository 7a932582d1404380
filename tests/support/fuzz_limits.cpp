// What every fuzz target is held to: 64 MiB and 16 times the input of memory, 1 s of processor time for each MiB of
// the input or part of it. Stands between libFuzzer and the target, whose function substrata_fuzzer() renames.
#include <sanitizer/allocator_interface.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" int fuzz_one_input(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::int64_t kBytes = std::int64_t{64} << 20, kBytesForEach = 16;
constexpr std::int64_t kSecond = 1'000'000'000, kMebibyte = 1 << 20;

// What is allocated since the input was begun, and the most of it so far.
std::atomic<std::int64_t> living{0}, most{0};

void count_block(const volatile void* block, std::size_t) {
  const auto bytes =
      static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
  const std::int64_t now = living.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (now > most.load(std::memory_order_relaxed)) most.store(now, std::memory_order_relaxed);
}

void count_freed(const volatile void* block) {
  if (block == nullptr) return;
  const auto bytes =
      static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
  living.fetch_sub(bytes, std::memory_order_relaxed);
}

std::int64_t processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * kSecond + now.tv_nsec;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool counting = __sanitizer_install_malloc_and_free_hooks(count_block, count_freed) != 0;
  living = 0;
  most = 0;
  const std::int64_t begin = processor_time();
  const int result = fuzz_one_input(data, size);
  const std::int64_t took = processor_time() - begin;
  const auto bytes = static_cast<std::int64_t>(size);
  if (counting && most > kBytes + kBytesForEach * bytes) {
    std::fprintf(stderr, "an input of %zu bytes took %lld bytes of memory\n", size,
                 static_cast<long long>(most.load()));
    std::abort();
  }
  if (took > kSecond * (bytes / kMebibyte + 1)) {
    std::fprintf(stderr, "an input of %zu bytes took %.1f s\n", size, static_cast<double>(took) / kSecond);
    std::abort();
  }
  return result;
}
