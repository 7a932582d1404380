// The SHRIMP monitors for C++: refusals as exceptions, histograms as values; header-only over shrimp.h.
#ifndef SUBSTRATA_SHRIMP_HPP
#define SUBSTRATA_SHRIMP_HPP

#include <substrata/shrimp.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace substrata::shrimp_monitor {

using Variables = substrata_shrimp_variables;
using TraceEntry = substrata_shrimp_trace_entry;
inline constexpr std::uint32_t kEveryNode = SUBSTRATA_SHRIMP_EVERY_NODE;

// A refusal, with the message of substrata_shrimp_error() and PAPI's error number.
class Refused : public std::runtime_error {
 public:
  explicit Refused(int code) : std::runtime_error(substrata_shrimp_error()), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

inline void demand(int code) {
  if (code != 0) throw Refused(code);
}

// As substrata_shrimp_command; throws Refused.
inline void command(std::uint32_t node, substrata_shrimp_register which, std::uint64_t value,
                    std::uint32_t from = 0) {
  demand(substrata_shrimp_command(from, node, which, value));
}

// The histogram of one node or the sum of all, as it was when it was read, under the selection that the
// boards had then. A value.
class Histogram {
 public:
  // Throws Refused. With kEveryNode the boards must share node 0's selection for the bins to mean the same.
  static Histogram read(std::uint32_t node = kEveryNode) {
    Histogram made;
    std::uint64_t selection = 0;
    demand(substrata_shrimp_register_value(node == kEveryNode ? 0 : node, SUBSTRATA_SHRIMP_MULTIPLEXER,
                                           &selection));
    made.selection_ = static_cast<std::uint32_t>(selection);
    demand(node == kEveryNode ? substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, made.words_.data())
                              : substrata_shrimp_read(node, 0, SUBSTRATA_SHRIMP_WORDS, made.words_.data()));
    return made;
  }

  std::uint32_t selection() const noexcept { return selection_; }
  const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  // The bin of packets with these variables, at the resolution of the selection; throws Refused.
  std::uint64_t at(const Variables& variables) const {
    std::uint32_t address = 0;
    demand(substrata_shrimp_address(selection_, &variables, &address));
    return words_[address];
  }
  // Calls visit(variables, count) for each bin that is not 0, in the order of addresses.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::uint32_t address = 0; address < words_.size(); ++address) {
      if (words_[address] == 0) continue;
      Variables variables{};
      demand(substrata_shrimp_variables_of(selection_, address, &variables));
      visit(static_cast<const Variables&>(variables), words_[address]);
    }
  }

 private:
  Histogram() : words_(SUBSTRATA_SHRIMP_WORDS) {}
  std::uint32_t selection_ = 0;
  std::vector<std::uint64_t> words_;
};

// The whole trace of a node, oldest entry first; throws Refused.
inline std::vector<TraceEntry> trace(std::uint32_t node) {
  std::uint32_t count = 0;
  demand(substrata_shrimp_read_trace(node, 0, 0, nullptr, &count));
  std::vector<TraceEntry> entries(count);
  demand(substrata_shrimp_read_trace(node, 0, count, entries.data(), &count));
  if (count < entries.size()) entries.resize(count);
  return entries;
}

}  // namespace substrata::shrimp_monitor

#endif
