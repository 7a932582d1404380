// The cluster as the network below shared virtual memory and message passing.
#ifndef SUBSTRATA_MYRINET_SVM_NETWORK_HPP
#define SUBSTRATA_MYRINET_SVM_NETWORK_HPP

#include <memory>
#include <optional>
#include <vector>

#include "cluster.hpp"
#include "svm/network.hpp"

namespace substrata::myrinet {

// What the host's software costs, picoseconds.
struct HostCosts {
  Time send = 1'000'000;   // to put a request into the interface's queue; assumption
  Time diff = 82'000'000;  // comparing two pages keeps the memory busy so long: 8 KB at 100 MB/s; assumption
  std::uint32_t header = 16;  // of a protocol's packet; data carry it in the network's header
};

// Thread-bound as the engine.
class SvmNetwork final : public svm::Network, private Delivery, private workloads::EventSink {
 public:
  SvmNetwork(const ClusterParameters& parameters, const HostCosts& costs, std::uint16_t program)
      : parameters_(parameters), costs_(costs), program_(program) {}
  void begin(svm::Engine& engine, svm::PacketSink& receiver) override;
  Time send(svm::Packet&& packet, Time now) override;
  Time update(svm::ProcessId from, svm::ProcessId to, std::uint64_t address, std::span<const std::byte> data,
              Time now) override;
  void flush(svm::ProcessId, Time) override {}
  Time mark(svm::ProcessId process, svm::Operation operation, Time now) override;
  std::vector<svm::Statistic> statistics() const override;

 private:
  void delivered(const Message& message, Time posted, Time now) override;
  void on_event(Time now, std::uint64_t argument) override;
  void arm();

  ClusterParameters parameters_;
  const HostCosts costs_;
  const std::uint16_t program_;
  svm::Engine* engine_ = nullptr;
  svm::PacketSink* receiver_ = nullptr;
  std::optional<Cluster> cluster_;
  Time armed_ = kNever;               // an event of the engine is due then
  std::vector<svm::Packet> packets_;  // in the cluster, by cookie
  std::vector<std::uint64_t> free_;
  std::vector<std::uint16_t> regions_;              // numbers in the feed of the run's regions
  std::vector<std::vector<std::uint16_t>> stacks_;  // of each node: its phase, then the procedures it is in
};

}  // namespace substrata::myrinet

#endif
