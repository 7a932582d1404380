// A logged parallel program run again on one cluster, and what its interfaces' monitors keep of it by phase.
#ifndef SUBSTRATA_MYRINET_OFFLINE_REPLAY_HPP
#define SUBSTRATA_MYRINET_OFFLINE_REPLAY_HPP

#include <substrata/myrinet.h>

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "cluster.hpp"
#include "recorder.hpp"

namespace substrata::myrinet {

// Thread-compatible. The statistics have the program tags of MonitorMemory as phases.
class OfflineReplay final : private Delivery, private StageWatch {
 public:
  using Operations = std::span<const substrata_myrinet_operation>;
  static Shape shape_of(std::uint32_t nodes, std::uint32_t phases);

  // `phases` up to kMostPrograms. May throw std::bad_alloc.
  OfflineReplay(const ClusterParameters& parameters, std::uint32_t phases);
  OfflineReplay(const OfflineReplay&) = delete;
  OfflineReplay& operator=(const OfflineReplay&) = delete;
  // To the last delivery, once. One program a node, all of it right: other ends and phases that exist.
  void run(std::span<const Operations> programs);

  // SUBSTRATA_MYRINET_ALL: together.
  substrata_myrinet_counts counts(std::uint32_t node, std::uint32_t phase) const noexcept;
  const MonitorMemory& memory() const noexcept { return memory_; }
  std::uint32_t nodes() const noexcept { return nodes_; }
  std::uint32_t phases() const noexcept { return phases_; }
  substrata_myrinet_outcome outcome() const noexcept;

 private:
  // A node's process.
  struct Process {
    Operations left;
    bool waits = false;  // for the message that its next operation receives
    Time since = 0;
  };
  void proceed(std::uint32_t node, Time now);
  void resume(std::uint32_t node, Time now);
  void perform(std::uint32_t node, Time now);
  bool give_up_one();
  std::uint64_t& pair(std::uint32_t from, std::uint32_t to) {
    return delivered_[std::size_t{from} * nodes_ + to];
  }

  // Of one node and phase, by the stage of their packets that gives the latency.
  struct Sums {
    std::uint64_t packets[kLatencies];
    std::uint64_t bytes[kLatencies];
    std::int64_t ns[kLatencies];
    std::uint64_t checksum_errors;
    std::uint64_t dropped;
    std::uint64_t misrouted;
    std::uint64_t bytes_lost;
  };
  [[gnu::cold, gnu::noinline]] static void count_fault(Sums& sums,
                                                       const substrata_transaction& stage) noexcept;

  void delivered(const Message& message, Time posted, Time now) override;
  void stage(std::uint32_t node, const substrata_transaction& stage) noexcept override;

  const std::uint32_t nodes_;
  const std::uint32_t phases_;
  MonitorMemory memory_;
  std::vector<Sums> sums_;  // by node, then phase
  Cluster cluster_;
  std::vector<Process> processes_;
  std::vector<std::uint64_t> delivered_;  // messages of each pair of nodes; they keep their order
  using Due = std::pair<Time, std::uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>>
      due_;  // next operation of each that does not wait
  Time first_due_ = kNever;
  std::uint64_t messages_ = 0;
  std::uint64_t unmatched_ = 0;
  bool exhausted_ = false;  // no memory for a node's statistics
};

}  // namespace substrata::myrinet

#endif
