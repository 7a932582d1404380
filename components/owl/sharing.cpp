// Module sharing: lines that several processors use.
#include <limits>

#include "owl/blocks.hpp"
#include "owl/counter_array.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// Lines that several initiators use, at least one writing, while no byte is shared.
class Sharing {
 public:
  static constexpr unsigned kUsers = 8;
  static constexpr Register kRegisters[] = {
      reg("lines", "lines followed; the least recently used one is judged and given up", 1024, 1, 65536),
      reg("line", "bytes of a line, a power of two up to 64", 64, 4, 64),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("ACCESSES", "accesses seen", "accesses"),
      count_metric("PASSES", "writes to a line that another initiator used last", "accesses"),
      count_metric("FALSE_LINES", "judged lines shared without a shared byte", "lines"),
      count_metric("TRUE_LINES", "judged lines with a byte that one writes and another uses", "lines"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    out = {3, r[0] * (64 + kUsers * (32 + 2 * r[1])), r[0]};
  }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }
  Sharing(const uint64_t* r, const Services& services)
      : bytes_(r[1]), shift_(shift_of(r[1])), services_(services), lines_(static_cast<uint32_t>(r[0])) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (!is_access(t) || t.kind == SUBSTRATA_FETCH) continue;
      ++counts_.accesses;
      const uint64_t last = t.address + (t.size > 1 && t.address <= kAll - (t.size - 1) ? t.size - 1 : 0);
      for (uint64_t line = t.address >> shift_; line <= last >> shift_; ++line) {
        const uint64_t begin = line == t.address >> shift_ ? t.address & (bytes_ - 1) : 0;
        const uint64_t end = line == last >> shift_ ? last & (bytes_ - 1) : bytes_ - 1;
        use(line, t.initiator, t.kind != SUBSTRATA_READ, (kAll >> (63 - end)) & (kAll << begin));
        if (line == kAll >> shift_) break;
      }
    }
  }
  void write_back() noexcept {
    lines_.drain([this](uint64_t key, const Line& line) { judge(key, line); });
  }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t accesses, passes, false_lines, true_lines;
  };
  struct User {
    uint32_t initiator;
    uint64_t read;
    uint64_t written;
  };
  struct Line {
    User users[kUsers] = {};
    uint32_t used = 0;
    uint32_t last = SUBSTRATA_NOBODY;
    uint64_t passes = 0;
  };
  void use(uint64_t number, uint32_t initiator, bool write, uint64_t bytes) noexcept {
    Line& line = lines_.use(number, [this](uint64_t key, const Line& old) { judge(key, old); });
    uint32_t at = 0;
    while (at < line.used && line.users[at].initiator != initiator) ++at;
    if (at == line.used) {
      if (line.used == kUsers) return;  // more users than are distinguished change no judgement
      line.users[line.used++] = {initiator, 0, 0};
    }
    (write ? line.users[at].written : line.users[at].read) |= bytes;
    if (write && line.last != SUBSTRATA_NOBODY && line.last != initiator) {
      ++line.passes;
      ++counts_.passes;
    }
    line.last = initiator;
  }
  void judge(uint64_t number, const Line& line) noexcept {
    bool written = false;
    bool shared = false;
    for (uint32_t a = 0; a < line.used; ++a) {
      written = written || line.users[a].written != 0;
      for (uint32_t b = 0; b < line.used; ++b) {
        shared =
            shared || (a != b && (line.users[a].written & (line.users[b].written | line.users[b].read)) != 0);
      }
    }
    if (line.used < 2 || !written) return;
    ++(shared ? counts_.true_lines : counts_.false_lines);
    const uint64_t packet[4] = {number << shift_, shared ? 0u : 1u, line.used, line.passes};
    services_.emit(packet, sizeof packet);
  }
  const uint64_t bytes_;
  const unsigned shift_;
  const Services services_;
  CounterArray<Line> lines_;
  Counts counts_{};
};

}  // namespace

constexpr Module kSharingModule =
    make_module<Sharing>("sharing", "lines that processors share, truly or falsely",
                         "u64 address, u64 1 if falsely, u64 initiators, u64 passes from one to another");

}  // namespace substrata::owl
