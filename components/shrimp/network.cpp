// Cuts messages into bursts, combines stores, times packets, and moves pages to those who write them.
#include "network.hpp"

#include <algorithm>
#include <utility>

#include "shared_virtual_memory/node_probes.hpp"
#include "workloads/run.hpp"

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
  if (parameters_.migrate_after != 0) tag_pages();
}

// A stamped packet on its way.
void Network::put(Flight&& flight, Time stamped) {
  flight.packet.stamped = stamped;
  const Time there = ports_->cross(flight.packet.sender, flight.packet.receiver, flight.packet.size, stamped);
  engine_->schedule(there, *this, flights_.add(std::move(flight)) * kStages + kAtInterface);
}

void Network::on_event(Time now, std::uint64_t argument) {
  const std::uint64_t number = argument / kStages;
  Flight& flight = flights_[number];
  switch (argument % kStages) {
    case kAtInterface:
      flight.packet.time =
          ports_->take_in(flight.packet.receiver, flight.packet.size, now, &flight.delivered);
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
    put(std::move(flight), ports_->read_out(from, size, now));
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
  put(std::move(flight), now);
}

Time Network::mark(ProcessId process, svm::Operation operation, Time now) {
  if (!parameters_.categories) return 0;
  std::vector<std::uint16_t>& inside = procedures_[process];
  switch (operation.kind()) {
    case workloads::OperationKind::kEnter:
      inside.push_back(static_cast<std::uint16_t>(operation.argument()));
      break;
    case workloads::OperationKind::kLeave:
      if (inside.size() > 1) inside.pop_back();
      break;
    default:
      return 0;
  }
  ++commands_;
  const Time cost = cycles(parameters_.command_cycles);
  probes_->command(process, process, Register::kCategory, inside.back() & 0xfu, now + cost, phase_);
  return cost;
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
