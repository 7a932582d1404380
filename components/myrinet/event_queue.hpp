// The events of one cluster by time; equal times in the order they came.
#ifndef SUBSTRATA_MYRINET_EVENT_QUEUE_HPP
#define SUBSTRATA_MYRINET_EVENT_QUEUE_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cluster_parameters.hpp"

namespace substrata::myrinet {

// A heap of four children a node, whose entries are 16 bytes and a word. Thread-compatible.
class EventQueue {
 public:
  struct Event {
    Time at;
    std::uint64_t order;
    std::uint32_t packet;
    std::uint32_t kind;
  };
  bool empty() const noexcept { return heap_.empty(); }
  Time next() const noexcept { return heap_.empty() ? kNever : heap_.front().at; }
  void push(Time at, std::uint32_t kind, std::uint32_t packet) {
    heap_.push_back({});
    std::size_t hole = heap_.size() - 1;
    const Event made{at, order_++, packet, kind};
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!before(made, heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = made;
  }
  Event pop() noexcept {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    std::size_t hole = 0;
    for (;;) {
      const std::size_t begin = hole * 4 + 1;
      if (begin >= heap_.size()) break;
      const std::size_t end = std::min(begin + 4, heap_.size());
      std::size_t least = begin;
      for (std::size_t child = begin + 1; child < end; ++child)
        if (before(heap_[child], heap_[least])) least = child;
      if (!before(heap_[least], last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
    return first;
  }

 private:
  static bool before(const Event& a, const Event& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.order < b.order;
  }
  std::vector<Event> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace substrata::myrinet

#endif
