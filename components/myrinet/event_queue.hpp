// The events of one cluster by time; equal times in the order they came.
#ifndef SUBSTRATA_MYRINET_EVENT_QUEUE_HPP
#define SUBSTRATA_MYRINET_EVENT_QUEUE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster_parameters.hpp"

namespace substrata::myrinet {

// A heap of four children a node. An entry is one number of 128 bits, so that comparing two is comparing
// numbers: from the top 64 bits of time, 36 of the order of coming, 24 of the packet's place and 4 of the
// kind. Beyond 2^36 events the order of equal times begins anew. Thread-compatible.
class EventQueue {
 public:
  static constexpr std::uint32_t kMostPackets = 1u << 24;
  static constexpr std::uint32_t kMostKinds = 1u << 4;
  struct Event {
    Time at;
    std::uint32_t packet;
    std::uint32_t kind;
  };
  bool empty() const noexcept { return heap_.empty(); }
  Time next() const noexcept { return heap_.empty() ? kNever : time_of(heap_.front()); }
  // Packet and kind are below the most.
  void push(Time at, std::uint32_t kind, std::uint32_t packet) {
    const Entry made = static_cast<Entry>(at) << 64 |
                       (order_++ << kOrderShift | std::uint64_t{packet} << kPacketShift | kind);
    std::size_t hole = heap_.size();
    heap_.push_back(made);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (heap_[parent] < made) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = made;
  }
  Event pop() noexcept {
    const Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    const auto rest = static_cast<std::uint64_t>(first);
    return {time_of(first), static_cast<std::uint32_t>(rest >> kPacketShift) & (kMostPackets - 1),
            static_cast<std::uint32_t>(rest) & (kMostKinds - 1)};
  }

 private:
  __extension__ using Entry = unsigned __int128;
  static constexpr unsigned kPacketShift = 4;
  static constexpr unsigned kOrderShift = 28;
  static Time time_of(Entry entry) noexcept { return static_cast<Time>(entry >> 64); }

  // The root is empty: the entry goes down from there.
  void sink(Entry entry) noexcept {
    Entry* const heap = heap_.data();
    const std::size_t size = heap_.size();
    std::size_t hole = 0;
    std::size_t begin = 1;
    for (; begin + 4 <= size; begin = hole * 4 + 1) {
      const std::size_t left = heap[begin + 1] < heap[begin] ? begin + 1 : begin;
      const std::size_t right = heap[begin + 3] < heap[begin + 2] ? begin + 3 : begin + 2;
      const std::size_t least = heap[right] < heap[left] ? right : left;
      if (entry < heap[least]) {
        heap[hole] = entry;
        return;
      }
      heap[hole] = heap[least];
      hole = least;
    }
    if (begin < size) {
      std::size_t least = begin;
      for (std::size_t child = begin + 1; child < size; ++child)
        if (heap[child] < heap[least]) least = child;
      if (heap[least] < entry) {
        heap[hole] = heap[least];
        hole = least;
      }
    }
    heap[hole] = entry;
  }

  std::vector<Entry> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace substrata::myrinet

#endif
