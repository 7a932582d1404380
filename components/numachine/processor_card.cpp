// Counts the cycles of a processor card's monitor, interval by interval, and takes what happens.
#include "numachine/processor_card.hpp"

#include <algorithm>
#include <bit>

namespace substrata::numachine {
namespace {

constexpr std::uint64_t kAddressBits = (std::uint64_t{1} << 40) - 1;
constexpr std::uint16_t kCommandBits = (1U << 13) - 1;

CounterEvent event_of(std::uint32_t mode) noexcept {
  return static_cast<CounterEvent>((mode >> kEventShift) & 0xfU);
}
SramEvent sram_event_of(std::uint32_t mode) noexcept {
  return static_cast<SramEvent>((mode >> kEventShift) & 0xfU);
}
SramMode sram_mode_of(std::uint32_t mode) noexcept {
  return static_cast<SramMode>((mode >> kSramModeShift) & 3U);
}
bool is_charged(CounterEvent event) noexcept {
  return event == CounterEvent::kOwnershipSuccessful || event == CounterEvent::kOwnershipCancelled ||
         event == CounterEvent::kBusRequest;
}
bool selects_direction(std::uint32_t mode) noexcept {
  return (mode & kEnableMasks) != 0 && (mode & (kSendingMask | kReceivingMask)) != 0;
}

}  // namespace

void ProcessorCard::refresh_enabled() noexcept {
  bool any = false;
  for (unsigned i = 0; i < 4; ++i) any = any || counter_on(i);
  const bool sram = sram_enable_ && sram_event_of(sram_mode_) != SramEvent::kNothing;
  enabled_ = any || sram || traces_ || slow_ != 0 || circuit_ != nullptr;
}

void ProcessorCard::configure(Circuit circuit) {
  circuit_ = circuit.empty() ? nullptr : std::make_unique<Circuit>(std::move(circuit));
  refresh_enabled();
}

void ProcessorCard::drive(Circuit::Event event, bool sending, std::uint32_t packets) {
  Circuit::Signals signals{};
  signals[Circuit::kAddress] = address_;
  signals[Circuit::kCommand] = command_;
  signals[Circuit::kPhase] = phase_;
  signals[Circuit::kCycle] = now_;
  signals[Circuit::kLatency] = latency_timer();
  signals[Circuit::kIndex] = secondary_index_;
  signals[Circuit::kMiss] = last_miss_ ? 1 : 0;
  signals[Circuit::kWrite] = last_write_ ? 1 : 0;
  signals[Circuit::kSending] = sending ? 1 : 0;
  signals[Circuit::kPackets] = packets;
  signals[Circuit::kMissType] = static_cast<std::uint64_t>(miss_type_);
  signals[Circuit::kResponseState] = response_state_;
  circuit_->drive(event, signals, *this);
}

void ProcessorCard::write_sram(std::uint64_t word, std::uint64_t value, bool adds) {
  if (!sram_enable_) return;
  const auto place = static_cast<std::uint32_t>(word & (kSramWords - 1));
  if (adds) {
    count_sram(place, value & 0xffffffffU, false);
  } else {
    sram_[place] = static_cast<std::uint32_t>(value);
  }
}

void ProcessorCard::write_counter(std::uint64_t number, std::uint64_t value, bool adds) {
  if (!general_enable_) return;
  const auto which = static_cast<unsigned>(number & 3U);
  if (adds) {
    add(which, value & 0xffffffffU);
  } else {
    counters_[which].set(value & 0xffffffffU);
  }
}

// Figure 4.7. Bit 9 enables the masks below it; the enabled comparisons, each inverted or not, are combined
// by AND together with the direction masks; bit 8 inverts the whole, which turns inverted comparisons into an
// OR. (The figure itself is not in our text of the thesis; this is the reading of bits 9..8 under which
// "merge multiple comparisons in an OR fashion", section 4.4.4, is possible.)
bool ProcessorCard::passes(std::uint32_t mode, const Terms& terms) noexcept {
  if ((mode & kEnableMasks) == 0) return true;
  bool all = true;
  if ((mode & kEnablePhase) != 0) all = all && (terms.phase != ((mode & kInvertPhase) != 0));
  if ((mode & kEnableAddress) != 0) all = all && (terms.address != ((mode & kInvertAddress) != 0));
  if ((mode & kEnableCommand) != 0) all = all && (terms.command != ((mode & kInvertCommand) != 0));
  if ((mode & (kSendingMask | kReceivingMask)) != 0) {
    all = all && (((mode & kSendingMask) != 0 && terms.sending) ||
                  ((mode & kReceivingMask) != 0 && terms.receiving));
  }
  return all != ((mode & kInvertMasks) != 0);
}

ProcessorCard::Terms ProcessorCard::terms() const noexcept {
  return {phase_ == phase_watch_, (address_ & address_filter_) == address_watch_,
          (command_ & command_filter_) == command_watch_, sending_, receiving_};
}

void ProcessorCard::count_until(std::uint64_t cycle) {
  const std::uint64_t cycles = cycle - now_;
  count_cycle(static_cast<std::uint16_t>(levels_ | pulses_), now_, 1, true);
  previous_ = static_cast<std::uint16_t>(levels_ | pulses_);
  pulses_ = 0;
  sending_ = receiving_ = false;
  if (charged_) charges_ = {};
  charged_ = false;
  if (pending_ != 0) raise(CounterEvent::kInterruptRequest);
  // An overflow raises the interrupt request in the cycle after it, so no step goes past one.
  for (std::uint64_t rest = cycles - 1; rest != 0;) {
    const std::uint64_t step = pending_ != 0 ? rest : std::min(rest, cycles_to_overflow());
    count_cycle(levels_, cycle - rest, step, false);
    previous_ = levels_;
    rest -= step;
    if (pending_ != 0) raise(CounterEvent::kInterruptRequest);
  }
}

std::uint64_t ProcessorCard::cycles_to_overflow() const noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned i = 0; i < 4; ++i) {
    if ((modes_[i] & kOverflowInterrupt) != 0)
      least = std::min(least, (std::uint64_t{1} << 32) - counters_[i].value());
  }
  if ((sram_mode_ & kSramOverflowInterrupt) != 0) {
    // The address moves on with the latency timer.
    const bool moves = outstanding_ && (sram_mode_of(sram_mode_) == SramMode::kLatency ||
                                        sram_mode_of(sram_mode_) == SramMode::kLatencyCompact);
    least = std::min(least, moves ? 1 : (std::uint64_t{1} << 32) - sram_[sram_address()]);
  }
  return least;
}

void ProcessorCard::count_cycle(std::uint16_t levels, std::uint64_t from, std::uint64_t cycles, bool first) {
  if (circuit_ != nullptr) return;
  const Terms now = terms();
  const auto rising = static_cast<std::uint16_t>(levels & ~previous_);
  for (unsigned i = 0; i < 4; ++i) {
    if (!counter_on(i)) continue;
    const std::uint32_t mode = modes_[i];
    const CounterEvent event = event_of(mode);
    if (event == CounterEvent::kNothing || event == CounterEvent::kPipeline ||
        event == CounterEvent::kBusActivity) {
      continue;  // the last two are counted as they come
    }
    // Reset by every request, whatever the masks say (event B).
    if (event == CounterEvent::kMostRecent && (rising & bit(event)) != 0) counters_[i].set(0);
    if (!passes(mode, now)) continue;
    if (event == CounterEvent::kAlways) {
      if ((mode & kTransitions) == 0) add(i, cycles);  // never low, so it has no transitions
      continue;
    }
    if (is_charged(event)) {
      const Charge& charge = charges_[static_cast<unsigned>(event)];
      if (first && charged_) add(i, (mode & kTransitions) != 0 ? charge.times : charge.cycles);
      continue;
    }
    if ((mode & kTransitions) != 0) {
      if ((rising & bit(event)) != 0) add(i, 1);
    } else if ((levels & bit(event)) != 0) {
      add(i, cycles);
    }
  }
  if (sram_counts_cycles() && passes(sram_mode_, now)) count_sram_cycles(from, cycles);
}

// Event 1, and event 6 while a request is outstanding: its latency, unless the masks choose its packets.
bool ProcessorCard::sram_counts_cycles() const noexcept {
  if (!sram_enable_ || (sram_mode_ & kTransitions) != 0) return false;
  switch (sram_event_of(sram_mode_)) {
    case SramEvent::kAlways:
      return true;
    case SramEvent::kTransaction:
      return outstanding_ && !selects_direction(sram_mode_);
    default:
      return false;
  }
}

void ProcessorCard::count_sram_cycles(std::uint64_t from, std::uint64_t cycles) {
  const SramMode mode = sram_mode_of(sram_mode_);
  if (!outstanding_ || (mode != SramMode::kLatency && mode != SramMode::kLatencyCompact)) {
    count_sram(sram_address(), cycles, false);
    return;
  }
  for (std::uint64_t cycle = from; cycle < from + cycles; ++cycle) {
    const std::uint64_t latency = std::min<std::uint64_t>(cycle - request_cycle_, kTimeoutCycles - 1);
    count_sram(sram_address(static_cast<std::uint32_t>(latency)), 1, false);
  }
}

void ProcessorCard::add(unsigned number, std::uint64_t amount) {
  const std::uint64_t sum = counters_[number].value() + amount;
  counters_[number].set(sum & 0xffffffffU);
  if ((sum >> 32) != 0 && (modes_[number] & kOverflowInterrupt) != 0) {
    interrupt(static_cast<std::uint8_t>(1U << number));
  }
}

void ProcessorCard::count_sram(std::uint32_t address, std::uint64_t amount, bool gated) {
  if (gated && !sram_enable_) return;
  std::uint32_t& word = sram_[address & (kSramWords - 1)];
  const std::uint64_t sum = word + amount;
  word = static_cast<std::uint32_t>(sum);
  if ((sum >> 32) != 0 && (sram_mode_ & kSramOverflowInterrupt) != 0) interrupt(1U << 4);
}

void ProcessorCard::interrupt(std::uint8_t which) {
  if (pending_ == 0) ++interrupts_;
  pending_ |= which;
  if (sink_.call != nullptr) sink_.call(sink_.owner, pending_);
}

void ProcessorCard::charge(CounterEvent event, std::uint32_t cycles) noexcept {
  Charge& charge = charges_[static_cast<unsigned>(event)];
  charge.cycles += cycles;
  ++charge.times;
  charged_ = true;
}

void ProcessorCard::packet(std::uint16_t command, std::uint64_t address, bool sending,
                           std::uint32_t packets) {
  command_ = command & kCommandBits;
  address_ = address & kAddressBits;
  (sending ? sending_ : receiving_) = true;
  if (traces_) [[unlikely]]
    trace(sending);
  if (circuit_ != nullptr) return drive(Circuit::kPacket, sending, packets);
  // Several may share a cycle, so each is held against the masks by itself.
  Terms own = terms();
  own.sending = sending;
  own.receiving = !sending;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t mode = modes_[i];
    if (counter_on(i) && event_of(mode) == CounterEvent::kBusActivity && passes(mode, own))
      add(i, (mode & kTransitions) != 0 ? 1 : packets);
  }
}

void ProcessorCard::pipeline(Pipeline state, std::uint64_t cycles) {
  if (!general_enable_ || cycles == 0 || circuit_ != nullptr) return;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t mode = modes_[i];
    if (!counter_on(i) || event_of(mode) != CounterEvent::kPipeline) continue;
    if (!counts_pipeline((mode >> kPipelineShift) & 0x7fU, state) || !passes(mode, terms())) continue;
    const std::uint64_t sum = accumulators_[i] + cycles;
    accumulators_[i] = static_cast<std::uint8_t>(sum & 3U);
    if ((sum >> 2) != 0) add(i, sum >> 2);
  }
}

void ProcessorCard::secondary_access(std::uint32_t index, bool write, bool miss) {
  secondary_index_ = index & (kSramWords - 1);
  last_write_ = write;
  last_miss_ = miss;
  if (circuit_ != nullptr) return drive(Circuit::kAccess, false, 0);
  if (!sram_enable_ || sram_mode_of(sram_mode_) != SramMode::kSecondaryCache) return;
  bool wanted = false;
  switch (sram_event_of(sram_mode_)) {
    case SramEvent::kSecondaryAccess:
      wanted = true;
      break;
    case SramEvent::kSecondaryRead:
      wanted = !write;
      break;
    case SramEvent::kSecondaryWrite:
      wanted = write;
      break;
    case SramEvent::kSecondaryMiss:
      wanted = miss;
      break;
    default:
      break;
  }
  if (!wanted || !passes(sram_mode_, terms())) return;
  count_sram(secondary_index_, 1, true);
  if (watchdog_ != 0) [[unlikely]]
    watch(secondary_index_);
}

// All misses counted, shifted by the logarithm of the lines, against those of the line that just missed.
void ProcessorCard::watch(std::uint32_t index) {
  const std::uint64_t average = ++watched_misses_ >> (std::bit_width(cache_lines_) - 1);
  if (sram_[index] <= average || sram_[index] - average <= watchdog_) return;
  watched_line_ = index;
  interrupt(1U << 6);
}

// Four words a packet: its cycle, its direction and command, its address.
void ProcessorCard::trace(bool sending) {
  const auto put = [this](std::uint64_t word) {
    sram_[traced_++ % kSramWords] = static_cast<std::uint32_t>(word);
  };
  put(now_);
  put(command_ | (sending ? std::uint32_t{1} << 31 : 0U));
  put(address_ >> 32);
  put(address_);
}

// Without the receiving mask the request counts as well, before the response state is known: the mistake
// that section 4.4.5 warns of. Without a direction, bit 10 decides between transactions and their latency.
void ProcessorCard::count_transaction() {
  if (circuit_ != nullptr) return;
  if (!sram_enable_ || sram_event_of(sram_mode_) != SramEvent::kTransaction) return;
  if ((sram_mode_ & kTransitions) == 0 && !selects_direction(sram_mode_)) return;
  if (passes(sram_mode_, terms())) count_sram(sram_address(), 1, true);
}

void ProcessorCard::request(std::uint16_t command, std::uint64_t address) {
  packet(command, address, true);
  outstanding_ = true;
  request_cycle_ = now_;
  if (circuit_ != nullptr) drive(Circuit::kRequest, true, 1);
  count_transaction();
}

void ProcessorCard::response(std::uint16_t command, std::uint64_t address, MissType type,
                             std::uint8_t response_state, std::uint32_t packets) {
  packet(command, address, false, packets);
  last_latency_ = latency_timer();
  outstanding_ = false;
  miss_type_ = type;
  response_state_ = response_state & 0x1fU;
  if (circuit_ != nullptr) drive(Circuit::kResponse, false, packets);
  if (slow_ != 0 && last_latency_ >= slow_) [[unlikely]] {
    slow_address_ = address_;
    slow_latency_ = last_latency_;
    interrupt(1U << 7);
  }
  count_transaction();
}

void ProcessorCard::bus_error() noexcept {
  last_latency_ = kTimeoutCycles - 1;
  outstanding_ = false;
}

std::uint32_t ProcessorCard::latency_timer() const noexcept {
  if (!outstanding_) return last_latency_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(now_ - request_cycle_, kTimeoutCycles - 1));
}

// Figure 4.9: three fields, 5, 7 and 4 bits wide. The latency timer takes the middle one (compact) or the
// upper two (whole); the fields of the configuration controller come from PR, RSR, MTR or AR[39..32,26..19].
// MTR lies in the two lowest bits; RSR and MTR go before PR where both are chosen (our own reading, as the
// figure is not in our text).
std::uint32_t ProcessorCard::sram_address() const noexcept { return sram_address(latency_timer()); }

std::uint32_t ProcessorCard::sram_address(std::uint32_t latency) const noexcept {
  const SramMode mode = sram_mode_of(sram_mode_);
  if (mode == SramMode::kSecondaryCache) return secondary_index_;
  const auto from_address =
      static_cast<std::uint32_t>(((address_ >> 32) & 0xffU) << 8 | ((address_ >> 19) & 0xffU));
  const auto field = [&](std::uint32_t mux, std::uint32_t mask) {
    return ((sram_mode_ & mux) != 0 ? phase_ : from_address) & mask;
  };
  std::uint32_t high = field(kMuxPhaseHigh, 0xf800U);
  if ((sram_mode_ & kMuxResponse) != 0) high = std::uint32_t{response_state_} << 11;
  std::uint32_t middle = field(kMuxPhaseMiddle, 0x07f0U);
  std::uint32_t low = field(kMuxPhaseLow, 0x000fU);
  if ((sram_mode_ & kMuxMiss) != 0) low = (low & 0xcU) | static_cast<std::uint32_t>(miss_type_);
  if (mode == SramMode::kLatency) return (latency << 4) | low;
  if (mode == SramMode::kLatencyCompact) middle = std::uint32_t{compact_latency(latency)} << 4;
  return high | middle | low;
}

}  // namespace substrata::numachine
