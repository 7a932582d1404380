// What a processor does between its misses, in more detail than one instruction a cycle: address translation, kinds of
// computed instructions, predicted branches, profiling stores. All of it is off unless parameters ask for it.
#pragma once

#include <cstdint>
#include <vector>

// Source: Lemieux's thesis where a section is named; "own" are round numbers of ours.
namespace substrata::numachine {

// What the program executes where a basic block begins (section 3.4.2).
enum class BlockProfile : std::uint8_t {
  kNone,
  kCount,      // a profiling store whose address is the block's
  kTime,       // figure 3.2: five instructions, one a store of the time since the block before began
  kDifference  // figure 3.3: three, with a timestamp that resets when it is read
};

struct ExecutionParameters {
  std::uint32_t tlb_pairs = 0;          // the R4400 has 48, of two pages each; 0: every page is mapped
  std::uint64_t refill_cycles = 10;     // of the handler of a TLB miss, beside the exception, own
  std::uint32_t predictor_entries = 0;  // of a branch target buffer; the R4400 has none (table 4.10, item 6)
  // Of 1000 computed instructions, and slips in processor cycles; own.
  std::uint32_t mix_branches = 0, mix_floats = 0, mix_nops = 0;
  std::uint32_t mix_slips = 0, mix_float_slips = 0;
  bool empty_delay_slots = false;  // a NOP after the branch that ends a block
  BlockProfile blocks = BlockProfile::kNone;

  bool any() const noexcept {
    return tlb_pairs != 0 || predictor_entries != 0 || empty_delay_slots || blocks != BlockProfile::kNone ||
           has_mix();
  }
  bool has_mix() const noexcept {
    return (mix_branches | mix_floats | mix_nops | mix_slips | mix_float_slips) != 0;
  }
};

// The R4400's translation lookaside buffer: any pair of pages in any place. A miss is served by software, which puts
// the pair where the register Random points; Random goes down by one with every instruction.
class Tlb {
 public:
  explicit Tlb(std::uint32_t pairs) : pairs_(pairs, kNone), random_(pairs - 1) {}

  // False: the pair was not there, and is now.
  bool map(std::uint64_t pair) noexcept;
  void executed(std::uint64_t instructions) noexcept {
    const std::uint64_t places = pairs_.size();
    random_ = (random_ + places - instructions % places) % places;
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::vector<std::uint64_t> pairs_;
  std::uint64_t random_;
  std::uint64_t last_ = kNone;  // found or mapped last
};

// Predicts where a block ends to by where it went before: direct-mapped by address, with two bits of trust.
class BranchPredictor {
 public:
  // A power of two, or 0, which predicts nothing.
  explicit BranchPredictor(std::uint32_t entries) : entries_(entries) {}

  // Was it foreseen that `from` goes on at `to`? And learns it.
  bool foresees(std::uint64_t from, std::uint64_t to) noexcept;

 private:
  struct Entry {
    std::uint64_t from = ~std::uint64_t{0};
    std::uint64_t to = 0;
    unsigned trust = 0;
  };
  std::vector<Entry> entries_;
};

// A share of 1000 of what is counted, exact over time.
class Share {
 public:
  std::uint64_t of(std::uint64_t count, std::uint32_t per_mille) noexcept {
    const std::uint64_t sum = rest_ + count * per_mille;
    rest_ = sum % 1000;
    return sum / 1000;
  }

 private:
  std::uint64_t rest_ = 0;
};

// Of one processor.
struct Execution {
  explicit Execution(const ExecutionParameters& p)
      : tlb(p.tlb_pairs == 0 ? 1 : p.tlb_pairs), predictor(p.predictor_entries) {}

  Tlb tlb;
  BranchPredictor predictor;
  Share branches, floats, nops, slips, float_slips;
  bool taken = false;              // the last branch of the mix
  std::uint64_t branch_block = 0;  // that its last branch led to; 0: none yet
  bool in_block = false;
  std::uint32_t block = 0;      // the SRAM word of the block it is in
  std::uint32_t timestamp = 0;  // when it began
};

}  // namespace substrata::numachine
