// Histograms and packet records in host memory, with the interfaces' memory as a cache in front of them.
#pragma once

#include <substrata/myrinet.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/counting/counter.hpp"
#include "myrinet/recorder.hpp"
#include "myrinet/ring.hpp"

namespace substrata::myrinet {

// What of one interface's memory the store takes, and of the host's.
struct HostLayout {
  uint32_t cache_lines = 256;  // of counts that the host has not seen
  uint32_t trace_buffer = 0;   // packet records on their way to the host; 0: no trace
  uint32_t trace_ring = 0;     // packet records of one interface that the host keeps

  // What is wrong with it. Empty: nothing. The size of the interface's memory is not looked at.
  std::string objection() const;
  // The sums of all rows, the cache and the records.
  uint64_t interface_bytes(const Shape& shape) const noexcept;
  // Counts of one interface and its ring of records.
  uint64_t host_bytes(const Shape& shape) const noexcept;
};

// What is counted of every store of this process.
enum HostCount : uint32_t { kWriteBacks, kForcedWriteBacks, kTraceRecords, kTraceDropped };
inline constexpr uint32_t kHostCounts = kTraceDropped + 1;
// Of one interface, or of all (kMostNodes). Lives as long as the process; looked at from any thread.
const counting::Counter* host_counter(uint32_t node, HostCount count) noexcept;

// The monitors of all interfaces of one cluster when their histograms are in host memory (the paper's section
// 6). Sums stay on the interface. A count goes into a line of the interface's cache: so many counts that lie
// one after the other, as increments since the line was last written back, so that no line is ever fetched
// from the host. Written back is the line that was begun first: when the interface is idle and half of the
// lines are in use, or when a further line is needed and none is free. Thread-safe.
class HostStore {
 public:
  static constexpr uint32_t kLineCounts = 16;
  // Moved by one DMA: the counts and which they are; and so many packet records. Both below 128 bytes, where
  // the paper has measured 4 us.
  static constexpr uint32_t kLineBytes = kLineCounts * 4 + 8;
  static constexpr uint32_t kRecordBytes = 40;
  static constexpr uint32_t kRecordsAtOnce = 3;

  // Of an admissible layout and shape.
  HostStore(const Shape& shape, const HostLayout& layout);
  const HostLayout& layout() const noexcept { return layout_; }
  uint32_t nodes() const noexcept { return memory_.shape().nodes; }

  // Nothing is kept before the first start.
  void record(bool on) noexcept { recording_.store(on, std::memory_order_relaxed); }
  bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  // What had to be moved before a stage could be kept.
  struct Forced {
    uint32_t lines = 0;
    uint32_t groups = 0;  // of records
  };
  // One stage of a packet at the interface of `node`; earlier_ns is the latency before it on the same side.
  // May throw std::bad_alloc.
  Forced keep(uint32_t node, const substrata_transaction& stage, int64_t earlier_ns);
  // Is there anything to move when the interface is idle?
  bool waits(uint32_t node) const;
  // Moves it; gives the bytes of the DMA. Of an interface that waits.
  uint32_t move(uint32_t node);

  // What readers see: the host's memory, once it has fetched what the interfaces' caches hold. The fetching
  // takes no modelled time.
  template <typename Function>
  auto with_memory(Function&& function) {
    const std::lock_guard lock(mutex_);
    fetch();
    MonitorMemory* const memory = &memory_;
    return function(memory);
  }
  void clear();
  // Of one node or all. The struct_size stays.
  void counts(uint32_t node, substrata_myrinet_host_counts* out) const;
  // Takes the oldest records of a node: out of the ring, then out of its interface. Gives how many.
  uint32_t read_trace(uint32_t node, substrata_myrinet_packet* out, uint32_t most);

 private:
  struct Line {
    uint64_t number = 0;
    std::array<uint32_t, kLineCounts> increments{};
  };
  struct Interface {
    std::vector<Line> lines;  // a ring of those in use
    uint32_t first = 0;
    uint32_t used = 0;
    std::unordered_map<uint64_t, uint32_t> places;  // by number
    Ring<substrata_myrinet_packet> records;
    Ring<substrata_myrinet_packet> host;
    substrata_myrinet_host_counts counts{};
  };
  void count_one(uint32_t node, uint32_t program, uint32_t word, Forced* forced);
  void write_back(uint32_t node);
  void fetch();
  uint32_t move_records(uint32_t node);
  void trace(uint32_t node, const substrata_transaction& stage, uint32_t latency, int64_t earlier_ns,
             Forced* forced);
  bool waits_locked(uint32_t node) const noexcept;

  const HostLayout layout_;
  const uint64_t lines_of_program_;
  std::atomic<bool> recording_{false};
  mutable std::mutex mutex_;
  MonitorMemory memory_;  // the host's counts, the interfaces' sums
  std::vector<Interface> interfaces_;
};

// The store of clusters that are made from now on; null: histograms are on the interfaces. Thread-safe.
void use_host_store(std::shared_ptr<HostStore> store) noexcept;
std::shared_ptr<HostStore> host_store() noexcept;

}  // namespace substrata::myrinet
