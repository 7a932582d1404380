// The firmware monitors of all interfaces of this process: statistics by node and program, started and
// stopped on the fly.
#ifndef SUBSTRATA_MYRINET_RECORDER_HPP
#define SUBSTRATA_MYRINET_RECORDER_HPP

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "probes.hpp"
#include "statistics.hpp"

namespace substrata::myrinet {

// The statistics, without the feed. Thread-compatible.
class MonitorMemory {
 public:
  explicit MonitorMemory(const Shape& shape);
  // One stage of a packet, seen at the interface of `node`. It is in the statistics after settle() at the
  // latest: a few stages wait until the processor's cache has what they change, since the statistics of some
  // nodes are larger than it and the lengths of packets are anything.
  void take(uint32_t node, const substrata_transaction& stage) {
    const int latency = latency_of(stage.state);
    if (latency < 0 || stage.kind != SUBSTRATA_PACKET) return;
    const bool sending = latency <= SUBSTRATA_MYRINET_LANAI;
    const uint32_t peer = sending ? stage.target : stage.initiator;
    const uint32_t type = type_of(stage.detail);
    if (node >= shape_.nodes || peer >= shape_.nodes || stage.program >= shape_.programs || type >= kTypes) {
      ++left_out_;
      return;
    }
    std::unique_ptr<Statistics>& cell = cells_[size_t{node} * shape_.programs + stage.program];
    if (cell == nullptr) make(cell);
    constexpr int64_t kPicosecondsPerNanosecond = 1000;
    const auto ps = static_cast<int64_t>(stage.time - stage.start);
    const Statistics::Sample sample =
        cell->sample(static_cast<uint32_t>(latency), stage.size, peer, type, ps / kPicosecondsPerNanosecond);
    cell->await(sample);
    if (waiting_ == kWait) settle();
    wait_[waiting_++] = {cell.get(), sample};
    if (latency == SUBSTRATA_MYRINET_SOURCE) ++packets_;
  }
  // Every stage taken is in the statistics.
  void settle() noexcept {
    for (uint32_t i = 0; i < waiting_; ++i) {
      const Waiting one = wait_[i];
      one.cell->add(one.sample);
    }
    waiting_ = 0;
  }
  void clear() noexcept;
  const Shape& shape() const noexcept { return shape_; }
  // Null where nothing was recorded.
  const Statistics* of(uint32_t node, uint32_t program) const noexcept {
    return cells_[size_t{node} * shape_.programs + program].get();
  }
  uint64_t packets() const noexcept { return packets_; }
  uint64_t left_out() const noexcept { return left_out_; }

 private:
  void make(std::unique_ptr<Statistics>& cell);
  const Shape shape_;
  std::vector<std::unique_ptr<Statistics>> cells_;  // made by the first packet
  struct Waiting {
    Statistics* cell;
    Statistics::Sample sample;
  };
  static constexpr uint32_t kWait = 16;
  std::array<Waiting, kWait> wait_;
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

#endif
