// The cluster as the network below shared virtual memory and message passing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"
#include "models/shared_virtual_memory/phases.hpp"
#include "models/shared_virtual_memory/places.hpp"
#include "models/shared_virtual_memory/svm_machine.hpp"
#include "myrinet/cluster.hpp"

namespace substrata::myrinet {

// What the host's software costs, picoseconds.
struct HostCosts {
  std::uint32_t header = 16;  // of a protocol's packet; data carry it in the network's header
  // A page goes straight into its place and may contain anything, so its receiver polls a word that follows
  // as a message of its own: VMMC has no receive operation and keeps the order of a pair's messages
  // (Blumrich et al., ISCA 1994).
  std::uint32_t flag = 4;
};

// Pages that move to who changes them, as the monitors see while the program runs (paper, section 6).
struct Migration {
  std::uint32_t after = 0;  // diffs of one node to a page; 0: none moves
  bool to_other = false;    // to the node after that one, for comparison
  std::uint64_t page_bytes = 4096;
  Time interrupt = 0;  // of the home's host, for each page
};

// The cluster of one run, or of several programs at once, each in a slot of its own. Used by one thread at a
// time.
class SharedCluster final : private Delivery {
 public:
  SharedCluster(const ClusterParameters& parameters, std::uint32_t programs)
      : cluster_(parameters, static_cast<Delivery&>(*this), true), arrived_(programs) {}
  Cluster& cluster() noexcept { return cluster_; }
  // The number of messages whose arrival is not waited for.
  static constexpr std::uint64_t kSilent = (std::uint64_t{1} << 56) - 1;
  // The cookie of a message of this slot, number being the program's own or kSilent.
  static std::uint64_t cookie(std::uint32_t slot, std::uint64_t number) noexcept {
    return std::uint64_t{slot} << kSlotShift | number;
  }
  // Numbers of the slot's messages that have arrived; the caller empties it.
  std::vector<std::uint64_t>& arrived(std::uint32_t slot) noexcept { return arrived_[slot]; }

 private:
  static constexpr unsigned kSlotShift = 56;
  void delivered(const Message& message, Time posted, Time now) override;
  Cluster cluster_;
  std::vector<std::vector<std::uint64_t>> arrived_;
};

// How a program lives beside others on its cluster.
struct Company {
  // Called at each event before it touches the cluster: returns when it is this program's turn.
  std::function<void(Time now)> turn;
  // When the program's process at the node next has the processor, `now` if it has it. What arrives is
  // handled by that process, in its notification handler or where it polls, so not before.
  std::function<Time(std::uint32_t node, Time now)> runs;
  // The program's process p is on the node that is so many after p.
  std::uint32_t shift = 0;
};

// Thread-bound as the engine.
class SvmNetwork final : public svm::Network, private workloads::EventSink {
 public:
  // Without a shared cluster it makes one of its own when the run begins.
  SvmNetwork(const ClusterParameters& parameters, const HostCosts& costs, std::uint16_t program,
             std::shared_ptr<SharedCluster> shared = nullptr, std::uint32_t slot = 0, Company company = {})
      : parameters_(parameters),
        costs_(costs),
        program_(program),
        shared_(std::move(shared)),
        slot_(slot),
        company_(std::move(company)) {}
  // Whose pages move; before begin.
  void serve(svm::SvmMachine& machine, const Migration& migration) noexcept {
    machine_ = &machine;
    migration_ = migration;
  }
  void begin(svm::Engine& engine, svm::PacketSink& receiver) override;
  Time send(svm::Packet&& packet, Time now) override;
  Time update(svm::ProcessId from, svm::ProcessId to, std::uint64_t address, std::span<const std::byte> data,
              Time now) override;
  void flush(svm::ProcessId, Time) override {}
  void memory_busy(svm::ProcessId node, Time begin, Time end) override;
  void completed(const svm::LayerOperation& operation) override;
  Time mark(svm::ProcessId process, svm::Operation operation, Time now) override;
  std::vector<svm::Statistic> statistics() const override;

 private:
  void on_event(Time now, std::uint64_t argument) override;
  void hand_over(std::uint64_t number, Time now);
  void count_diff(const svm::Packet& packet);
  void arm();
  std::uint32_t node_of(svm::ProcessId process) const noexcept {
    return (process + company_.shift) % parameters_.nodes;
  }

  ClusterParameters parameters_;
  const HostCosts costs_;
  const std::uint16_t program_;
  std::shared_ptr<SharedCluster> shared_;
  const std::uint32_t slot_;
  const Company company_;
  svm::Engine* engine_ = nullptr;
  svm::PacketSink* receiver_ = nullptr;
  Time armed_ = kNever;               // an event of the engine is due then
  std::uint64_t under_way_ = 0;       // own messages
  svm::Places<svm::Packet> packets_;  // in the cluster
  std::vector<std::uint64_t> taken_;  // being handed over
  std::vector<std::uint32_t> held_;   // of each node: messages that wait for its process to run
  svm::Phases phases_;
  svm::SvmMachine* machine_ = nullptr;
  Migration migration_;
  std::map<std::pair<std::uint64_t, svm::ProcessId>, std::uint32_t>
      diffs_;               // by page and sender, at the page's home
  std::vector<Time> owed_;  // what interrupts took of a node's processor, charged with its next message
  std::uint64_t migrated_ = 0;
};

}  // namespace substrata::myrinet
