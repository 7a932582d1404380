// A memory of shared pages in one process: its views, their protection, and what was stored to since the last
// synchronisation.
#pragma once

#include <substrata/shared_pages.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <substrata/feed.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sources/shared_memory/segment.hpp"

namespace substrata::pages {

enum class PageState : uint8_t { kInvalid, kReadable, kWritable };

inline uint64_t raw_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

// What a fault did, kept until the next synchronisation: nothing may be published from a signal handler.
struct Done {
  uint64_t begin;
  uint64_t end;
  uint32_t page;
  uint16_t kind;
};

enum class Access { kRead, kWrite, kUnknown };

class Mapping {
 public:
  Mapping() = default;
  ~Mapping() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool map(size_t bytes, int protection, int flags, int descriptor) {
    void* const memory = mmap(nullptr, bytes, protection, flags, descriptor, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<unsigned char*>(memory);
    bytes_ = bytes;
    madvise(memory_, bytes_, MADV_DONTFORK);
    return true;
  }
  unsigned char* at(uint64_t offset) const noexcept { return memory_ + offset; }

 private:
  unsigned char* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace substrata::pages

struct substrata_shared_pages {
  substrata_shared_pages(std::unique_ptr<substrata::pages::Segment> joined,
                         const substrata::pages::Geometry& shape, uint32_t number)
      : segment(std::move(joined)),
        geometry(shape),
        process(number),
        owner(getpid()),
        states(shape.pages, substrata::pages::PageState::kInvalid),
        seen(shape.pages, 0) {
    // Between two synchronisations a page is fetched once and gets one twin.
    for (std::vector<substrata::pages::Done>* each : {&done, &ended_done}) each->reserve(2 * shape.pages);
    for (std::vector<uint32_t>* each : {&stored, &ended_stored, &outdated}) each->reserve(2 * shape.pages);
  }

  bool is_home(uint64_t page) const noexcept { return geometry.home(page) == process; }

  int map_views(const std::string& name);
  int open_publisher();
  bool covers(const void* address) const noexcept {
    const auto* const byte = static_cast<const unsigned char*>(address);
    return byte >= view.at(0) && byte < view.at(0) + geometry.bytes();
  }
  // In the signal handler. False: not ours to mend.
  bool serve(const void* address, substrata::pages::Access access) noexcept;
  void release();
  void acquire();
  void publish(uint16_t kind, uint64_t begin, uint64_t end, uint64_t page, uint64_t bytes,
               uint64_t detail = 0);
  template <typename Wait>
  int synchronise(uint16_t kind, uint64_t detail, const Wait& wait);

  const std::unique_ptr<substrata::pages::Segment> segment;
  const substrata::pages::Geometry geometry;
  const uint32_t process;
  const pid_t owner;
  substrata::pages::Mapping view;   // what the program uses: protected; at home pages the home copy itself
  substrata::pages::Mapping copy;   // the same private memory, always open
  substrata::pages::Mapping twins;  // of pages that were stored to
  std::vector<substrata::pages::PageState> states;
  std::vector<uint32_t> seen;                // the home copy's version when it was fetched
  std::vector<uint32_t> stored;              // pages that were stored to in this interval
  std::vector<substrata::pages::Done> done;  // what faults did in it
  // Of the interval that is being ended; for the functions alone.
  std::vector<uint32_t> ended_stored;
  std::vector<substrata::pages::Done> ended_done;
  std::vector<uint32_t> outdated;
  substrata_shared_pages_counts counts{};
  substrata::client::feed::Publisher publisher;
  // Between threads that fault and one that synchronises: a spin lock, because it is taken in a signal
  // handler.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::mutex calls;  // the functions, one at a time

 private:
  bool protect(uint64_t page, int protection, uint64_t pages = 1) const noexcept {
    return mprotect(view.at(page * geometry.page_bytes), pages * geometry.page_bytes, protection) == 0;
  }
  void enter() noexcept {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  void leave() noexcept { busy.clear(std::memory_order_release); }
  uint64_t send_diff(uint64_t page) noexcept;
  uint64_t end_stores(uint64_t page) noexcept;
};

namespace substrata::pages {

// From now on faults in the memory are served, until unwatch(). 0, or refused with a message.
int watch(substrata_shared_pages* pages);
void unwatch(substrata_shared_pages* pages);

}  // namespace substrata::pages
