// The address multiplexer: which four-bit pieces of the five measured variables form a histogram address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace substrata::shrimp {

// The five variables of a packet, at the widths of the monitor (SHRIMP paper, section 3.2).
struct Variables {
  uint32_t latency = 0;  // 20 bits
  uint16_t size = 0;     // 12 bits, bytes
  uint8_t sender = 0;    // 8 bits
  uint8_t tag = 0;       // 4 bits
  uint8_t category = 0;  // 4 bits
};

inline constexpr unsigned kLatencyBits = 20;
inline constexpr unsigned kSizeBits = 12;
inline constexpr unsigned kSenderBits = 8;
inline constexpr unsigned kTagBits = 4;
inline constexpr unsigned kCategoryBits = 4;
inline constexpr unsigned kNibbleBits = 4;
inline constexpr unsigned kNibbles = 12;
inline constexpr unsigned kChosen = 5;
inline constexpr unsigned kAddressBits = kChosen * kNibbleBits;

// The first nibble of each variable: bit i of a selection stands for nibble i.
inline constexpr unsigned kLatencyNibble = 0;
inline constexpr unsigned kSizeNibble = 5;
inline constexpr unsigned kSenderNibble = 8;
inline constexpr unsigned kTagNibble = 10;
inline constexpr unsigned kCategoryNibble = 11;

// What the extension's wires may carry besides: signals of the network interface, above the variables (section 3.3).
inline constexpr unsigned kFirstSignal = 13;
inline constexpr unsigned kSignals = 3;  // the packet's kind, bits 12 to 15 and bits 8 to 11 of its address
inline constexpr unsigned kSignalShift = kFirstSignal * kNibbleBits;

// All variables in one word, nibble i at bits 4i to 4i+3.
constexpr uint64_t pack(const Variables& v) noexcept {
  return (uint64_t{v.latency} & 0xfffff) | (uint64_t{v.size} & 0xfff) << (kSizeNibble * kNibbleBits) |
         uint64_t{v.sender} << (kSenderNibble * kNibbleBits) |
         (uint64_t{v.tag} & 0xf) << (kTagNibble * kNibbleBits) |
         (uint64_t{v.category} & 0xf) << (kCategoryNibble * kNibbleBits);
}
constexpr Variables unpack(uint64_t packed) noexcept {
  Variables v;
  v.latency = static_cast<uint32_t>(packed & 0xfffff);
  v.size = static_cast<uint16_t>(packed >> (kSizeNibble * kNibbleBits) & 0xfff);
  v.sender = static_cast<uint8_t>(packed >> (kSenderNibble * kNibbleBits));
  v.tag = static_cast<uint8_t>(packed >> (kTagNibble * kNibbleBits) & 0xf);
  v.category = static_cast<uint8_t>(packed >> (kCategoryNibble * kNibbleBits) & 0xf);
  return v;
}

// Five of the twelve nibbles, and with the extended memory a sixth one as the high address bits. The first
// chosen nibble in the order latency, size, sender, tag, category is the lowest of the address. With the nibbles go
// variants of the multiplexer, which is logic that can be loaded anew (section 3.3). A value.
class Selection {
 public:
  static constexpr unsigned kNoJumper = kNibbles;
  static constexpr uint32_t kSenderLast = 1u << 12;    // the order is latency, size, tag, category, sender
  static constexpr uint32_t kUnrestricted = 1u << 13;  // all 792

  // Null: legal; else the message with the rule it breaks. Section 3.3: five nibbles, those of the latency
  // side by side, the sender whole or not at all, which leaves 190 of 792. The wires of the extension
  // (`jumper`) may be put to any nibble that is not chosen, or to a signal.
  static const char* objection(uint64_t nibbles, uint64_t jumper = kNoJumper) noexcept;

  // The nibble that is `position`-th in the order of a selection's address.
  static constexpr unsigned ordered(uint32_t nibbles, unsigned position) noexcept {
    if ((nibbles & kSenderLast) == 0 || position < kSenderNibble) return position;
    constexpr unsigned kBehindSize[] = {kTagNibble, kCategoryNibble, kSenderNibble, kSenderNibble + 1};
    return kBehindSize[position - kSenderNibble];
  }

  // Sender and size, as in figure 4.
  constexpr Selection() noexcept : Selection(kDefaultNibbles) {}
  // The selection must be legal.
  constexpr explicit Selection(uint32_t nibbles, unsigned jumper = kNoJumper) noexcept
      : nibbles_(nibbles), jumper_(jumper) {
    unsigned place = 0;
    unsigned last = kNibbles;
    unsigned highest = 0;
    for (unsigned position = 0; position < kNibbles; ++position) {
      const unsigned i = ordered(nibbles, position);
      if ((nibbles >> i & 1) == 0) continue;
      // Nibbles side by side move together.
      if (i != last + 1) runs_[run_count_++].shift = (i - place) * kNibbleBits;
      runs_[run_count_ - 1].mask |= 0xfu << (place * kNibbleBits);
      last = i;
      in_order_ = in_order_ && i >= highest;
      highest = i;
      shifts_[place++] = i * kNibbleBits;
      mask_ |= uint64_t{0xf} << (i * kNibbleBits);
    }
    if (jumper != kNoJumper) {
      mask_ |= uint64_t{0xf} << (jumper * kNibbleBits);
      jumper_shift_ = jumper * kNibbleBits;
      jumper_mask_ = 0xf;
      in_order_ = in_order_ && jumper > highest;
    }
  }

  constexpr uint32_t nibbles() const noexcept { return nibbles_; }
  constexpr unsigned jumper() const noexcept { return jumper_; }
  // The bits of packed variables that reach the address.
  constexpr uint64_t mask() const noexcept { return mask_; }
  constexpr unsigned address_bits() const noexcept {
    return jumper_ == kNoJumper ? kAddressBits : kAddressBits + kNibbleBits;
  }

  // Is the address of packed variables their bits under mask(), pushed together?
  constexpr bool in_order() const noexcept { return in_order_; }

  // The twenty multiplexed bits.
  constexpr uint32_t chosen_bits(uint64_t packed) const noexcept {
    uint32_t bits = 0;
    for (unsigned run = 0; run < run_count_; ++run)
      bits |= static_cast<uint32_t>(packed >> runs_[run].shift) & runs_[run].mask;
    return bits;
  }
  // With the extension's four bits above them.
  constexpr uint32_t address(uint64_t packed) const noexcept {
    return chosen_bits(packed) | (static_cast<uint32_t>(packed >> jumper_shift_) & jumper_mask_)
                                     << kAddressBits;
  }
  // The addresses of many packets; run by run, which a compiler turns into vector instructions.
  void addresses(const uint64_t* packed, size_t count, uint32_t* out) const noexcept {
    for (size_t i = 0; i < count; ++i)
      out[i] = static_cast<uint32_t>(packed[i] >> runs_[0].shift) & runs_[0].mask;
    for (unsigned run = 1; run < run_count_; ++run) {
      const unsigned shift = runs_[run].shift;
      const uint32_t mask = runs_[run].mask;
      for (size_t i = 0; i < count; ++i) out[i] |= static_cast<uint32_t>(packed[i] >> shift) & mask;
    }
    if (jumper_mask_ == 0) return;
    for (size_t i = 0; i < count; ++i)
      out[i] |= (static_cast<uint32_t>(packed[i] >> jumper_shift_) & jumper_mask_) << kAddressBits;
  }
  // The packed variables that lead to an address; what is not chosen is 0.
  constexpr uint64_t variables(uint32_t address) const noexcept {
    uint64_t packed = 0;
    for (unsigned i = 0; i < kChosen; ++i) {
      packed |= uint64_t{address >> (i * kNibbleBits) & 0xf} << shifts_[i];
    }
    if (jumper_ != kNoJumper) {
      packed |= uint64_t{address >> kAddressBits & 0xf} << (jumper_ * kNibbleBits);
    }
    return packed;
  }

 private:
  static constexpr uint32_t kDefaultNibbles = 7u << kSizeNibble | 3u << kSenderNibble;
  uint32_t nibbles_;
  unsigned jumper_;
  uint64_t mask_ = 0;
  unsigned shifts_[kChosen] = {};
  struct Run {
    unsigned shift = 0;
    uint32_t mask = 0;
  };
  Run runs_[kChosen];
  unsigned run_count_ = 0;
  bool in_order_ = true;
  unsigned jumper_shift_ = 0;
  uint32_t jumper_mask_ = 0;
};

}  // namespace substrata::shrimp
