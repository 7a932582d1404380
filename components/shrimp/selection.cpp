// Which selections of the address multiplexer the hardware has.
#include "shrimp/selection.hpp"

#include <bit>

namespace substrata::shrimp {

const char* Selection::objection(uint64_t selection, uint64_t jumper) noexcept {
  const bool restricted = (selection & kUnrestricted) == 0;
  const uint64_t nibbles = selection & ~uint64_t{kSenderLast | kUnrestricted};
  if (nibbles >> kNibbles != 0)
    return "a selection names nibbles 0 to 11: latency 0-4, size 5-7, sender 8-9, page tag 10, category 11";
  if (std::popcount(nibbles) != static_cast<int>(kChosen))
    return "the address has five fields: exactly five nibbles are to be selected";
  const auto latency = static_cast<uint32_t>(nibbles & 0x1f);
  const uint32_t from_lowest = latency == 0 ? 0 : latency >> std::countr_zero(latency);
  if (restricted && (from_lowest & (from_lowest + 1)) != 0)
    return "the latency's nibbles must be contiguous: select those between the lowest and the highest as "
           "well";
  const auto sender = static_cast<uint32_t>(nibbles >> kSenderNibble & 3);
  if (restricted && (sender == 1 || sender == 2))
    return "the sender is used whole or not at all: select both of its nibbles or neither";
  if (jumper >= kFirstSignal + kSignals)
    return "the extension's wires go to one of the nibbles 0 to 11, to none (12), or to a signal (13 to 15)";
  if (jumper < kNibbles && (nibbles >> jumper & 1) != 0)
    return "the extension's wires are to carry a nibble that the multiplexer does not select";
  return nullptr;
}

}  // namespace substrata::shrimp
