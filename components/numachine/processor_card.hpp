// The performance monitor of a NUMAchine processor card as a device: registers, counters, SRAM, latency
// timer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/counting/counter.hpp"
#include "numachine/circuit.hpp"

// Source of everything here: G. Lemieux, "Hardware Performance Monitoring in Multiprocessors", M.A.Sc.
// thesis, University of Toronto, 1996, chapter 4. Where the thesis leaves something open the comment says
// "our own".
namespace substrata::numachine {

// Word addresses of the user configuration registers (table 4.4).
enum Register : std::uint32_t {
  kPhaseId = 0x0,       // PR, 16 bits
  kPhaseWatch = 0x1,    // PW, 16 bits
  kCommandWatch = 0x2,  // CW, 13 bits
  kCommandFilter = 0x3,
  kAddressWatchHigh = 0x4,  // AWhi, 8 bits: 39..32
  kAddressWatchLow = 0x5,
  kAddressFilterHigh = 0x6,
  kAddressFilterLow = 0x7,
  kCounterMode0 = 0x8,  // GPCM0..3, 24 bits
  kSramMode = 0xc,      // SCM, 23 bits
  kReserved = 0xd,
  kCounterEnable = 0xe,  // GPCE, 1 bit
  kSramEnable = 0xf      // SRAMCE, 1 bit
};

// Word addresses of what lies beyond the configuration registers. The thesis gives no addresses for it
// (section 4.3); these are our own.
inline constexpr std::uint32_t kCounters = 0x10;       // four general-purpose counters, read and write
inline constexpr std::uint32_t kCountersReset = 0x14;  // the same; a read also resets (section 4.3.3)
inline constexpr std::uint32_t kInterruptPending =
    0x18;                                          // bits 0-3 counters, bit 4 SRAM; a one written clears
inline constexpr std::uint32_t kTimestamp = 0x1a;  // bus cycles, upper word; lower word at 0x1b; read only
inline constexpr std::uint32_t kTimestampReset = 0x1c;  // the same; a read of the lower word resets (3.4.1)
// The registers that share the counters' circuit (section 4.3.3): a write sets bits, on all cards by a broadcast write,
// and a processor spins on its own card; a one written to the clearing address takes a bit away. The interrupt
// registers raise bit 5 of the pending interrupts.
inline constexpr std::uint32_t kBarrierRegister = 0x21;
inline constexpr std::uint32_t kBarrierRegisterClear = 0x22;
inline constexpr std::uint32_t kInterruptRegisters = 0x23;  // two
// Other circuits for the Configuration Controller (hard configurations, section 4.3.1), each off while its register is
// 0.
inline constexpr std::uint32_t kTraceBuffer = 0x25;    // 1: the SRAM is a trace buffer (section 5.2)
inline constexpr std::uint32_t kTracePosition = 0x26;  // words written; read only
inline constexpr std::uint32_t kWatchdog = 0x27;       // misses of a line above the average (section 3.3.2)
inline constexpr std::uint32_t kWatchdogLine = 0x28;   // that raised bit 6 last; read only
inline constexpr std::uint32_t kSlowRequest = 0x29;    // bus cycles of latency
inline constexpr std::uint32_t kSlowAddress =
    0x2a;  // of the request that raised bit 7 last, upper word; read only
inline constexpr std::uint32_t kSlowLatency = 0x2c;  // its latency; read only
inline constexpr std::uint32_t kSram = 0x10000;      // 64 K words
// A word written here is added to the SRAM word of the same number: basic block timing, item 23 of
// table 4.10, which the hardware did not implement (section 4.3.5).
inline constexpr std::uint32_t kSramAccumulate = 0x20000;
// A store here sets PR to the word's number and counts one in the SRAM word of that number: the profiling
// store of section 3.4.2, PhaseID changed by the address of a write (section 4.4.1, footnote 2).
inline constexpr std::uint32_t kProfilingStore = 0x30000;
// A read here sets PR to the word's number and gives what it was (section 3.3.1, footnote 2).
inline constexpr std::uint32_t kPhaseRead = 0x40000;
inline constexpr std::uint32_t kAddressEnd = 0x50000;
inline constexpr std::uint32_t kSramWords = 0x10000;

// Selections of GPCMx[14..11] (table 4.5).
enum class CounterEvent : std::uint8_t {
  kNothing = 0x0,
  kAlways = 0x1,
  kPipeline = 0x2,
  kInterruptRequest = 0x3,
  kRead = 0x4,
  kReadExclusive = 0x5,
  kReadOrExclusive = 0x6,
  kOwnershipSuccessful = 0x7,
  kOwnershipCancelled = 0x8,
  kNackRetry = 0x9,
  kNackCycles = 0xa,
  kMostRecent = 0xb,
  kBusActivity = 0xc,
  kBusRequest = 0xd,
  kInvalidationHit = 0xe,
  kInvalidationMiss = 0xf
};

// Selections of SCM[14..11] (table 4.6).
enum class SramEvent : std::uint8_t {
  kNothing = 0,
  kAlways = 1,
  kSecondaryAccess = 2,
  kSecondaryRead = 3,
  kSecondaryWrite = 4,
  kSecondaryMiss = 5,
  kTransaction = 6
};

// SCM[21..20] (table 4.7).
enum class SramMode : std::uint8_t {
  kSecondaryCache = 0,
  kLatency = 1,
  kConfigured = 2,
  kLatencyCompact = 3
};

// Bits of a mode register. The low eleven are the same in GPCMx and SCM.
inline constexpr std::uint32_t kReceivingMask = 1U << 0;
inline constexpr std::uint32_t kSendingMask = 1U << 1;
inline constexpr std::uint32_t kInvertCommand = 1U << 2;
inline constexpr std::uint32_t kEnableCommand = 1U << 3;
inline constexpr std::uint32_t kInvertAddress = 1U << 4;
inline constexpr std::uint32_t kEnableAddress = 1U << 5;
inline constexpr std::uint32_t kInvertPhase = 1U << 6;
inline constexpr std::uint32_t kEnablePhase = 1U << 7;
inline constexpr std::uint32_t kInvertMasks = 1U << 8;
inline constexpr std::uint32_t kEnableMasks = 1U << 9;
inline constexpr std::uint32_t kTransitions = 1U << 10;
inline constexpr unsigned kEventShift = 11;
// GPCMx.
inline constexpr std::uint32_t kOverflowInterrupt = 1U << 15;
inline constexpr unsigned kPipelineShift = 16;
inline constexpr std::uint32_t kCounterOn = 1U << 23;
// SCM.
inline constexpr std::uint32_t kMuxPhaseLow = 1U << 15;
inline constexpr std::uint32_t kMuxPhaseMiddle = 1U << 16;
inline constexpr std::uint32_t kMuxPhaseHigh = 1U << 17;
inline constexpr std::uint32_t kMuxResponse = 1U << 18;
inline constexpr std::uint32_t kMuxMiss = 1U << 19;
inline constexpr unsigned kSramModeShift = 20;
inline constexpr std::uint32_t kSramOverflowInterrupt = 1U << 22;

// A pipeline state of the R4400 (table 2.3).
enum class Pipeline : std::uint8_t {
  kOtherInteger = 0x0,
  kLoad = 0x1,
  kBranchUntaken = 0x2,
  kBranchTaken = 0x3,
  kStore = 0x4,
  kReserved = 0x5,
  kMultiprocessorStall = 0x6,
  kIntegerSlip = 0x7,
  kOtherStall = 0x8,
  kInstructionCacheStall = 0x9,
  kDataCacheStall = 0xa,
  kSecondaryStall = 0xb,
  kOtherFloat = 0xc,
  kBranchDelayKilled = 0xd,
  kExceptionKilled = 0xe,
  kFloatSlip = 0xf
};

// Does a counter with the configuration PS[6..0] count a cycle in that state? (tables 4.2 and 4.3)
bool counts_pipeline(std::uint32_t ps, Pipeline state) noexcept;

// Miss Type Register (table 4.8).
enum class MissType : std::uint8_t {
  kOwnershipSuccessful = 0,
  kOwnershipCancelled = 1,
  kInvalidation = 2,
  kOther = 3
};

// Bits of the Response State Register (table 4.9).
inline constexpr std::uint8_t kResponseExclusive = 1U << 0;     // RSR[0]: read exclusive or upgrade
inline constexpr std::uint8_t kResponseRemote = 1U << 1;        // RSR[1]: remote address
inline constexpr std::uint8_t kResponseValid = 1U << 2;         // RSR[2]
inline constexpr std::uint8_t kResponseGlobal = 1U << 3;        // RSR[3]
inline constexpr std::uint8_t kResponseNetworkCache = 1U << 4;  // RSR[4]: network cache hit

// The 13-bit command of a packet. The thesis names what it conveys (section 4.4.2) and no encoding; this one is
// our own.
enum Command : std::uint16_t {
  kCommandRead = 1U << 0,
  kCommandReadExclusive = 1U << 1,
  kCommandUpgrade = 1U << 2,
  kCommandUpdate = 1U << 3,
  kCommandWriteBack = 1U << 4,
  kCommandInvalidate = 1U << 5,
  kCommandIntervention = 1U << 6,
  kCommandUncached = 1U << 7,
  kCommandCacheLine = 1U << 8,
  kCommandResponse = 1U << 9,
  kCommandData = 1U << 10,
  kCommandNack = 1U << 11,
  kCommandInterrupt = 1U << 12
};

// Fields of the 64-bit address of a transaction (table 4.1).
struct BusAddress {
  std::uint8_t source_mask = 0;       // 63..56
  std::uint8_t processor = 0;         // 55..52
  std::uint8_t phase = 0;             // 51..48
  std::uint8_t destination_mask = 0;  // 47..40
  std::uint8_t station = 0;           // 39..36
  std::uint8_t magic = 0;             // 35..32
  std::uint8_t reserved = 0;          // 31..28
  std::uint32_t physical = 0;         // 27..0
  bool operator==(const BusAddress&) const = default;
};
std::uint64_t pack(const BusAddress& address) noexcept;
BusAddress unpack(std::uint64_t address) noexcept;

// The latency timer (section 4.3.6): a bus error ends a request after 4096 cycles.
inline constexpr std::uint32_t kTimeoutCycles = 4096;
// 12 bits of time in seven: exponent in bits 6..4, mantissa in 3..0. Times above 4095 are taken as 4095.
std::uint8_t compact_latency(std::uint32_t cycles) noexcept;
// The times that have one compact value.
struct LatencyBucket {
  std::uint32_t first;
  std::uint32_t last;
};
LatencyBucket latency_bucket(std::uint8_t compact) noexcept;

// What an access to the monitor's address space came to.
enum class Answer : std::uint8_t { kDone, kReserved, kReadOnly, kMisaligned };

// One monitor. What happens around it is reported in the order of bus cycles: at() moves time; then levels,
// pulses and registers of that cycle are set; the cycle is counted when time moves on. Counters can be looked
// at from any thread (counter()); everything else is thread-bound.
class ProcessorCard final : private Circuit::Outputs {
 public:
  ProcessorCard() : sram_(kSramWords) {}

  // The address space, by word address. A doubleword access takes an even address; its upper half is the word
  // of the lower address (big-endian word order, section 4.4.3).
  Answer read(std::uint32_t address, std::uint32_t* value);
  Answer write(std::uint32_t address, std::uint32_t value);
  Answer read_doubleword(std::uint32_t address, std::uint64_t* value);
  Answer write_doubleword(std::uint32_t address, std::uint64_t value);

  // May anything be counted? The driver may skip everything below, but at(), while not.
  bool enabled() const noexcept { return enabled_; }

  // Counts the cycles up to `cycle`, which then is the current one. Earlier than now: nothing happens.
  void at(std::uint64_t cycle) {
    if (cycle > now_ && enabled_) count_until(cycle);
    if (cycle > now_) now_ = cycle;
  }
  std::uint64_t now() const noexcept { return now_; }

  // A level of table 4.5, from the current cycle on.
  void raise(CounterEvent event) noexcept { levels_ |= bit(event); }
  void lower(CounterEvent event) noexcept { levels_ &= static_cast<std::uint16_t>(~bit(event)); }
  // An event of one cycle.
  void pulse(CounterEvent event) noexcept { pulses_ |= bit(event); }
  // One occurrence of an event whose length is known only at its end (7, 8, D): counted whole in the current cycle.
  void charge(CounterEvent event, std::uint32_t cycles) noexcept;
  // A transaction of that many packets passes the external agent: sets the command and address registers, takes the
  // bus for a cycle a packet, and asserts the sending or receiving side for this cycle.
  void packet(std::uint16_t command, std::uint64_t address, bool sending, std::uint32_t packets = 1);
  // `cycles` processor cycles in a pipeline state, gated by the counters' enables of the current cycle.
  void pipeline(Pipeline state, std::uint64_t cycles);
  // The processor probes the secondary cache at that line index.
  void secondary_access(std::uint32_t index, bool write, bool miss);
  // A cache line request goes out (starts the latency timer) and comes back (with its kind and response
  // state).
  void request(std::uint16_t command, std::uint64_t address);
  void response(std::uint16_t command, std::uint64_t address, MissType type, std::uint8_t response_state,
                std::uint32_t packets = 1);
  // The request ends in a bus error instead (section 4.3.6).
  void bus_error() noexcept;

  std::uint32_t latency_timer() const noexcept;
  std::uint16_t phase() const noexcept { return phase_; }
  void set_phase(std::uint16_t phase) noexcept { phase_ = phase; }
  std::uint8_t pending_interrupts() const noexcept { return pending_; }
  // How often the interrupt line went up, whether acknowledged since or not.
  std::uint64_t interrupts() const noexcept { return interrupts_; }
  const counting::Counter& counter(unsigned number) const noexcept { return counters_[number]; }
  std::uint32_t sram(std::uint32_t word) const noexcept { return sram_[word & (kSramWords - 1)]; }
  const std::vector<std::uint32_t>& sram() const noexcept { return sram_; }
  // Where the SRAM would be addressed now (figure 4.9).
  std::uint32_t sram_address() const noexcept;
  // Lines of the secondary cache, for the watchdog's average; 65536 as made.
  void set_cache_lines(std::uint64_t lines) noexcept { cache_lines_ = lines; }
  // A hard configuration: the circuit counts in place of the Master Configuration Controller, gated by its master
  // enables. One without statements: that controller again.
  void configure(Circuit circuit);
  // As made, time and the sink excepted.
  void power_up();
  // Called when an enabled overflow interrupt comes up; may be null.
  struct InterruptSink {
    void (*call)(void* owner, std::uint8_t pending) = nullptr;
    void* owner = nullptr;
  };
  void on_interrupt(InterruptSink sink) noexcept { sink_ = sink; }

 private:
  static constexpr std::uint16_t bit(CounterEvent event) noexcept {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(event));
  }
  struct Terms {
    bool phase, address, command, sending, receiving;
  };
  static bool passes(std::uint32_t mode, const Terms& terms) noexcept;
  Terms terms() const noexcept;
  bool counter_on(unsigned number) const noexcept {
    return general_enable_ && (modes_[number] & kCounterOn) != 0;
  }
  void count_until(std::uint64_t cycle);
  std::uint64_t cycles_to_overflow() const noexcept;
  void count_cycle(std::uint16_t levels, std::uint64_t from, std::uint64_t cycles, bool first);
  bool sram_counts_cycles() const noexcept;
  void count_sram_cycles(std::uint64_t from, std::uint64_t cycles);
  void count_transaction();
  std::uint32_t sram_address(std::uint32_t latency) const noexcept;
  void add(unsigned number, std::uint64_t amount);
  void count_sram(std::uint32_t address, std::uint64_t amount, bool gated);
  void interrupt(std::uint8_t which);
  void trace(bool sending);
  void drive(Circuit::Event event, bool sending, std::uint32_t packets);
  std::uint64_t sram_word(std::uint64_t word) const override {
    return sram(static_cast<std::uint32_t>(word));
  }
  std::uint64_t counter_value(std::uint64_t number) const override { return counters_[number & 3U].value(); }
  void write_sram(std::uint64_t word, std::uint64_t value, bool adds) override;
  void write_counter(std::uint64_t number, std::uint64_t value, bool adds) override;
  void raise_interrupt() override { interrupt(1U << 4); }
  void watch(std::uint32_t index);
  void refresh_enabled() noexcept;

  // Configuration.
  std::uint16_t phase_ = 0;
  std::uint16_t phase_watch_ = 0;
  std::uint16_t command_watch_ = 0;
  std::uint16_t command_filter_ = 0;
  std::uint64_t address_watch_ = 0;
  std::uint64_t address_filter_ = 0;
  std::array<std::uint32_t, 4> modes_{};
  std::uint32_t sram_mode_ = 0;
  bool general_enable_ = false;
  bool sram_enable_ = false;
  bool enabled_ = false;
  // The current cycle.
  std::uint64_t now_ = 0;
  std::uint64_t timestamp_base_ = 0;
  std::uint16_t levels_ = 0;
  std::uint16_t pulses_ = 0;
  std::uint16_t previous_ = 0;  // levels of the cycle before
  struct Charge {
    std::uint32_t cycles = 0;
    std::uint32_t times = 0;
  };
  std::array<Charge, 16> charges_{};  // by event
  bool charged_ = false;
  bool sending_ = false;
  bool receiving_ = false;
  std::uint16_t command_ = 0;  // CR
  std::uint64_t address_ = 0;  // AR
  bool outstanding_ = false;
  std::uint64_t request_cycle_ = 0;
  std::uint32_t last_latency_ = 0;
  MissType miss_type_ = MissType::kOther;
  std::uint8_t response_state_ = 0;
  std::uint32_t secondary_index_ = 0;
  // Counts.
  std::array<counting::Counter, 4> counters_;
  std::array<std::uint8_t, 4> accumulators_{};  // the hidden two bits of the pipeline status circuit
  std::uint8_t pending_ = 0;
  std::uint64_t interrupts_ = 0;
  std::uint32_t barrier_ = 0;
  std::array<std::uint32_t, 2> interrupt_registers_{};
  // Other circuits.
  bool traces_ = false;
  std::uint32_t traced_ = 0;
  std::uint32_t watchdog_ = 0;
  std::uint32_t watched_line_ = 0;
  std::uint64_t watched_misses_ = 0;
  std::uint64_t cache_lines_ = kSramWords;
  std::uint32_t slow_ = 0;
  std::uint64_t slow_address_ = 0;
  std::uint32_t slow_latency_ = 0;
  std::unique_ptr<Circuit> circuit_;  // null: the Master Configuration Controller
  bool last_write_ = false, last_miss_ = false;
  std::vector<std::uint32_t> sram_;
  InterruptSink sink_;
};

}  // namespace substrata::numachine
