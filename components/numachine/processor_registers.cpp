// A processor card's registers and memories, as the program reads and writes them.
#include <algorithm>

#include "numachine/processor_card.hpp"

namespace substrata::numachine {
namespace {

constexpr std::uint32_t kModeBits = (1U << 24) - 1;
constexpr std::uint32_t kSramModeBits = (1U << 23) - 1;
constexpr std::uint16_t kCommandBits = (1U << 13) - 1;
constexpr std::uint8_t kRegisterInterrupt = 1U << 5;
constexpr std::uint32_t kInterruptPackets = 2;  // a header and the word that is written

}  // namespace

Answer ProcessorCard::read(std::uint32_t address, std::uint32_t* value) {
  if (address >= kPhaseRead && address < kPhaseRead + kSramWords) {
    *value = phase_;
    phase_ = static_cast<std::uint16_t>(address - kPhaseRead);
    return Answer::kDone;
  }
  if (address >= kSram && address < kSram + kSramWords) {
    *value = sram_[address - kSram];
    return Answer::kDone;
  }
  if (address >= kCounters && address < kCounters + 4) {
    *value = static_cast<std::uint32_t>(counters_[address - kCounters].value());
    return Answer::kDone;
  }
  if (address >= kCountersReset && address < kCountersReset + 4) {
    counting::Counter& counter = counters_[address - kCountersReset];
    *value = static_cast<std::uint32_t>(counter.value());
    counter.set(0);
    return Answer::kDone;
  }
  switch (address) {
    case kPhaseId:
      *value = phase_;
      return Answer::kDone;
    case kPhaseWatch:
      *value = phase_watch_;
      return Answer::kDone;
    case kCommandWatch:
      *value = command_watch_;
      return Answer::kDone;
    case kCommandFilter:
      *value = command_filter_;
      return Answer::kDone;
    case kAddressWatchHigh:
      *value = static_cast<std::uint32_t>(address_watch_ >> 32);
      return Answer::kDone;
    case kAddressWatchLow:
      *value = static_cast<std::uint32_t>(address_watch_);
      return Answer::kDone;
    case kAddressFilterHigh:
      *value = static_cast<std::uint32_t>(address_filter_ >> 32);
      return Answer::kDone;
    case kAddressFilterLow:
      *value = static_cast<std::uint32_t>(address_filter_);
      return Answer::kDone;
    case kCounterMode0:
    case kCounterMode0 + 1:
    case kCounterMode0 + 2:
    case kCounterMode0 + 3:
      *value = modes_[address - kCounterMode0];
      return Answer::kDone;
    case kSramMode:
      *value = sram_mode_;
      return Answer::kDone;
    case kCounterEnable:
      *value = general_enable_ ? 1 : 0;
      return Answer::kDone;
    case kSramEnable:
      *value = sram_enable_ ? 1 : 0;
      return Answer::kDone;
    case kInterruptPending:
      *value = pending_;
      return Answer::kDone;
    case kBarrierRegister:
    case kBarrierRegisterClear:
      *value = barrier_;
      return Answer::kDone;
    case kInterruptRegisters:
    case kInterruptRegisters + 1:
      *value = interrupt_registers_[address - kInterruptRegisters];
      return Answer::kDone;
    case kTraceBuffer:
      *value = traces_ ? 1 : 0;
      return Answer::kDone;
    case kTracePosition:
      *value = traced_;
      return Answer::kDone;
    case kWatchdog:
      *value = watchdog_;
      return Answer::kDone;
    case kWatchdogLine:
      *value = watched_line_;
      return Answer::kDone;
    case kSlowRequest:
      *value = slow_;
      return Answer::kDone;
    case kSlowAddress:
      *value = static_cast<std::uint32_t>(slow_address_ >> 32);
      return Answer::kDone;
    case kSlowAddress + 1:
      *value = static_cast<std::uint32_t>(slow_address_);
      return Answer::kDone;
    case kSlowLatency:
      *value = slow_latency_;
      return Answer::kDone;
    case kTimestamp:
    case kTimestampReset:
      *value = static_cast<std::uint32_t>((now_ - timestamp_base_) >> 32);
      return Answer::kDone;
    case kTimestamp + 1:
    case kTimestampReset + 1:
      *value = static_cast<std::uint32_t>(now_ - timestamp_base_);
      if (address == kTimestampReset + 1) timestamp_base_ = now_;
      return Answer::kDone;
    default:
      return Answer::kReserved;
  }
}

Answer ProcessorCard::write(std::uint32_t address, std::uint32_t value) {
  if (address >= kSram && address < kSram + kSramWords) {
    sram_[address - kSram] = value;
    return Answer::kDone;
  }
  if (address >= kSramAccumulate && address < kSramAccumulate + kSramWords) {
    count_sram(address - kSramAccumulate, value, true);
    return Answer::kDone;
  }
  if (address >= kProfilingStore && address < kProfilingStore + kSramWords) {
    phase_ = static_cast<std::uint16_t>(address - kProfilingStore);
    count_sram(phase_, 1, true);
    return Answer::kDone;
  }
  if ((address >= kCounters && address < kCounters + 4) ||
      (address >= kCountersReset && address < kCountersReset + 4)) {
    counters_[address & 3U].set(value);
    accumulators_[address & 3U] = 0;
    return Answer::kDone;
  }
  switch (address) {
    case kPhaseId:
      phase_ = static_cast<std::uint16_t>(value);
      break;
    case kPhaseWatch:
      phase_watch_ = static_cast<std::uint16_t>(value);
      break;
    case kCommandWatch:
      command_watch_ = static_cast<std::uint16_t>(value & kCommandBits);
      break;
    case kCommandFilter:
      command_filter_ = static_cast<std::uint16_t>(value & kCommandBits);
      break;
    case kAddressWatchHigh:
      address_watch_ = (address_watch_ & 0xffffffffU) | std::uint64_t{value & 0xffU} << 32;
      break;
    case kAddressWatchLow:
      address_watch_ = (address_watch_ & ~std::uint64_t{0xffffffffU}) | value;
      break;
    case kAddressFilterHigh:
      address_filter_ = (address_filter_ & 0xffffffffU) | std::uint64_t{value & 0xffU} << 32;
      break;
    case kAddressFilterLow:
      address_filter_ = (address_filter_ & ~std::uint64_t{0xffffffffU}) | value;
      break;
    case kCounterMode0:
    case kCounterMode0 + 1:
    case kCounterMode0 + 2:
    case kCounterMode0 + 3:
      modes_[address - kCounterMode0] = value & kModeBits;
      break;
    case kSramMode:
      sram_mode_ = value & kSramModeBits;
      break;
    case kCounterEnable:
      general_enable_ = (value & 1U) != 0;
      break;
    case kSramEnable:
      sram_enable_ = (value & 1U) != 0;
      break;
    case kBarrierRegister:
      barrier_ |= value;
      break;
    case kBarrierRegisterClear:
      barrier_ &= ~value;
      break;
    case kInterruptRegisters:
    case kInterruptRegisters + 1:
      interrupt_registers_[address - kInterruptRegisters] |= value;
      packet(kCommandInterrupt | kCommandData, address, false, kInterruptPackets);
      if (value != 0) interrupt(kRegisterInterrupt);
      break;
    case kTraceBuffer:
      traces_ = (value & 1U) != 0;
      traced_ = 0;
      break;
    case kWatchdog:
      watchdog_ = value;
      watched_misses_ = 0;
      break;
    case kSlowRequest:
      slow_ = value & (kTimeoutCycles - 1);
      break;
    case kInterruptPending:
      pending_ &= static_cast<std::uint8_t>(~value);
      if ((value & kRegisterInterrupt) != 0) interrupt_registers_ = {};
      if (pending_ == 0) lower(CounterEvent::kInterruptRequest);
      break;
    case kTimestamp:
    case kTimestamp + 1:
    case kTimestampReset:
    case kTimestampReset + 1:
    case kTracePosition:
    case kWatchdogLine:
    case kSlowAddress:
    case kSlowAddress + 1:
    case kSlowLatency:
      return Answer::kReadOnly;
    default:
      return Answer::kReserved;
  }
  refresh_enabled();
  return Answer::kDone;
}

Answer ProcessorCard::read_doubleword(std::uint32_t address, std::uint64_t* value) {
  if ((address & 1U) != 0) return Answer::kMisaligned;
  if (address == kReserved - 1U) return Answer::kReserved;  // before a half of it is read
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  if (const Answer answer = read(address, &high); answer != Answer::kDone) return answer;
  if (const Answer answer = read(address + 1, &low); answer != Answer::kDone) return answer;
  *value = std::uint64_t{high} << 32 | low;
  return Answer::kDone;
}

Answer ProcessorCard::write_doubleword(std::uint32_t address, std::uint64_t value) {
  if ((address & 1U) != 0) return Answer::kMisaligned;
  // SCM shares its doubleword with the reserved word, the interrupt register with an empty one.
  if (address == kReserved - 1U || address == kInterruptPending) return Answer::kReserved;
  if (const Answer answer = write(address, static_cast<std::uint32_t>(value >> 32)); answer != Answer::kDone)
    return answer;
  return write(address + 1, static_cast<std::uint32_t>(value));
}

void ProcessorCard::power_up() {
  phase_ = phase_watch_ = command_watch_ = command_filter_ = command_ = 0;
  address_watch_ = address_filter_ = address_ = 0;
  modes_ = {};
  sram_mode_ = 0;
  general_enable_ = sram_enable_ = enabled_ = false;
  timestamp_base_ = now_;
  levels_ = pulses_ = previous_ = 0;
  charges_ = {};
  charged_ = sending_ = receiving_ = outstanding_ = false;
  last_latency_ = 0;
  miss_type_ = MissType::kOther;
  response_state_ = 0;
  secondary_index_ = 0;
  for (counting::Counter& counter : counters_) counter.set(0);
  accumulators_ = {};
  pending_ = 0;
  barrier_ = traced_ = watchdog_ = watched_line_ = slow_ = slow_latency_ = 0;
  interrupt_registers_ = {};
  traces_ = false;
  watched_misses_ = slow_address_ = 0;
  circuit_.reset();
  last_write_ = last_miss_ = false;
  std::fill(sram_.begin(), sram_.end(), 0);
}

}  // namespace substrata::numachine
