// Runs batches through the boards, counts, and reports interrupts.
#include "shrimp/rack.hpp"

#include <substrata/shrimp.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "base/error.hpp"
#include "models/counting/event_names.hpp"

namespace substrata::shrimp {
namespace {

constexpr size_t kMostAtOnce = 64;

// What the interface's wires carry of a packet: its kind, and two pieces of the address it goes to.
uint16_t signals_of(const substrata_transaction& packet) noexcept {
  unsigned kind = 0;
  constexpr uint16_t kKinds[] = {SUBSTRATA_FLAG_INTERNAL, SUBSTRATA_FLAG_SYNCHRONISING,
                                 SUBSTRATA_FLAG_COLLECTIVE, SUBSTRATA_FLAG_PARTIAL};
  for (unsigned i = 0; i < std::size(kKinds); ++i) kind |= (packet.flags & kKinds[i]) != 0 ? 1u << i : 0u;
  return static_cast<uint16_t>(kind | (packet.address >> 12 & 0xf) << kNibbleBits |
                               (packet.address >> 8 & 0xf) << (2 * kNibbleBits));
}

// Without the tag and the signals.
Arrival arrival_of(const substrata_transaction& packet) noexcept {
  return {.received = packet.time / kPicosecondsPerTick & kClockMask,
          .stamped = packet.start / kPicosecondsPerTick & kClockMask,
          .size = packet.size,
          .sender = static_cast<uint8_t>(packet.initiator)};
}

uint64_t latency_of(const Arrival& packet) noexcept {
  return (packet.received - packet.stamped) & kClockMask;
}

// By the numbers of substrata/shrimp.h.
uint8_t user_of(uint16_t kind) noexcept {
  if (kind == SUBSTRATA_COMMAND) return SUBSTRATA_SHRIMP_BUS_COMMAND;
  return kind == SUBSTRATA_READ ? SUBSTRATA_SHRIMP_BUS_OUT : SUBSTRATA_SHRIMP_BUS_IN;
}

// The mask of a watch for bins under a selection; false: it can match nothing.
bool mask_in_bins(const Watch& watch, const Selection& selection, uint64_t* mask) noexcept {
  constexpr Variables kWhole[] = {
      {.latency = 0xfffff}, {.size = 0xfff}, {.sender = 0xff}, {.tag = 0xf}, {.category = 0xf}};
  *mask = watch.mask & selection.mask();
  for (const Variables& variable : kWhole) {
    const uint64_t whole = pack(variable);
    if ((watch.mask & whole) != 0 && (*mask & whole) == 0) return false;
  }
  return true;
}

}  // namespace

Rack& rack() {
  static Rack* const one = new Rack;
  return *one;
}

void Rack::observe_bus(const substrata_transaction* batch, size_t count) noexcept {
  std::unique_lock lock(mutex_);
  for (size_t i = 0; i < count; ++i) {
    const substrata_transaction& use = batch[i];
    if (use.target >= kNodes) continue;
    take_bus(lock, use);
    add(use.target, kBusUses, 1);
    add(use.target, kBusBytes, use.size);
    add(use.target, kBusBusy, use.time - use.start);
    add(use.target, kBusWait, use.detail);
  }
}

template <auto take>
Status Rack::join(uint32_t* users, client::feed::Observer* observer, const char* probes) noexcept {
  if (*users == 0) {
    if (!*observer && observer->try_create<take>(*this) != 0)
      return refuse(Code::kNoMemory, "%s", substrata_feed_error());
    if (const int refused = observer->try_subscribe(probes); refused != 0)
      return refuse(static_cast<Code>(refused), "%s", substrata_feed_error());
  }
  ++*users;
  return kSuccess;
}

Status Rack::begin() noexcept {
  const std::lock_guard guard(users_mutex_);
  const Status joined = join<&Rack::observe>(&users_, &observer_, kArrivalProbes);
  in_use_ = users_ != 0;
  return joined;
}

void Rack::end() noexcept {
  const std::lock_guard guard(users_mutex_);
  if (--users_ == 0) observer_.try_unsubscribe();
  in_use_ = users_ != 0;
}

Status Rack::begin_buses() noexcept {
  const std::lock_guard guard(users_mutex_);
  return join<&Rack::observe_bus>(&bus_users_, &bus_observer_, kBusProbes);
}

void Rack::end_buses() noexcept {
  const std::lock_guard guard(users_mutex_);
  if (--bus_users_ == 0) bus_observer_.try_unsubscribe();
}

Status Rack::follow_sources() noexcept {
  bool wanted = false;
  with(kEveryNode, [&](Board& board) -> const char* {
    wanted = wanted || board.takes_bus();
    return nullptr;
  });
  if (wanted == boards_take_bus_) return kSuccess;
  if (!wanted) {
    end_buses();
  } else if (const Status refused = begin_buses(); !refused.ok()) {
    return refused;
  }
  boards_take_bus_ = wanted;
  return kSuccess;
}

const Watch& Rack::watch(uint32_t node, bool bins, uint64_t mask, uint64_t value) {
  const std::lock_guard guard(mutex_);
  for (const Watch& known : watches_) {
    if (known.node == node && known.bins == bins && known.mask == mask && known.value == value) return known;
  }
  Watch& made = watches_.emplace_back();
  made.node = node;
  made.bins = bins;
  made.mask = mask;
  made.value = value;
  return made;
}

void Rack::arm(const Alarm& alarm, uint64_t threshold) {
  const std::lock_guard guard(mutex_);
  alarms_.reserve(alarms_.size() + 1);
  std::erase_if(alarms_,
                [&](const Alarm& old) { return old.set == alarm.set && old.position == alarm.position; });
  alarms_.push_back(alarm);
  for (uint32_t n = 0; n < kNodes; ++n) {
    if (alarm.node == kEveryNode || alarm.node == n) boards_[n].write(Register::kThreshold, threshold);
  }
}

void Rack::disarm(Set* set, uint32_t position) noexcept {
  const std::lock_guard guard(mutex_);
  for (const Alarm& alarm : alarms_) {
    if (alarm.set != set || alarm.position != position) continue;
    for (uint32_t n = 0; n < kNodes; ++n) {
      if (alarm.node == kEveryNode || alarm.node == n) boards_[n].write(Register::kThreshold, kWordMost);
    }
  }
  std::erase_if(alarms_, [&](const Alarm& old) { return old.set == set && old.position == position; });
}

void Rack::set_running(Set* set, bool running) noexcept {
  const std::lock_guard guard(mutex_);
  for (Alarm& alarm : alarms_) {
    if (alarm.set == set) alarm.running = running;
  }
}

void Rack::forget(Set* set) noexcept {
  const std::lock_guard guard(mutex_);
  std::erase_if(alarms_, [&](const Alarm& old) { return old.set == set; });
}

void Rack::count_command(uint32_t node) noexcept {
  const std::lock_guard guard(mutex_);
  if (node != kEveryNode) {
    add(node, kCommands, 1);
    return;
  }
  for (uint32_t n = 0; n < kNodes; ++n) add(n, kCommands, 1);
}

void Rack::power_on() noexcept {
  const std::lock_guard guard(mutex_);
  for (Board& board : boards_) {
    board.~Board();
    new (&board) Board;
  }
  last_phase_.fill(0);
}

bool Rack::alarmed(uint32_t node) const noexcept {
  return std::any_of(alarms_.begin(), alarms_.end(), [node](const Alarm& alarm) {
    return alarm.running && (alarm.node == kEveryNode || alarm.node == node);
  });
}

void Rack::observe(const substrata_transaction* batch, size_t count) noexcept {
  std::unique_lock lock(mutex_);
  while (count > 0) {
    size_t taken = 1;
    if (batch->target >= kNodes) {
      total_[kLost].add(1);  // no board is there
    } else if (batch->kind == SUBSTRATA_COMMAND) {
      apply(boards_[batch->target], batch->target, *batch);
    } else {
      try {
        taken = take(lock, batch, count);
      } catch (const std::bad_alloc&) {
        add(batch->target, kLost, 1);
      }
    }
    batch += taken;
    count -= taken;
  }
}

void Rack::apply(Board& board, uint32_t node, const substrata_transaction& command) noexcept {
  // What a monitor takes in decides what is observed, which a command in the feed cannot change.
  if (command.address < kRegisters && command.address != static_cast<uint64_t>(Register::kSource) &&
      board.write(static_cast<Register>(command.address), command.detail) == nullptr)
    add(node, kCommands, 1);
}

size_t Rack::take(std::unique_lock<std::mutex>& lock, const substrata_transaction* batch, size_t count) {
  const uint32_t node = batch->target;
  Board& board = boards_[node];
  // A packet of another region than the one before it finds the category written to that region's number.
  if (const uint16_t phase = batch->phase; phase != last_phase_[node]) {
    last_phase_[node] = phase;
    board.write(Register::kCategory, phase & 0xfu);
    add(node, kCommands, 1);
  }
  if (!board.running() || board.takes_bus()) return 1;

  uint64_t variables[kMostAtOnce];
  uint64_t clocks[kMostAtOnce];
  uint64_t bytes = 0;
  uint64_t latency = 0;
  const size_t most = std::min(count, chunk_);
  // With and without the signals of the jumpers, which few selections want.
  const auto take_in = [&](const auto& signals) {
    size_t alike = 0;
    while (alike < most && batch[alike].target == node && batch[alike].phase == batch->phase &&
           batch[alike].kind != SUBSTRATA_COMMAND) {
      const substrata_transaction& t = batch[alike];
      Arrival packet = arrival_of(t);
      packet.tag = board.tag_of(t.address);
      packet.signals = signals(t);
      variables[alike] = board.variables(packet);
      clocks[alike] = packet.received;
      bytes += t.size;
      latency += latency_of(packet);
      ++alike;
    }
    return alike;
  };
  const size_t alike = board.selection().jumper() >= kFirstSignal
                           ? take_in(signals_of)
                           : take_in([](const substrata_transaction&) { return uint16_t{0}; });
  return record(lock, node, {variables, clocks, alike, batch, bytes, latency});
}

// A use of the bus that the node's monitor takes in: the time that it was waited for as the latency, its user as the
// tag.
void Rack::take_bus(std::unique_lock<std::mutex>& lock, const substrata_transaction& use) {
  Board& board = boards_[use.target];
  if (!in_use_ || !board.takes_bus() || !board.running()) return;
  const Arrival seen{.received = use.start / kPicosecondsPerTick & kClockMask,
                     .stamped = (use.start - use.detail) / kPicosecondsPerTick & kClockMask,
                     .size = use.size,
                     .sender = static_cast<uint8_t>(use.target),
                     .tag = user_of(use.kind)};
  const uint64_t variables = board.variables(seen);
  try {
    record(lock, use.target, {&variables, &seen.received, 1, nullptr, 0, 0});
  } catch (const std::bad_alloc&) {
    add(use.target, kLost, 1);
  }
}

size_t Rack::record(std::unique_lock<std::mutex>& lock, uint32_t node, const Intake& intake) {
  Board& board = boards_[node];
  const bool armed = alarmed(node);
  const bool counting = !board.tracing();
  const Selection selection = board.selection();
  const Board::Recorded done = board.record(intake.variables, intake.clocks, intake.count, armed);
  for (Watch& watch : watches_) {
    if (watch.node != kEveryNode && watch.node != node) continue;
    uint64_t mask = watch.mask;
    if (!watch.bins && intake.packets == nullptr) continue;
    if (watch.bins && (!counting || !mask_in_bins(watch, selection, &mask))) continue;
    const uint64_t value = watch.value & mask;
    uint64_t found = 0;
    uint64_t found_bytes = 0;
    for (size_t i = 0; i < done.taken; ++i) {
      const bool matches = (intake.variables[i] & mask) == value;
      found += static_cast<uint64_t>(matches);
      if (intake.packets != nullptr && matches) found_bytes += intake.packets[i].size;
    }
    watch.packets.add(found);
    watch.bytes.add(found_bytes);
  }
  if (intake.packets != nullptr) {
    uint64_t bytes = intake.bytes;
    uint64_t latency = intake.latency;
    for (size_t i = done.taken; i < intake.count; ++i) {  // behind an interrupt: they come again
      bytes -= intake.packets[i].size;
      latency -= latency_of(arrival_of(intake.packets[i]));
    }
    add(node, kPackets, done.taken);
    add(node, kBytes, bytes);
    add(node, kLatencySum, latency);
  }
  if (done.traced != 0) add(node, kTraceEntries, done.traced);
  if (done.lost != 0) add(node, kLost, done.lost);
  if (done.interrupts == 0) {
    chunk_ = std::min(2 * chunk_, kMostAtOnce);
    return done.taken;
  }
  chunk_ = 1;
  add(node, kInterrupts, done.interrupts);
  if (armed) notify(lock, node);
  return done.taken;
}

// Hands the waiting addresses to those who armed; without the lock, because they may command boards.
void Rack::notify(std::unique_lock<std::mutex>& lock, uint32_t node) {
  uint32_t address = 0;
  while (boards_[node].next_interrupt(&address)) {
    const Selection selection = boards_[node].selection();
    const uint64_t variables = selection.variables(address);
    const std::vector<Alarm> alarms = alarms_;
    lock.unlock();
    for (const Alarm& alarm : alarms) {
      if (!alarm.running || (alarm.node != kEveryNode && alarm.node != node)) continue;
      const uint64_t mask = alarm.mask & selection.mask();
      if ((variables & mask) != (alarm.value & mask)) continue;
      const Sample sample{.address = address, .event_mask = uint64_t{1} << alarm.position};
      alarm.sink.call(alarm.sink.owner, &sample);
    }
    lock.lock();
  }
}

}  // namespace substrata::shrimp
