// The firmware monitors of all interfaces of this process: statistics by node and program, started and
// stopped on the fly.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "myrinet/probes.hpp"
#include "myrinet/statistics.hpp"

namespace substrata::myrinet {

// The statistics, without the feed. Thread-compatible.
class MonitorMemory {
 public:
  explicit MonitorMemory(const Shape& shape);
  // A stage of a packet as it is sorted.
  struct Stage {
    Statistics* cell;
    int64_t ps;
    uint32_t bytes;
    uint8_t latency;
    uint8_t peer;
    uint8_t type;
  };
  static_assert(kMostNodes <= 256 && kTypes <= 256, "numbers of eight bits");
  // False: it belongs to no latency, or is beyond the shape and counted as left out. The cell is null where the
  // node has no statistics yet.
  bool sort(uint32_t node, const substrata_transaction& stage, Stage* out) noexcept {
    const int latency = latency_of(stage.state);
    if (latency < 0 || stage.kind != SUBSTRATA_PACKET || (stage.flags & kNotMonitored) != 0) return false;
    const Shape& shape = layout_.shape();
    out->ps = static_cast<int64_t>(stage.time - stage.start);
    out->bytes = stage.size;
    const uint32_t peer = latency <= SUBSTRATA_MYRINET_LANAI ? stage.target : stage.initiator;
    const uint32_t type = type_of(stage.detail);
    if (node >= shape.nodes || peer >= shape.nodes || stage.program >= shape.programs || type >= kTypes)
        [[unlikely]] {
      ++left_out_;
      return false;
    }
    out->latency = static_cast<uint8_t>(latency);
    out->peer = static_cast<uint8_t>(peer);
    out->type = static_cast<uint8_t>(type);
    out->cell = cells_[size_t{node} * shape.programs + stage.program].get();
    return true;
  }
  // One stage of a packet, seen at the interface of `node`. It is in the statistics after settle() at the
  // latest: stages wait until there are enough of them to be sorted in one go.
  void take(uint32_t node, const substrata_transaction& stage) {
    Stage& one = wait_[waiting_];
    if (!sort(node, stage, &one)) return;
    if (one.cell == nullptr) return take_first(node, stage);
    count_packet(one);
    if (++waiting_ == kWait) settle();
  }
  void count_packet(const Stage& stage) noexcept {
    packets_ += stage.latency == SUBSTRATA_MYRINET_SOURCE ? 1 : 0;
  }
  // Made if it is new. May throw std::bad_alloc, and the stage for which it was to be made is lost.
  [[gnu::cold, gnu::noinline]] Statistics& made(uint32_t node, uint32_t program);
  // Every stage taken is in the statistics.
  void settle() noexcept;
  void clear() noexcept;
  const Shape& shape() const noexcept { return layout_.shape(); }
  const Layout& layout() const noexcept { return layout_; }
  // Null where nothing was recorded.
  const Statistics* of(uint32_t node, uint32_t program) const noexcept {
    return cells_[size_t{node} * shape().programs + program].get();
  }
  uint64_t packets() const noexcept { return packets_; }
  uint64_t left_out() const noexcept { return left_out_; }

 private:
  // Of a node without statistics. Apart, so that take() need not keep anything over a call.
  [[gnu::cold, gnu::noinline]] void take_first(uint32_t node, const substrata_transaction& stage) {
    made(node, stage.program);
    take(node, stage);
  }
  const Layout layout_;
  std::vector<std::unique_ptr<Statistics>> cells_;  // made by the first packet
  // What so many change are some two hundred cache lines: the processor's first cache has them from one loop
  // to the next.
  static constexpr uint32_t kWait = 64;
  std::array<Stage, kWait> wait_;
  uint32_t waiting_ = 0;
  uint64_t packets_ = 0;
  uint64_t left_out_ = 0;
};

// The signature over `axis` of some or all nodes and programs (SUBSTRATA_MYRINET_ALL): the points that have
// packets.
std::vector<substrata_myrinet_point> signature(const MonitorMemory& memory, uint32_t node, uint32_t program,
                                               substrata_myrinet_axis axis);
// The latency's histogram for one x of that axis; x must exist.
std::vector<uint64_t> histogram(const MonitorMemory& memory, uint32_t node, uint32_t program,
                                uint32_t latency, substrata_myrinet_axis axis, uint32_t x);

}  // namespace substrata::myrinet
