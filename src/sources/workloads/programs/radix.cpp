// Radix sort of integer keys: histogram, prefix over all processes, permutation, for each digit. The
// algorithm of SPLASH-2's RADIX (Woo et al., ISCA 1995).
#include <algorithm>
#include <bit>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"keys", "keys to sort", 262144, 1, 1U << 28},
    power_of_two("radix", "values of a digit, a power of two", 1024, 2, 65536),
    {"bits", "bits of a key", 20, 1, 32},
    choice("procedures",
           "fine: each key is made by four calls of a short procedure, as SPLASH-2's program does",
           "coarse|fine"),
    {"length", "cycles of that procedure", 40, 1, 100'000},
    kSeedParameter,
};

// Of SPLASH-2's generator of random numbers: how often it is called for a key. Its default length is the number of its
// operations, counted as one cycle each.
constexpr int kDrawsPerKey = 4;

class Radix final : public Program {
 public:
  explicit Radix(const Values& values)
      : keys_(values["keys"]),
        radix_(values["radix"]),
        bits_(values["bits"]),
        seed_(values["seed"]),
        length_(values["length"]),
        fine_(values["procedures"] != 0) {}

  void lay_out(Memory& memory, ProcessId processes) override {
    arrays_[0] = memory.array<std::uint32_t>("radix.keys0", keys_);
    arrays_[1] = memory.array<std::uint32_t>("radix.keys1", keys_);
    counts_ = memory.array<std::uint32_t>("radix.counts", radix_ * processes);
    totals_ = memory.array<std::uint32_t>("radix.totals", processes);
    initialise_ = memory.region("radix.initialise");
    if (fine_) draw_ = memory.region("radix.draw");
    count_ = memory.region("radix.count");
    prefix_ = memory.region("radix.prefix");
    permute_ = memory.region("radix.permute");
  }

  void run(Process& process) override {
    process.phase(initialise_);
    const auto [begin, end] = process.share(keys_);
    {
      const auto keys = process.view(arrays_[0]);
      for (std::uint64_t i = begin; i < end; ++i) {
        for (int draw = 0; fine_ && draw < kDrawsPerKey; ++draw) {
          const Procedure procedure(process, draw_);
          process.compute(length_);
        }
        keys[i] = input(i);
      }
    }
    process.barrier();
    unsigned from = 0;
    for (std::uint64_t shift = 0; shift < bits_; shift += digit_bits(), from ^= 1U) {
      sort_by_digit(process, process.view(arrays_[from]), process.view(arrays_[from ^ 1U]),
                    static_cast<unsigned>(shift));
    }
  }

  std::string check(const Memory& memory) override {
    std::vector<std::uint32_t> wanted(keys_);
    for (std::uint64_t i = 0; i < keys_; ++i) wanted[i] = input(i);
    std::sort(wanted.begin(), wanted.end());
    const SharedArray<std::uint32_t>& result = arrays_[((bits_ + digit_bits() - 1) / digit_bits()) & 1];
    for (std::uint64_t i = 0; i < keys_; ++i) {
      if (memory.peek(result, i) != wanted[i]) return differs("key", i, memory.peek(result, i), wanted[i]);
    }
    return {};
  }

 private:
  unsigned digit_bits() const noexcept { return static_cast<unsigned>(std::countr_zero(radix_)); }
  std::uint32_t input(std::uint64_t i) const noexcept {
    return static_cast<std::uint32_t>(random_at(seed_, i) >> (64 - bits_));
  }

  void sort_by_digit(Process& process, const View<std::uint32_t>& from, const View<std::uint32_t>& to,
                     unsigned shift) {
    const auto counts = process.view(counts_);
    const auto totals = process.view(totals_);
    const ProcessId self = process.id();
    const auto digit = [&](std::uint32_t key) { return (key >> shift) & (radix_ - 1); };
    const auto [begin, end] = process.share(keys_);
    const auto [low, high] = process.share(radix_);

    process.phase(count_);
    {
      const Procedure procedure(process, count_);
      for (std::uint64_t d = 0; d < radix_; ++d) counts[self * radix_ + d] = 0;
      for (std::uint64_t i = begin; i < end; ++i) {
        counts[self * radix_ + digit(from[i])] += 1;
        process.compute(2);
      }
    }
    process.barrier();

    // Each process adds up its share of the digits over all processes, then the shares before its own, and
    // leaves in counts where each process is to put its first key with each digit.
    process.phase(prefix_);
    {
      const Procedure procedure(process, prefix_);
      std::uint32_t sum = 0;
      for (std::uint64_t d = low; d < high; ++d) {
        for (ProcessId q = 0; q < process.count(); ++q) sum += counts[q * radix_ + d];
      }
      totals[self] = sum;
    }
    process.barrier();
    {
      const Procedure procedure(process, prefix_);
      std::uint32_t place = 0;
      for (ProcessId q = 0; q < self; ++q) place += totals[q];
      for (std::uint64_t d = low; d < high; ++d) {
        for (ProcessId q = 0; q < process.count(); ++q) {
          const std::uint32_t count = counts[q * radix_ + d];
          counts[q * radix_ + d] = place;
          place += count;
        }
      }
    }
    process.barrier();

    process.phase(permute_);
    {
      const Procedure procedure(process, permute_);
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint32_t key = from[i];
        const std::uint64_t slot = self * radix_ + digit(key);
        const std::uint32_t place = counts[slot];
        to[place] = key;
        counts[slot] = place + 1;
        process.compute(3);
      }
    }
    process.barrier();
  }

  std::uint64_t keys_;
  std::uint64_t radix_;
  std::uint64_t bits_;
  std::uint64_t seed_;
  std::uint64_t length_;
  bool fine_;
  SharedArray<std::uint32_t> arrays_[2];
  SharedArray<std::uint32_t> counts_;  // [process][digit]
  SharedArray<std::uint32_t> totals_;  // keys whose digit is in each process's share
  RegionId initialise_ = 0, draw_ = 0, count_ = 0, prefix_ = 0, permute_ = 0;
};

}  // namespace

const Workload kRadix =
    workload<Radix>("radix", "radix sort of integers; compared with std::sort", kParameters);

}  // namespace substrata::workloads
