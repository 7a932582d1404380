// The firmware monitors of all interfaces of this process: statistics by node and program, started and
// stopped on the fly.
#ifndef SUBSTRATA_MYRINET_RECORDER_HPP
#define SUBSTRATA_MYRINET_RECORDER_HPP

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
  // One stage of a packet, seen at the interface of `node`.
  void take(uint32_t node, const substrata_transaction& stage);
  void clear() noexcept;
  const Shape& shape() const noexcept { return shape_; }
  // Null where nothing was recorded.
  const Statistics* of(uint32_t node, uint32_t program) const noexcept {
    return cells_[size_t{node} * shape_.programs + program].get();
  }
  uint64_t packets() const noexcept { return packets_; }
  uint64_t left_out() const noexcept { return left_out_; }

 private:
  const Shape shape_;
  std::vector<std::unique_ptr<Statistics>> cells_;  // made by the first packet
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
