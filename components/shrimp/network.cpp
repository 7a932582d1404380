// Cuts messages into bursts, combines stores, times packets, and moves pages to those who write them.
#include "shrimp/network.hpp"

#include <algorithm>
#include <utility>

#include "models/shared_virtual_memory/node_probes.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::shrimp {

using svm::Packet;
using svm::PacketKind;
using svm::ProcessId;
using svm::Time;

namespace {

// Written to the page itself, not to a message buffer.
bool into_page(PacketKind kind) noexcept {
  return kind == PacketKind::kPageReply || kind == PacketKind::kPageMove || kind == PacketKind::kUpdate;
}

constexpr std::uint32_t kRegisterBytes = 4;  // of the monitor, on the bus and in a packet
// What migration's boards count by: tag, sender, size in chunks of 16 bytes (section 4.4).
constexpr std::uint32_t kMigrationSelection = 1u << kTagNibble | 3u << kSenderNibble | 6u << kSizeNibble;

}  // namespace

void Network::begin(workloads::Engine& engine, svm::PacketSink& receiver) {
  engine_ = &engine;
  receiver_ = &receiver;
  const ProcessId nodes = engine.processes();
  ports_.emplace(parameters_.ports, nodes);
  probes_.emplace(nodes);
  phase_ = substrata_phase();
  combining_.resize(nodes);
  procedures_.assign(nodes, {0});
  owed_.assign(nodes, 0);
  leaving_.resize(nodes);
  at_work_.assign(nodes, false);
  if (parameters_.migrate_after != 0) tag_pages();
}

// Behind all that waits at the node.
void Network::queue(ProcessId node, Flight&& flight, Time ready, bool by_bus) {
  leaving_[node].push_back({std::move(flight), ready, by_bus});
  if (at_work_[node]) return;
  at_work_[node] = true;
  engine_->schedule(ready, *this, node * kStages + kLeave);
}

void Network::leave(ProcessId node, Time now) {
  std::deque<Leaving>& waiting = leaving_[node];
  while (!waiting.empty()) {
    Leaving& next = waiting.front();
    if (next.ready > now) {
      engine_->schedule(next.ready, *this, node * kStages + kLeave);
      return;
    }
    if (next.by_bus) {
      const std::uint32_t bytes = next.flight.packet.size;
      const Time fetched = ports_->read_out(node, bytes, now);
      probes_->bus(node, BusUse::kOut, bytes, now, fetched - ports_->burst_time(bytes), fetched);
      engine_->schedule(fetched, *this, node * kStages + kFetched);
      return;
    }
    put(std::move(next.flight), now);
    waiting.pop_front();
  }
  at_work_[node] = false;
}

// A stamped packet on its way.
void Network::put(Flight&& flight, Time stamped) {
  flight.packet.stamped = stamped;
  const Time there = ports_->cross(flight.packet.sender, flight.packet.receiver, flight.packet.size, stamped);
  engine_->schedule(there, *this, flights_.add(std::move(flight)) * kStages + kAtInterface);
}

void Network::on_event(Time now, std::uint64_t argument) {
  const std::uint64_t number = argument / kStages;
  const std::uint64_t stage = argument % kStages;
  if (stage == kLeave || stage == kFetched) {
    const auto node = static_cast<ProcessId>(number);
    if (stage == kFetched) {
      put(std::move(leaving_[node].front().flight), now);
      leaving_[node].pop_front();
    }
    leave(node, now);
    return;
  }
  Flight& flight = flights_[number];
  switch (stage) {
    case kAtInterface:
      flight.packet.time =
          ports_->take_in(flight.packet.receiver, flight.packet.size, now, &flight.delivered);
      probes_->bus(flight.packet.receiver, BusUse::kIn, flight.packet.size, now, flight.packet.time,
                   flight.delivered);
      if (flight.packet.time > now) {
        engine_->schedule(flight.packet.time, *this, number * kStages + kTaken);
        return;
      }
      [[fallthrough]];
    case kTaken: {
      const Probes::Packet packet = flight.packet;
      if (flight.last)
        engine_->schedule(flight.delivered, *this, number * kStages + kDelivered);
      else
        flights_.remove(number);
      see(packet);
      return;
    }
    default: {
      if (flight.command) {
        ++commands_;
        probes_->command(flight.packet.sender, flight.packet.receiver, Register::kCategory,
                         flight.packet.detail, now, phase_);
        flights_.remove(number);
        return;
      }
      Packet message = std::move(flight.message);
      flights_.remove(number);
      receiver_->arrive(std::move(message), now);
      return;
    }
  }
}

void Network::see(const Probes::Packet& packet) {
  ++packets_;
  bytes_ += packet.size;
  probes_->arrived(packet);
  if (boards_.empty()) return;
  Board& board = *boards_[packet.receiver];
  const Arrival arrival{.received = packet.time / 100'000 & kClockMask,
                        .stamped = packet.stamped / 100'000 & kClockMask,
                        .size = packet.size,
                        .sender = static_cast<std::uint8_t>(packet.sender),
                        .tag = packet.address == 0 ? std::uint8_t{0} : board.tag_of(packet.address)};
  if (arrival.tag == 0) return;
  const std::uint64_t variables = board.variables(arrival);
  board.record(&variables, &arrival.received, 1, true);
  std::uint32_t address = 0;
  while (board.next_interrupt(&address)) migrate(packet.receiver, address);
}

Time Network::charged(ProcessId node) noexcept { return std::exchange(owed_[node], 0); }

Time Network::send(Packet&& packet, Time now) {
  const ProcessId from = packet.from;
  flush(from, now);
  now += charged(from) + cycles(parameters_.send_cycles);
  const PacketKind kind = packet.kind;
  const std::uint32_t total = std::max<std::uint32_t>(packet.bytes, 1);
  for (std::uint32_t sent = 0; sent < total;) {
    const std::uint32_t size = std::min(total - sent, parameters_.ports.burst);
    Flight flight;
    // The message is moved away in the last round only. NOLINTNEXTLINE(bugprone-use-after-move)
    flight.packet = {.address = into_page(kind) ? packet.address + sent : 0,
                     .detail = into_page(kind) ? packet.number : packet.address,
                     .sender = from,
                     .receiver = packet.to,
                     .size = size,
                     .kind = svm::transaction_kind(kind),
                     .phase = phase_,
                     .flags = svm::transaction_flags(kind)};
    if (!into_page(kind) && packet.address == 0) flight.packet.detail = packet.number;
    sent += size;
    flight.last = sent == total;
    if (!flight.last) flight.packet.flags |= SUBSTRATA_FLAG_PARTIAL;
    // The last use of the message.
    if (flight.last) flight.message = std::move(packet);
    queue(from, std::move(flight), now, true);
  }
  return now;
}

Time Network::update(ProcessId from, ProcessId to, std::uint64_t address, std::span<const std::byte> data,
                     Time now) {
  combine(combining_[from], from, to, address, data, parameters_.ports.burst, now);
  return now + charged(from) + cycles(parameters_.store_cycles);
}

void Network::flush(ProcessId from, Time now) {
  Packet& open = combining_[from];
  if (open.data.empty()) return;
  open.bytes = static_cast<std::uint32_t>(open.data.size());
  Flight flight;
  flight.packet = {.address = open.address,
                   .sender = open.from,
                   .receiver = open.to,
                   .size = open.bytes,
                   .kind = svm::transaction_kind(PacketKind::kUpdate),
                   .phase = phase_,
                   .flags = svm::transaction_flags(PacketKind::kUpdate)};
  flight.last = true;
  flight.message = std::exchange(open, Packet{});
  if (at_work_[from])
    queue(from, std::move(flight), now, false);
  else
    put(std::move(flight), now);
}

Time Network::mark(ProcessId process, svm::Operation operation, Time now) {
  const bool begins = operation.kind() == workloads::OperationKind::kEnter;
  const Time began = now;
  if (parameters_.tag_changes && begins) now += cycles(parameters_.tag_cycles);
  const bool chosen =
      parameters_.chosen_sender == NetworkParameters::kEachItsOwn || parameters_.chosen_sender == process;
  if (!parameters_.categories || !chosen) return now - began;
  std::vector<std::uint16_t>& inside = procedures_[process];
  switch (operation.kind()) {
    case workloads::OperationKind::kEnter:
      inside.push_back(static_cast<std::uint16_t>(operation.argument()));
      break;
    case workloads::OperationKind::kLeave:
      if (inside.size() > 1) inside.pop_back();
      if (parameters_.begins_only) return now - began;
      break;
    default:
      return now - began;
  }
  return write_category(process, now) - began;
}

// To the node's own register, and from the chosen sender to all others: stores to their registers, which leave by
// automatic update. Gives when the processor goes on.
Time Network::write_category(ProcessId process, Time now) {
  const std::uint64_t category = procedures_[process].back() & 0xfu;
  const Time takes = cycles(parameters_.command_cycles);
  const Time asked = now;
  now = parameters_.commands_by_eisa ? ports_->write_register(process, takes, now) : now + takes;
  if (parameters_.commands_by_eisa)
    probes_->bus(process, BusUse::kCommand, kRegisterBytes, asked, now - takes, now);
  ++commands_;
  probes_->command(process, process, Register::kCategory, category, now, phase_);
  if (parameters_.chosen_sender != process) return now;
  for (ProcessId node = 0; node < engine_->processes(); ++node) {
    if (node == process) continue;
    now += cycles(parameters_.store_cycles);
    Flight flight;
    flight.packet = {.detail = category,
                     .sender = process,
                     .receiver = node,
                     .size = kRegisterBytes,
                     .kind = svm::transaction_kind(PacketKind::kUpdate),
                     .phase = phase_,
                     .flags = SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_INTERNAL};
    flight.last = flight.command = true;
    queue(process, std::move(flight), now, false);
  }
  return now;
}

// ---------------------------------------------------------------------------------------------- migration

// Every home programs its monitor and lends its tags to its first fifteen pages.
void Network::tag_pages() {
  const ProcessId nodes = engine_->processes();
  lent_.assign(nodes, {});
  untagged_.resize(nodes);
  for (std::uint64_t page = 0; page < machine_->page_count(); ++page) {
    const ProcessId home = machine_->home(page);
    if (home != svm::SvmMachine::kNoHome) untagged_[home].push_back(page);
  }
  for (ProcessId node = 0; node < nodes; ++node) {
    boards_.push_back(std::make_unique<Board>());
    boards_.back()->write(Register::kMultiplexer, kMigrationSelection);
    boards_.back()->write(Register::kThreshold, parameters_.migrate_after);
    owed_[node] += cycles(2 * parameters_.command_cycles);
    for (std::uint32_t tag = 1; tag <= kTags; ++tag) lend(node, tag);
  }
}

// Gives a tag to the next page of a home that had none, and clears the tag's part of the histogram.
void Network::lend(ProcessId node, std::uint32_t tag) {
  std::deque<std::uint64_t>& waiting = untagged_[node];
  if (waiting.empty()) return;
  constexpr std::uint32_t kWordsOfTag = 1u << 16;
  boards_[node]->initialise(tag * kWordsOfTag, kWordsOfTag, 0);
  boards_[node]->set_tag(waiting.front(), tag);
  lent_[node][tag] = waiting.front();
  waiting.pop_front();
  const std::uint64_t words = std::uint64_t{engine_->processes()} * (parameters_.ports.burst / 16 + 1);
  owed_[node] +=
      cycles(parameters_.command_cycles + parameters_.tag_cycles + parameters_.clear_cycles * words);
}

// The handler at a node: reads how many packets of this size each sender put into the page with the tag, has
// the page moved to the one with most, and lends the tag to another page. A page moves once.
void Network::migrate(ProcessId node, std::uint32_t address) {
  ++interrupts_;
  Board& board = *boards_[node];
  Variables variables = unpack(board.selection().variables(address));
  const std::uint32_t tag = variables.tag;
  const ProcessId nodes = engine_->processes();
  ProcessId most_by = node;
  std::uint64_t most = 0;
  for (ProcessId sender = 0; sender < nodes; ++sender) {
    variables.sender = static_cast<std::uint8_t>(sender);
    const std::uint64_t packets = board.word(board.selection().address(pack(variables)));
    if (packets > most) {
      most = packets;
      most_by = sender;
    }
  }
  if (parameters_.migrate_to_other) most_by = (most_by + 1) % nodes;
  const std::uint64_t page = lent_[node][tag];
  machine_->move_home(page, most_by);
  board.set_tag(page, 0);
  ++migrated_;
  owed_[node] += cycles(parameters_.interrupt_cycles + std::uint64_t{nodes} * parameters_.command_cycles +
                        parameters_.tag_cycles);
  if (parameters_.announce) owed_[node] += cycles(std::uint64_t{nodes - 1} * parameters_.send_cycles);
  lend(node, tag);
}

std::vector<svm::Statistic> Network::statistics() const {
  return {{std::string(workloads::kTransactionsStatistic), probes_ ? probes_->published() : 0},
          {"packets", packets_},
          {"packet-bytes", bytes_},
          {"commands", commands_},
          {"interrupts", interrupts_},
          {"pages-migrated", migrated_}};
}

}  // namespace substrata::shrimp
