// The performance monitor of one SHRIMP node, exactly: registers, histogram and trace memory, interrupts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shrimp/selection.hpp"

namespace substrata::shrimp {

inline constexpr unsigned kClockBits = 44;  // at 10 MHz, one tick 100 ns (section 3.2)
inline constexpr uint64_t kClockMask = (uint64_t{1} << kClockBits) - 1;
inline constexpr unsigned kWordBits = 40;  // of histogram and trace memory (section 3.3)
inline constexpr uint64_t kWordMost = (uint64_t{1} << kWordBits) - 1;
inline constexpr unsigned kTraceClockBits = 20;  // section 3.1
// Addresses that wait for software to read them. The paper says that they are queued, not how many; ours.
inline constexpr unsigned kInterruptQueue = 16;

// Registers, as commands write them. The numbers are those of include/substrata/shrimp.h.
enum class Register : uint32_t {
  kRun,             // 1: the monitor takes packets in
  kMode,            // 0 histogram, 1 trace
  kMultiplexer,     // the selection's nibbles
  kLatencyShift,    // 0 to 43
  kLatencyMinimum,  // of the shifted latency; below: all 0s
  kLatencyMaximum,  // above: all 1s
  kCategory,        // 0 to 15
  kThreshold,       // 0 to 2^40-1; an incremented value above it interrupts
  kTrigger,         // 1: an interrupt switches to trace mode
  kTraceBase,       // first word of the trace
  kTraceLimit,      // the word behind its last one; 0: the end of the memory
  kTraceWrap,       // 0: a full trace stops, 1: it begins again at its base
  kJumper,          // the nibble or signal at the extension's wires; 12: no extended memory
  kSource,          // what the monitor takes in: 0 packets, 1 uses of the EISA bus
};
inline constexpr unsigned kRegisters = static_cast<unsigned>(Register::kSource) + 1;

// A packet as the network interface hands it to the monitor, or a use of the EISA bus: as received when it begins, as
// stamped when it was asked for, and with the user as its tag.
struct Arrival {
  uint64_t received = 0;  // the node's clock, 100 ns
  uint64_t stamped = 0;   // the sender's clock in the packet's header
  uint32_t size = 0;      // bytes; 12 bits of them are delivered
  uint8_t sender = 0;
  uint8_t tag = 0;
  uint16_t signals = 0;  // nibbles from kFirstSignal on
};

// A board after power-on: running, histogram mode, sender and size selected, latency unshifted and unlimited,
// threshold 2^40-1, memory zero. Thread-compatible.
class Board {
 public:
  // extracts: take the addresses out of packed variables by one instruction where that is possible. Never true where
  // can_extract() is not. The results are the same.
  explicit Board(bool extracts = can_extract()) noexcept : extracts_(extracts) {}
  // Has the processor that instruction, and not as a slow routine?
  static bool can_extract() noexcept;
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Null: written. Else the message; nothing is changed then.
  const char* write(Register to, uint64_t value) noexcept;
  uint64_t read(Register from) const noexcept { return registers_[static_cast<unsigned>(from)]; }
  const Selection& selection() const noexcept { return selection_; }
  bool running() const noexcept { return read(Register::kRun) != 0; }
  bool tracing() const noexcept { return read(Register::kMode) != 0; }
  bool takes_bus() const noexcept { return read(Register::kSource) != 0; }

  // Words of the memory: 2^20, or 2^24 with the extension.
  uint32_t words() const noexcept { return uint32_t{1} << selection_.address_bits(); }
  // Null: done. The range must lie in the memory, a value must fit into 40 bits.
  const char* initialise(uint64_t first, uint64_t count, uint64_t value) noexcept;
  const char* read(uint64_t first, uint64_t count, uint64_t* out) const noexcept;
  // Adds the words of such a range to those of `out`.
  void add_words(uint64_t first, uint64_t count, uint64_t* out) const noexcept;
  uint64_t word(uint32_t index) const noexcept { return memory_ == nullptr ? 0 : memory_[index]; }

  // The five variables of a packet under the registers of now.
  uint64_t variables(const Arrival& packet) const noexcept {
    uint64_t latency =
        ((packet.received - packet.stamped) & kClockMask) >> registers_[index(Register::kLatencyShift)];
    if (latency < registers_[index(Register::kLatencyMinimum)]) latency = 0;
    if (latency > registers_[index(Register::kLatencyMaximum)]) latency = 0xfffff;
    return (latency & 0xfffff) | uint64_t{packet.size & 0xfffu} << (kSizeNibble * kNibbleBits) |
           uint64_t{packet.sender} << (kSenderNibble * kNibbleBits) |
           uint64_t{packet.tag} << (kTagNibble * kNibbleBits) |
           registers_[index(Register::kCategory)] << (kCategoryNibble * kNibbleBits) |
           uint64_t{packet.signals} << kSignalShift;
  }

  // What became of packets handed to record().
  struct Recorded {
    size_t taken = 0;
    uint32_t traced = 0;
    uint32_t lost = 0;        // trace entries not kept, or overwritten
    uint32_t interrupts = 0;  // among the taken ones
  };
  // Counts or traces packets, given as their variables and clocks, one after the other. With
  // `stop_at_interrupt` it ends after a packet that interrupts; it always ends after one that switches the
  // mode. `taken` is at least 1 when count is. No memory for the histogram: throws std::bad_alloc with
  // nothing taken.
  Recorded record(const uint64_t* variables, const uint64_t* clocks, size_t count, bool stop_at_interrupt);

  // Interrupts that wait: the oldest address is taken out. False: none.
  bool next_interrupt(uint32_t* address) noexcept;
  uint32_t waiting_interrupts() const noexcept { return waiting_; }
  // Was an address dropped because the queue was full (footnote 1)? Reading clears it.
  bool queue_overflowed() noexcept {
    const bool was = queue_overflowed_;
    queue_overflowed_ = false;
    return was;
  }

  // The trace: entries kept, oldest first; each is the selected bits above 20 bits of the clock.
  uint32_t trace_length() const noexcept { return wrapped_ ? trace_capacity() : trace_next_; }
  uint64_t trace_entry(uint32_t entry) const noexcept {
    const uint32_t at = wrapped_ ? (trace_next_ + entry) % trace_capacity() : entry;
    return word(trace_base() + at);
  }

  // Page tags: four bits in the incoming page table of the receiving node (section 3.2). Pages of 4096 bytes.
  static constexpr uint64_t kPages = uint64_t{1} << 24;
  const char* set_tag(uint64_t page, uint64_t tag);
  uint8_t tag_of(uint64_t address) const noexcept {
    const uint64_t page = address >> 12;
    return page < tags_.size() ? tags_[page] : uint8_t{0};
  }

 private:
  static constexpr unsigned index(Register which) noexcept { return static_cast<unsigned>(which); }
  uint32_t trace_base() const noexcept {
    return static_cast<uint32_t>(registers_[index(Register::kTraceBase)]);
  }
  uint32_t trace_limit() const noexcept {
    const uint64_t limit = registers_[index(Register::kTraceLimit)];
    return limit == 0 ? words() : static_cast<uint32_t>(limit);
  }
  uint32_t trace_capacity() const noexcept { return trace_limit() - trace_base(); }
  void need_memory();
  const uint64_t* words_from(uint64_t first, uint64_t count) const noexcept;
  bool resize(unsigned old_bits) noexcept;
  Recorded record_otherwise(const uint64_t* variables, const uint64_t* clocks, size_t count,
                            bool stop_at_interrupt);
  // Those of `count` from `from` on.
  Recorded count(const uint64_t* variables, size_t from, size_t count, bool stop_at_interrupt) noexcept;
  Recorded count_extracting(const uint64_t* variables, size_t count, bool stop_at_interrupt) noexcept;
  Recorded trace(const uint64_t* variables, const uint64_t* clocks, size_t count) noexcept;
  void interrupt(uint32_t address) noexcept;

  const bool extracts_;
  uint64_t registers_[kRegisters] = {1, 0, Selection().nibbles(), 0, 0, kClockMask, 0, kWordMost, 0, 0,
                                     0, 0, Selection::kNoJumper,  0};
  Selection selection_;
  uint64_t* memory_ = nullptr;  // mapped when first written
  uint32_t trace_next_ = 0;     // from the base
  bool wrapped_ = false;
  bool queue_overflowed_ = false;
  uint32_t first_waiting_ = 0;
  uint32_t waiting_ = 0;
  uint32_t queue_[kInterruptQueue] = {};
  std::vector<uint8_t> tags_;
};

}  // namespace substrata::shrimp
