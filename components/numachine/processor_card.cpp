// Counts the cycles of a processor card's monitor, interval by interval, and takes what happens.
#include "processor_card.hpp"

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

}  // namespace

void ProcessorCard::refresh_enabled() noexcept {
  bool any = false;
  for (unsigned i = 0; i < 4; ++i) any = any || counter_on(i);
  const bool sram = sram_enable_ && sram_event_of(sram_mode_) != SramEvent::kNothing;
  enabled_ = any || sram;
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
  count_cycle(static_cast<std::uint16_t>(levels_ | pulses_), 1, true);
  previous_ = static_cast<std::uint16_t>(levels_ | pulses_);
  pulses_ = 0;
  sending_ = receiving_ = false;
  charged_[0] = charged_[1] = false;
  if (pending_ != 0) raise(CounterEvent::kInterruptRequest);
  // An overflow raises the interrupt request in the cycle after it, so no step goes past one.
  for (std::uint64_t rest = cycles - 1; rest != 0;) {
    const std::uint64_t step = pending_ != 0 ? rest : std::min(rest, cycles_to_overflow());
    count_cycle(levels_, step, false);
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
  if ((sram_mode_ & kSramOverflowInterrupt) != 0)
    least = std::min(least, (std::uint64_t{1} << 32) - sram_[sram_address()]);
  return least;
}

void ProcessorCard::count_cycle(std::uint16_t levels, std::uint64_t cycles, bool first) {
  const Terms now = terms();
  const auto rising = static_cast<std::uint16_t>(levels & ~previous_);
  for (unsigned i = 0; i < 4; ++i) {
    if (!counter_on(i)) continue;
    const std::uint32_t mode = modes_[i];
    const CounterEvent event = event_of(mode);
    if (event == CounterEvent::kNothing || event == CounterEvent::kPipeline) continue;
    // Reset by every request, whatever the masks say (event B).
    if (event == CounterEvent::kMostRecent && (rising & bit(event)) != 0) counters_[i].set(0);
    if (!passes(mode, now)) continue;
    if (event == CounterEvent::kAlways) {
      if ((mode & kTransitions) == 0) add(i, cycles);  // never low, so it has no transitions
      continue;
    }
    if (event == CounterEvent::kOwnershipSuccessful || event == CounterEvent::kOwnershipCancelled) {
      const auto which =
          static_cast<unsigned>(event) - static_cast<unsigned>(CounterEvent::kOwnershipSuccessful);
      if (first && charged_[which]) add(i, (mode & kTransitions) != 0 ? 1 : charges_[which]);
      continue;
    }
    if ((mode & kTransitions) != 0) {
      if ((rising & bit(event)) != 0) add(i, 1);
    } else if ((levels & bit(event)) != 0) {
      add(i, cycles);
    }
  }
  if (sram_enable_ && sram_event_of(sram_mode_) == SramEvent::kAlways && (sram_mode_ & kTransitions) == 0 &&
      passes(sram_mode_, now)) {
    count_sram(sram_address(), cycles, false);
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
  pending_ |= which;
  if (sink_.call != nullptr) sink_.call(sink_.owner, pending_);
}

void ProcessorCard::charge(CounterEvent event, std::uint32_t cycles) noexcept {
  const auto which = static_cast<unsigned>(event) - static_cast<unsigned>(CounterEvent::kOwnershipSuccessful);
  if (which > 1) return;
  charges_[which] = cycles;
  charged_[which] = true;
}

void ProcessorCard::packet(std::uint16_t command, std::uint64_t address, bool sending) noexcept {
  command_ = command & kCommandBits;
  address_ = address & kAddressBits;
  (sending ? sending_ : receiving_) = true;
  pulse(CounterEvent::kBusActivity);
}

void ProcessorCard::pipeline(Pipeline state, std::uint64_t cycles) {
  if (!general_enable_ || cycles == 0) return;
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
  if (wanted && passes(sram_mode_, terms())) count_sram(secondary_index_, 1, true);
}

void ProcessorCard::request(std::uint16_t command, std::uint64_t address) {
  packet(command, address, true);
  outstanding_ = true;
  request_cycle_ = now_;
  // Without the receiving mask the request counts as well, before the response state is known: the mistake
  // that section 4.4.5 warns of.
  if (sram_enable_ && sram_event_of(sram_mode_) == SramEvent::kTransaction && passes(sram_mode_, terms())) {
    count_sram(sram_address(), 1, true);
  }
}

void ProcessorCard::response(std::uint16_t command, std::uint64_t address, MissType type,
                             std::uint8_t response_state) {
  packet(command, address, false);
  last_latency_ = latency_timer();
  outstanding_ = false;
  miss_type_ = type;
  response_state_ = response_state & 0x1fU;
  if (sram_enable_ && sram_event_of(sram_mode_) == SramEvent::kTransaction && passes(sram_mode_, terms())) {
    count_sram(sram_address(), 1, true);
  }
}

std::uint32_t ProcessorCard::latency_timer() const noexcept {
  if (!outstanding_) return last_latency_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(now_ - request_cycle_, kTimeoutCycles - 1));
}

// Figure 4.9: three fields, 5, 7 and 4 bits wide. The latency timer takes the middle one (compact) or the
// upper two (whole); the fields of the configuration controller come from PR, RSR, MTR or AR[39..32,26..19].
// MTR lies in the two lowest bits; RSR and MTR go before PR where both are chosen (our own reading, as the
// figure is not in our text).
std::uint32_t ProcessorCard::sram_address() const noexcept {
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
  const std::uint32_t latency = latency_timer();
  if (mode == SramMode::kLatency) return (latency << 4) | low;
  if (mode == SramMode::kLatencyCompact) middle = std::uint32_t{compact_latency(latency)} << 4;
  return high | middle | low;
}

}  // namespace substrata::numachine
