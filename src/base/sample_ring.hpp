// The kernel's ring of sampled events: records taken out, the oldest first.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace substrata {

// A mapping of perf_event_open's: its first page and the data behind it. One reader at a time. Signal-safe.
struct SampleRing {
  perf_event_mmap_page* page;
  const unsigned char* data;  // page->data_size bytes

  static SampleRing of(perf_event_mmap_page* page) noexcept {
    return {page, reinterpret_cast<const unsigned char*>(page) + page->data_offset};
  }

  // Where the newest record ends, for take().
  uint64_t head() const noexcept { return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE); }
  void clear() const noexcept { give_back(head()); }
  // What lies before `tail` was read.
  void give_back(uint64_t tail) const noexcept { __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE); }

  // Takes out the oldest record before `head`: `capacity` bytes of it at most, its perf_event_header first.
  // The record's size, or 0 when there is none.
  size_t take(uint64_t head, void* to, size_t capacity) const noexcept {
    const uint64_t tail = page->data_tail;
    if (tail >= head) return 0;
    perf_event_header header{};
    const uint64_t bytes = head - tail;
    if (bytes >= sizeof header && bytes <= page->data_size) copy(&header, tail, sizeof header);
    if (header.size < sizeof header || header.size > bytes) {
      give_back(head);
      return 0;
    }
    copy(to, tail, std::min<size_t>(capacity, header.size));
    give_back(tail + header.size);
    return header.size;
  }

 private:
  // A record may lie across the end of the data.
  void copy(void* to, uint64_t at, size_t bytes) const noexcept {
    const uint64_t begin = at % page->data_size;
    const size_t first = static_cast<size_t>(std::min<uint64_t>(bytes, page->data_size - begin));
    std::memcpy(to, data + begin, first);
    std::memcpy(static_cast<unsigned char*>(to) + first, data, bytes - first);
  }
};

// PERF_RECORD_LOST: samples that did not fit.
struct LostSamples {
  perf_event_header header;
  uint64_t id;
  uint64_t lost;
};

}  // namespace substrata
