// Hands packets of the protocol to the cluster and back, and the cluster's events to the engine.
#include "myrinet/svm_network.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "myrinet/operations.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::myrinet {
namespace {

using svm::PacketKind;

using workloads::LayerKind;
static_assert(workloads::kLayerKinds == kOperationKinds);
static_assert(static_cast<unsigned>(LayerKind::kPageFetch) == SUBSTRATA_MYRINET_PAGE_FETCH + 1);
static_assert(static_cast<unsigned>(LayerKind::kMessage) == SUBSTRATA_MYRINET_MESSAGE_SEND + 1);
static_assert(static_cast<unsigned>(LayerKind::kStreamOpen) == SUBSTRATA_MYRINET_STREAM_OPEN + 1);

std::uint32_t number_of(LayerKind kind) noexcept { return static_cast<std::uint32_t>(kind) - 1; }

bool of_stream(const svm::LayerOperation* operation) noexcept {
  return operation != nullptr && operation->kind >= LayerKind::kStreamOpen &&
         operation->kind <= LayerKind::kStreamClose;
}

// As transactions are named, and their flags.
std::uint16_t transaction_kind(LayerKind kind) noexcept {
  switch (kind) {
    case LayerKind::kNone:
      break;
    case LayerKind::kPageFetch:
      return SUBSTRATA_PAGE_FETCH;
    case LayerKind::kPageHome:
      return SUBSTRATA_RESPONSE;
    case LayerKind::kLockAcquire:
      return SUBSTRATA_LOCK;
    case LayerKind::kLockRelease:
      return SUBSTRATA_UNLOCK;
    case LayerKind::kBarrier:
      return SUBSTRATA_BARRIER;
    case LayerKind::kMessage:
    case LayerKind::kStreamOpen:
    case LayerKind::kStreamWrite:
    case LayerKind::kStreamClose:
      return SUBSTRATA_SEND;
    case LayerKind::kStreamRead:
      return SUBSTRATA_RECEIVE;
    case LayerKind::kBroadcast:
    case LayerKind::kCollective:
      return SUBSTRATA_COLLECTIVE;
  }
  return SUBSTRATA_KIND_NONE;
}
std::uint16_t transaction_flags(LayerKind kind) noexcept {
  const unsigned synchronising = kind >= LayerKind::kLockAcquire && kind <= LayerKind::kBarrier
                                     ? unsigned{SUBSTRATA_FLAG_SYNCHRONISING}
                                     : 0u;
  const unsigned internal = kind < LayerKind::kMessage ? unsigned{SUBSTRATA_FLAG_INTERNAL} : 0u;
  return static_cast<std::uint16_t>(SUBSTRATA_FLAG_MODELLED | synchronising | internal);
}

std::uint8_t type_of(PacketKind kind) noexcept {
  switch (kind) {
    case PacketKind::kLockRequest:
    case PacketKind::kLockGrant:
    case PacketKind::kLockRelease:
      return SUBSTRATA_MYRINET_LOCK;
    case PacketKind::kBarrierArrive:
    case PacketKind::kBarrierRelease:
      return SUBSTRATA_MYRINET_BARRIER;
    case PacketKind::kPageRequest:
      return SUBSTRATA_MYRINET_PAGE_REQUEST;
    case PacketKind::kPageReply:
      return SUBSTRATA_MYRINET_PAGE_REPLY;
    case PacketKind::kDiff:
      return SUBSTRATA_MYRINET_DIFF;
    case PacketKind::kUser:
      return SUBSTRATA_MYRINET_MESSAGE;
    case PacketKind::kHomeRequest:
    case PacketKind::kHomeReply:
    case PacketKind::kPageMove:
    case PacketKind::kUpdate:
    case PacketKind::kUpdateMark:
      return SUBSTRATA_MYRINET_PROTOCOL;
  }
  return SUBSTRATA_MYRINET_DATA;
}

}  // namespace

void SvmNetwork::begin(svm::Engine& engine, svm::PacketSink& receiver) {
  engine_ = &engine;
  receiver_ = &receiver;
  parameters_.nodes = engine.processes();
  phases_ = svm::Phases(engine);
  held_.assign(engine.processes(), 0);
  owed_.assign(engine.processes(), 0);
  if (shared_ == nullptr) shared_ = std::make_shared<SharedCluster>(parameters_, 1);
}

Time SvmNetwork::send(svm::Packet&& packet, Time now) {
  now += std::exchange(owed_[packet.from], 0);
  const bool program = packet.kind == PacketKind::kUser;
  // Pages and diffs are written straight into the receiver's memory, as VMMC does; their protocol header
  // fits the network's.
  const bool data = program || packet.kind == PacketKind::kPageReply ||
                    packet.kind == PacketKind::kPageMove || packet.kind == PacketKind::kDiff;
  Message message;
  message.from = node_of(packet.from);
  message.to = node_of(packet.to);
  message.bytes = data && packet.bytes >= costs_.header ? packet.bytes - costs_.header : packet.bytes;
  message.type = of_stream(packet.operation) ? std::uint8_t{SUBSTRATA_MYRINET_STREAM} : type_of(packet.kind);
  message.program = program_;
  message.phase = phases_[packet.from];
  message.flags = program ? std::uint16_t{0} : std::uint16_t{SUBSTRATA_FLAG_INTERNAL};
  message.address = packet.address;
  svm::LayerOperation* const operation = packet.operation;
  if (operation != nullptr)
    message.operation =
        operation_word(number_of(operation->kind), operation->number, packet.to == operation->node);
  const bool flagged = packet.kind == PacketKind::kPageReply;
  const std::uint64_t number = packets_.add(std::move(packet));
  const auto post = [&](std::uint64_t of) {
    if (operation != nullptr) {
      operation->packets += std::max(message.bytes, 1u) / parameters_.packet_bytes +
                            (std::max(message.bytes, 1u) % parameters_.packet_bytes != 0 ? 1 : 0);
      operation->bytes += message.bytes;
    }
    message.cookie = SharedCluster::cookie(slot_, of);
    now = shared_->cluster().send(message, now);
  };
  ++under_way_;
  if (flagged) {
    post(SharedCluster::kSilent);
    message.bytes = costs_.flag;
    message.type = SUBSTRATA_MYRINET_PROTOCOL;
  }
  post(number);
  arm();
  return now;
}

Time SvmNetwork::update(svm::ProcessId, svm::ProcessId, std::uint64_t, std::span<const std::byte>, Time) {
  throw std::runtime_error("the Myrinet interface has no automatic update; use mode=diffs");
}

Time SvmNetwork::mark(svm::ProcessId process, svm::Operation operation, Time) {
  phases_.mark(process, operation);
  return 0;
}

void SvmNetwork::completed(const svm::LayerOperation& operation) {
  constexpr std::uint64_t kMostSize = ~std::uint32_t{0};
  substrata_transaction seen{};
  seen.time = operation.end;
  seen.start = operation.begin;
  seen.address = operation.about;
  seen.site = operation_word(number_of(operation.kind), operation.number, false);
  seen.detail = operation.packets;
  seen.initiator = node_of(operation.node);
  seen.target = operation.kind == LayerKind::kMessage ? node_of(static_cast<svm::ProcessId>(operation.about))
                                                      : SUBSTRATA_NOBODY;
  seen.size = static_cast<std::uint32_t>(std::min(operation.bytes, kMostSize));
  seen.kind = transaction_kind(operation.kind);
  seen.program = program_;
  seen.phase = phases_[operation.node];
  seen.flags = transaction_flags(operation.kind);
  shared_->cluster().completed(node_of(operation.node), seen);
}

void SvmNetwork::memory_busy(svm::ProcessId node, Time begin, Time end) {
  shared_->cluster().memory_busy(node_of(node), begin, end);
}

void SharedCluster::delivered(const Message& message, Time, Time) {
  const std::uint64_t number = message.cookie & ((std::uint64_t{1} << kSlotShift) - 1);
  if (number != kSilent) arrived_[message.cookie >> kSlotShift].push_back(number);
}

void SvmNetwork::hand_over(std::uint64_t number, Time now) {
  svm::Packet packet = std::move(packets_[number]);
  packets_.remove(number);
  if (packet.kind == PacketKind::kDiff && migration_.after != 0) count_diff(packet);
  receiver_->arrive(std::move(packet), now);
}

// The receiving interface's monitor counts diffs by page and sender, and interrupts its host at the limit. A page moves
// once, when all processes are at a barrier.
void SvmNetwork::count_diff(const svm::Packet& packet) {
  if (!parameters_.monitor.receiving) return;
  const std::uint64_t page = packet.address / migration_.page_bytes;
  if (++diffs_[{page, packet.from}] != migration_.after) return;
  const auto nodes = static_cast<svm::ProcessId>(owed_.size());
  const svm::ProcessId to = migration_.to_other ? (packet.from + 1) % nodes : packet.from;
  owed_[packet.to] += migration_.interrupt;
  ++migrated_;
  machine_->move_home(page, to);
}

// A program stops at every event of its own messages, so what arrived, arrived now: also where the cluster
// was brought here by another program. The argument is 0, or one more than the number of a message that has
// waited for its process to run.
void SvmNetwork::on_event(Time now, std::uint64_t argument) {
  if (company_.turn) company_.turn(now);
  if (argument != 0) {
    --held_[packets_[argument - 1].to];
    hand_over(argument - 1, now);
  }
  if (now >= armed_) armed_ = kNever;
  for (;;) {
    shared_->cluster().run_until(now);
    taken_.clear();
    taken_.swap(shared_->arrived(slot_));
    if (taken_.empty()) break;
    for (const std::uint64_t number : taken_) {
      --under_way_;
      const svm::ProcessId to = packets_[number].to;
      const Time runs = company_.runs ? company_.runs(node_of(to), now) : now;
      if (runs > now || held_[to] != 0) {  // those held come first, also at the very moment
        ++held_[to];
        engine_->schedule(runs, *this, number + 1);
      } else {
        hand_over(number, now);
      }
    }
  }
  arm();
}

// The clocks' periods alone keep no run going: they are caught up with when there is traffic again.
void SvmNetwork::arm() {
  const Time next = shared_->cluster().next();
  if (under_way_ == 0 || next >= armed_) return;
  armed_ = next;
  engine_->schedule(armed_, *this, 0);
}

std::vector<svm::Statistic> SvmNetwork::statistics() const {
  if (shared_ == nullptr) return {};
  const ClusterCounts& counts = shared_->cluster().counts();
  return {{"packets-sent", counts.sent},
          {"packets-received", counts.received},
          {"bytes-sent", counts.bytes_sent},
          {"bytes-received", counts.bytes_received},
          {"packets-corrupt", counts.corrupt},
          {"packets-dropped", counts.dropped},
          {"packets-misrouted", counts.misrouted},
          {"clock-rounds", counts.rounds},
          {"pages-migrated", migrated_},
          {std::string(workloads::kTransactionsStatistic), shared_->cluster().published()}};
}

}  // namespace substrata::myrinet
