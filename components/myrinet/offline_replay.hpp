// A logged parallel program run again on one cluster, and what its interfaces' monitors keep of it by phase.
#pragma once

#include <substrata/myrinet.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "myrinet/driver.hpp"
#include "myrinet/operations.hpp"
#include "myrinet/packet_counters.hpp"
#include "myrinet/recorder.hpp"

namespace substrata::myrinet {

// Gives the driver the operations of a log. Thread-compatible. The statistics have the program tags of
// MonitorMemory as phases.
class OfflineReplay final : private OperationSource, private StageWatch {
 public:
  using Operations = std::span<const substrata_myrinet_operation>;
  static Shape shape_of(std::uint32_t nodes, std::uint32_t phases);

  // `phases` up to kMostPrograms. May throw std::bad_alloc.
  OfflineReplay(const ClusterParameters& parameters, std::uint32_t phases);
  OfflineReplay(const OfflineReplay&) = delete;
  OfflineReplay& operator=(const OfflineReplay&) = delete;
  // To the last delivery, once. One program a node, all of it right: other ends and phases that exist.
  void run(std::vector<Operations> programs);

  // SUBSTRATA_MYRINET_ALL: together.
  substrata_myrinet_counts counts(std::uint32_t node, std::uint32_t phase) const noexcept;
  const MonitorMemory& memory() const noexcept { return memory_; }
  const OperationMemory& operations() const noexcept { return operations_; }
  substrata_myrinet_outcome outcome() const noexcept;

 private:
  bool next(std::uint32_t node, ProcessOperation* out) override;
  void stage(std::uint32_t node, const substrata_transaction& stage) noexcept override;
  void ended(std::uint32_t node, const substrata_transaction& operation) noexcept override;
  void number_collectives(const std::vector<Operations>& programs);

  const std::uint32_t nodes_;
  const std::uint32_t phases_;
  MonitorMemory memory_;
  OperationMemory operations_;
  struct Collective {
    std::uint64_t number = 0;  // from 1, in the order of the logs
    std::uint64_t messages = 0;
  };
  std::unordered_map<std::uint64_t, Collective> collectives_;  // by group and number in the log
  std::vector<PacketSums> sums_;                               // by node, then phase
  Driver driver_;
  std::vector<Operations> left_;  // of each node's program
  bool exhausted_ = false;        // no memory for a node's statistics
};

}  // namespace substrata::myrinet
