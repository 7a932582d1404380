// What the preloaded library counts for each thread, and how the substrate finds it: the one symbol that both know.
#pragma once

#include <atomic>
#include <cstdint>

namespace substrata::appio {

// Totals of a thread since it began, times in ns. First what is counted of a transfer, then where the counters of each
// kind of transfer begin.
enum Counter : uint32_t {
  kBytes,
  kCalls,
  kErrors,
  kInterrupted,
  kWouldBlock,
  kShort,
  kEnds,
  kWanted,
  kTime,
  kCallCounts,
  kRead = 0,
  kWrite = kRead + kCallCounts,
  kReceive = kWrite + kCallCounts,
  kSocketRead = kReceive + kCallCounts,
  kSocketWrite = kSocketRead + kCallCounts,
  kOpenCalls = kSocketWrite + kCallCounts,
  kOpenErrors,
  kSelectTime,
  kSeekCalls,
  kSeekDistance,
  kSeekTime,
  kCounters
};

// Lives as long as the process; passes from a thread that has ended to one that begins, and is never set back.
struct Counters {
  std::atomic<int64_t> of[kCounters];
};

struct Table {
  uint32_t version;
  Counters* (*mine)() noexcept;            // of the calling thread; null where memory is exhausted
  const std::atomic<int64_t>* open_files;  // opened less closed, of the process
};
inline constexpr uint32_t kVersion = 1;
inline constexpr const char* kTableSymbol = "substrata_appio_table";

// A library that is preloaded beside this one and has a function of this name is given each transfer: its kind (kRead,
// kWrite or kReceive), its descriptor, the bytes that came or 0, how long it took, and the code that called.
extern "C" void substrata_appio_transfer(uint32_t kind, int file, bool is_socket, int64_t bytes,
                                         int64_t took_ns, const void* site);

}  // namespace substrata::appio
