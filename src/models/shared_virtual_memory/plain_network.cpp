// Delays packets and combines updates.
#include "models/shared_virtual_memory/plain_network.hpp"

#include <algorithm>
#include <utility>

#include "sources/workloads/random.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::svm {

void PlainNetwork::begin(Engine& engine, PacketSink& receiver) {
  engine_ = &engine;
  receiver_ = &receiver;
  combining_.resize(engine.processes());
  if (!parameters_.probes.empty()) probes_.emplace(parameters_.probes, engine);
}

void PlainNetwork::put(Packet&& packet, Time now) {
  Time arrival = now + parameters_.latency + parameters_.byte * packet.bytes;
  if (parameters_.jitter != 0) arrival += workloads::scatter(random_++) % (parameters_.jitter + 1);
  Time& last = last_arrival_[(std::uint64_t{packet.from} << 32) | packet.to];
  last = std::max(last, arrival);
  engine_->schedule(last, *this, next_);
  const std::uint16_t phase = probes_ ? probes_->phase(packet.from) : std::uint16_t{0};
  in_flight_.emplace(next_++, Flight{std::move(packet), now, phase});
}

void PlainNetwork::on_event(Time now, std::uint64_t argument) {
  const auto found = in_flight_.find(argument);
  Flight flight = std::move(found->second);
  in_flight_.erase(found);
  if (probes_) probes_->arrived(flight.packet, flight.sent, now, flight.phase);
  receiver_->arrive(std::move(flight.packet), now);
}

Time PlainNetwork::mark(ProcessId process, Operation operation, Time) {
  if (probes_) probes_->mark(process, operation);
  return 0;
}

std::vector<Statistic> PlainNetwork::statistics() const {
  if (!probes_) return {};
  return {{std::string(workloads::kTransactionsStatistic), probes_->published()}};
}

Time PlainNetwork::send(Packet&& packet, Time now) {
  flush(packet.from, now);
  now += parameters_.send;
  put(std::move(packet), now);
  return now;
}

Time PlainNetwork::update(ProcessId from, ProcessId to, std::uint64_t address,
                          std::span<const std::byte> data, Time now) {
  combine(combining_[from], from, to, address, data, parameters_.burst, now);
  return now + parameters_.update;
}

void PlainNetwork::flush(ProcessId from, Time now) {
  Packet& open = combining_[from];
  if (open.data.empty()) return;
  open.bytes = parameters_.header + static_cast<std::uint32_t>(open.data.size());
  put(std::exchange(open, Packet{}), now);
}

}  // namespace substrata::svm
