// A network without contention: a fixed latency, a bandwidth, and disorder between different pairs when tests
// ask for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"
#include "models/shared_virtual_memory/node_probes.hpp"

namespace substrata::svm {

struct PlainNetworkParameters {
  Time send = 1'000'000;      // of the sending processor, for each packet
  Time update = 10'000;       // of the sending processor, for each store sent automatically
  Time latency = 10'000'000;  // from the end of sending to the arrival of an empty packet
  Time byte = 10'000;         // and for each byte
  Time jitter = 0;            // up to so much more, at random
  std::uint64_t seed = 1;     // of the jitter
  std::uint32_t header = 8;   // bytes of an update packet besides its data
  std::uint32_t burst = 256;  // largest number of updated bytes that are combined into one packet
  std::string probes = {};    // publish arrivals at <probes>.node<i>.receive; empty: nowhere
};

// Packets of a pair of nodes arrive in the order they were sent. Thread-bound as the engine.
class PlainNetwork final : public Network, private workloads::EventSink {
 public:
  explicit PlainNetwork(const PlainNetworkParameters& parameters)
      : parameters_(parameters), random_(parameters.seed) {}
  void begin(Engine& engine, PacketSink& receiver) override;
  Time send(Packet&& packet, Time now) override;
  Time update(ProcessId from, ProcessId to, std::uint64_t address, std::span<const std::byte> data,
              Time now) override;
  void flush(ProcessId from, Time now) override;
  Time mark(ProcessId process, Operation operation, Time now) override;
  std::vector<Statistic> statistics() const override;

 private:
  struct Flight {
    Packet packet;
    Time sent;
    std::uint16_t phase;
  };
  void on_event(Time now, std::uint64_t argument) override;
  void put(Packet&& packet, Time now);

  PlainNetworkParameters parameters_;
  std::uint64_t random_;
  Engine* engine_ = nullptr;
  PacketSink* receiver_ = nullptr;
  std::optional<NodeProbes> probes_;
  std::vector<Packet> combining_;  // of each node; without data: nothing
  std::unordered_map<std::uint64_t, Flight> in_flight_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Time> last_arrival_;  // of each pair of nodes
};

}  // namespace substrata::svm
