// The machine: a run's begin and end, packets to their handlers, accesses, statistics.
#include "models/shared_virtual_memory/svm_machine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace substrata::svm {

using workloads::kPageInvalid;
using workloads::kPageReadable;
using workloads::LayerKind;
using workloads::OperationKind;

SvmMachine::SvmMachine(std::string name, const SvmParameters& parameters, std::unique_ptr<Network> network)
    : name_(std::move(name)), parameters_(parameters), network_(std::move(network)) {}

void SvmMachine::begin(Engine& engine) {
  const std::uint32_t bytes = parameters_.page_bytes;
  if (bytes < 64 || bytes > 65536 || (bytes & (bytes - 1)) != 0) {
    throw std::runtime_error("a page of " + std::to_string(bytes) +
                             " bytes is asked for; powers of two from 64 to 65536 are possible");
  }
  engine_ = &engine;
  page_shift_ = static_cast<unsigned>(std::countr_zero(bytes));
  page_count_ = (engine.memory().bytes() + bytes - 1) >> page_shift_;
  const ProcessId count = engine.processes();
  homes_.assign(page_count_, kNoHome);
  intervals_.resize(count);
  nodes_.resize(count);
  for (ProcessId p = 0; p < count; ++p) {
    Node& node = nodes_[p];
    node.memory = workloads::Mapping(page_count_ << page_shift_);
    node.pages.assign(page_count_, kPageInvalid);
    node.clock.assign(count, 0);
    node.knows_home.assign(page_count_, parameters_.homes != HomePolicy::kFirstTouch);
  }
  if (parameters_.homes != HomePolicy::kFirstTouch) {
    for (std::uint64_t page = 0; page < page_count_; ++page) {
      homes_[page] = static_cast<ProcessId>(
          parameters_.homes == HomePolicy::kBlock ? page * count / page_count_ : page % count);
      nodes_[homes_[page]].pages[page] = kPageReadable;
    }
  }
  operations_.begin(count, *network_);
  network_->begin(engine, *this);
}

workloads::ProcessView SvmMachine::view(ProcessId process) {
  Node& node = nodes_[process];
  return {.memory = node.memory.data(),
          .pages = node.pages.data(),
          .page_shift = page_shift_,
          .stored_values = parameters_.mode == UpdateMode::kAutomatic ? &node.stored : nullptr,
          .oracle = parameters_.verify ? engine_->memory().data() : nullptr};
}

std::string SvmMachine::end() {
  std::byte* result = engine_->memory().data();
  const std::uint64_t total = engine_->memory().bytes();
  for (std::uint64_t page = 0; page < page_count_; ++page) {
    if (homes_[page] == kNoHome) continue;
    const std::uint64_t address = page << page_shift_;
    if (address >= total) break;
    const std::size_t bytes = std::min<std::uint64_t>(parameters_.page_bytes, total - address);
    const std::byte* data = page_data(homes_[page], page);
    if (parameters_.verify && std::memcmp(result + address, data, bytes) != 0) {
      return "page " + std::to_string(page) + " at its home, process " + std::to_string(homes_[page]) +
             ", differs at the end from what the processes wrote";
    }
    std::memcpy(result + address, data, bytes);
  }
  for (const auto& entry : home_state_) {
    if (!entry.second.waiting.empty())
      return "a fetch of page " + std::to_string(entry.first) + " was never served";
  }
  return {};
}

// ------------------------------------------------------------------------------------------------ packets

Packet SvmMachine::packet(PacketKind kind, ProcessId from, ProcessId to, std::uint32_t payload) const {
  Packet made;
  made.kind = kind;
  made.from = from;
  made.to = to;
  made.bytes = parameters_.header_bytes + payload;
  return made;
}

Time SvmMachine::send(Packet&& packet, Time now) {
  if (packet.from == packet.to) {
    const std::uint64_t number = next_local_++;
    local_.emplace(number, std::move(packet));
    engine_->schedule(now + parameters_.costs.local, *this, number);
    return now;
  }
  ++counts_.packets[static_cast<std::size_t>(packet.kind)];
  counts_.packet_bytes[static_cast<std::size_t>(packet.kind)] += packet.bytes;
  packet.operation = operations_.of(packet);
  return network_->send(std::move(packet), now);
}

void SvmMachine::on_event(Time now, std::uint64_t argument) {
  const auto found = local_.find(argument);
  Packet packet = std::move(found->second);
  local_.erase(found);
  arrive(std::move(packet), now);
}

// A node handles packets one after the other.
Time SvmMachine::handle(const Packet& packet, Time now) {
  const bool awaited = packet.kind == PacketKind::kPageReply || packet.kind == PacketKind::kLockGrant ||
                       packet.kind == PacketKind::kBarrierRelease || packet.kind == PacketKind::kHomeReply;
  Time& busy = nodes_[packet.to].busy;
  busy = std::max(busy, now) + (awaited ? parameters_.costs.awaited : parameters_.costs.handler);
  return busy;
}

ProcessId SvmMachine::manager(std::uint64_t number) const noexcept {
  return parameters_.managers == Managers::kNodeZero ? 0 : static_cast<ProcessId>(number % nodes_.size());
}

void SvmMachine::arrive(Packet&& packet, Time now) {
  switch (packet.kind) {
    case PacketKind::kUser:
      operations_.delivered(packet.number, now);
      engine_->deliver(packet.number, now);
      return;
    case PacketKind::kUpdate:  // done by the receiving interface, without the processor
      ++counts_.packets[static_cast<std::size_t>(packet.kind)];
      counts_.packet_bytes[static_cast<std::size_t>(packet.kind)] += packet.bytes;
      std::memcpy(nodes_[packet.to].memory.data() + packet.address, packet.data.data(), packet.data.size());
      return;
    case PacketKind::kUpdateMark:
      for (const std::uint64_t marked : packet.pages) {
        applied(marked, {packet.from, static_cast<std::uint32_t>(packet.number)}, now);
      }
      return;
    default:
      break;
  }
  now = handle(packet, now);
  switch (packet.kind) {
    case PacketKind::kLockRequest:
      return lock_requested(std::move(packet), now);
    case PacketKind::kLockRelease:
      return lock_released(std::move(packet), now);
    case PacketKind::kLockGrant:
    case PacketKind::kBarrierRelease:
      now = acquire(packet.to, packet.clock, now);
      operations_.close(packet.to, now);
      engine_->resume(packet.to, now);
      return;
    case PacketKind::kBarrierArrive:
      return barrier_reached(std::move(packet), now);
    case PacketKind::kHomeRequest:
      return home_requested(packet, now);
    case PacketKind::kHomeReply:
      return home_known(packet, now);
    case PacketKind::kPageRequest:
      return page_requested(std::move(packet), now);
    case PacketKind::kPageReply:
      return page_arrived(packet, now);
    case PacketKind::kPageMove:
      return page_moved_in(packet, now);
    case PacketKind::kDiff:
      return diff_arrived(packet, now);
    case PacketKind::kUpdate:
    case PacketKind::kUpdateMark:
    case PacketKind::kUser:
      break;
  }
}

// ------------------------------------------------------------------------------------ messages, accesses

void SvmMachine::on_send(ProcessId process, workloads::MessageNumber number, Time now) {
  const workloads::Message& message = engine_->message(number);
  operations_.sent(process, message.to, number, now);
  Packet made =
      packet(PacketKind::kUser, process, message.to, static_cast<std::uint32_t>(message.payload.size()));
  made.number = number;
  engine_->resume(process, send(std::move(made), now));
}

Time SvmMachine::on_receive(ProcessId, const workloads::Message&, Time now) {
  return now + parameters_.costs.local;
}

std::size_t SvmMachine::advance(ProcessId process, std::span<const Operation> operations, Time& now,
                                Time horizon) {
  Node& node = nodes_[process];
  const bool automatic = parameters_.mode == UpdateMode::kAutomatic;
  std::size_t done = 0;
  do {
    const Operation operation = operations[done++];
    switch (operation.kind()) {
      case OperationKind::kRead:
        now += parameters_.costs.access;
        break;
      case OperationKind::kWrite: {
        now += parameters_.costs.access;
        if (!automatic) break;
        const std::span<const std::byte> value(node.stored.data() + node.stored_read, operation.size());
        node.stored_read += (operation.size() + 7) & ~std::size_t{7};
        const ProcessId home_node = homes_[page_of(operation.address())];
        if (home_node == process) break;
        ++counts_.updates;
        counts_.update_bytes += operation.size();
        now = network_->update(process, home_node, operation.address(), value, now);
        break;
      }
      case OperationKind::kCompute:
        now += parameters_.costs.cycle * operation.argument();
        break;
      case OperationKind::kEnter:
      case OperationKind::kLeave:
        now = mark(process, operation, now);
        break;
      case OperationKind::kPhase:
        now += network_->mark(process, operation, now);
        break;
    }
  } while (done < operations.size() && now < horizon);
  if (node.stored_read == node.stored.size()) {
    node.stored.clear();
    node.stored_read = 0;
  }
  return done;
}

// Of a procedure, an operation of the communication layer, or both.
Time SvmMachine::mark(ProcessId process, Operation operation, Time now) {
  const LayerKind kind = operation.layer_kind();
  if (kind != LayerKind::kNone) {
    if (operation.kind() == OperationKind::kEnter) {
      operations_.enter(process, kind, now);
    } else {
      operations_.leave(process, now);
    }
    if (operation.argument() == 0) return now;
  }
  return now + network_->mark(process, operation, now);
}

std::vector<Statistic> SvmMachine::statistics() const {
  std::vector<Statistic> all = {{"read-faults", counts_.read_faults},
                                {"write-faults", counts_.write_faults},
                                {"page-fetches", counts_.page_fetches},
                                {"home-waits", counts_.home_waits},
                                {"twins", counts_.twins},
                                {"diffs", counts_.diffs},
                                {"diff-bytes", counts_.diff_bytes},
                                {"updates", counts_.updates},
                                {"update-bytes", counts_.update_bytes},
                                {"intervals", counts_.intervals},
                                {"notices", counts_.notices},
                                {"invalidations", counts_.invalidations},
                                {"moves", counts_.moves}};
  for (std::size_t kind = 0; kind < kPacketKinds; ++kind) {
    const std::string name(name_of(static_cast<PacketKind>(kind)));
    all.push_back({"packets." + name, counts_.packets[kind]});
    all.push_back({"bytes." + name, counts_.packet_bytes[kind]});
  }
  for (Statistic& one : network_->statistics()) all.push_back(std::move(one));
  return all;
}

}  // namespace substrata::svm
