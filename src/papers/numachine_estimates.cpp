// numachine-estimates: how far the card's state machines for invalidation hits and misses are from the truth
// (Lemieux, section 4.4.4, figure 4.8).
#include <algorithm>
#include <substrata/feed.hpp>
#include <substrata/result.hpp>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "papers/claims.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/plot.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

// A machine with as many processors as this is observed.
constexpr std::uint32_t kMostProcessors = 64;

struct Sums {
  double hits = 0, hits_estimated = 0, misses = 0, misses_estimated = 0;
  double replaced = 0;  // misses that took the place of an invalid line of another tag, by the oracle below
};

// Follows each frame of each secondary cache by what the processors' buses carry, tags and all, as the
// circuit of figure 4.8 would with more pins. Caches begin full of valid lines. Thread-bound.
class Frames {
 public:
  Frames() : lines_(kMostProcessors, std::vector<Frame>(kFrames)) {
    client::feed::demand(observer_.try_create<&Frames::observe>(*this));
    client::feed::demand(observer_.try_subscribe("numachine.st*.cpu*.bus"));
  }

  // Misses on a frame whose line was invalidated and is not the one that is wanted.
  std::uint64_t replaced() {
    substrata_flush();
    return replaced_;
  }

 private:
  static constexpr std::uint64_t kLineBytes = 64;
  static constexpr std::uint64_t kFrames = (1U << 20) / kLineBytes;
  struct Frame {
    std::uint64_t line = 0;
    bool invalid = false;
  };

  void observe(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) take(batch[i]);
  }
  void take(const substrata_transaction& t) {
    const std::uint64_t line = t.address / kLineBytes;
    if (t.kind == SUBSTRATA_INVALIDATE) {
      // Its initiator caused it; the probe point gives the processor whose bus it is on.
      if (t.state == SUBSTRATA_HIT) frame(processor_of(t.probe), line) = {line, true};
    } else if (t.kind == SUBSTRATA_READ || t.kind == SUBSTRATA_READ_EXCLUSIVE) {
      Frame& at = frame(t.initiator, line);
      // An ownership miss that was cancelled was not a miss when it began (miss type 1 in bits 25..24).
      const bool began_as_miss = ((t.detail >> 24) & 3U) != 1;
      if (began_as_miss && at.invalid && at.line != line) ++replaced_;
      at = {line, false};
    }
  }
  Frame& frame(std::uint32_t processor, std::uint64_t line) { return lines_.at(processor)[line % kFrames]; }
  std::uint32_t processor_of(std::uint16_t probe) {
    if (probe >= by_probe_.size()) by_probe_.resize(probe + 1U, kUnknown);
    if (by_probe_[probe] == kUnknown) {
      auto info = client::sized<substrata_probe_info>();
      unsigned station = 0;
      unsigned cpu = 0;
      if (substrata_probe_at(probe, &info) != 0 ||
          std::sscanf(info.name, "numachine.st%u.cpu%u.bus", &station, &cpu) != 2)
        throw std::runtime_error("a probe point of NUMAchine's buses has an unexpected name");
      by_probe_[probe] = station * 4 + cpu;
    }
    return by_probe_[probe];
  }

  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  std::vector<std::vector<Frame>> lines_;
  std::vector<std::uint32_t> by_probe_;
  std::uint64_t replaced_ = 0;
  client::feed::Observer observer_;
};

Sums sums_of(const std::string& workload, std::uint32_t processors, const std::string& parameters,
             std::uint64_t seed = 1) {
  Frames frames;
  run_on_numachine(workload, processors, parameters, seed);
  Sums sums;
  sums.replaced = static_cast<double>(frames.replaced());
  for (std::uint32_t p = 0; p < processors; ++p) {
    const substrata_numachine_truth truth = known(p);
    sums.hits += static_cast<double>(truth.invalidation_hits);
    sums.hits_estimated += static_cast<double>(truth.invalidation_hits_estimated);
    sums.misses += static_cast<double>(truth.misses[2]);
    sums.misses_estimated += static_cast<double>(truth.invalidation_misses_estimated);
  }
  return sums;
}

std::string count(double number) { return digits(number, 0); }

constexpr char kWarm[] = "warm=1";
constexpr char kTags[] = "tags=checked";

// The array is as long as the cache or longer, so that lines of other tags take the place of invalid ones.
std::string conflicting(const Case& one) { return "fft:points=" + std::to_string(one.size.amount); }

Readings measure(const Case& one) {
  Readings found;
  if (one.wants("others") || one.wants("replaced")) {
    const std::string parameters = with(kWarm, one.setting == kTags ? "" : one.setting);
    const Sums s = sums_of(conflicting(one), one.size.nodes, parameters, one.seed);
    const double excess = s.misses_estimated - s.misses;
    const std::string text = count(s.misses_estimated) + " estimated, " + count(s.misses) + " known, " +
                             count(s.replaced) + " by tags in the place of an invalid line of another tag";
    found["others"] = {excess, text};
    // With the tags at hand those are left out.
    found["replaced"] = {ratio(one.setting == kTags ? 0 : excess, s.replaced), text};
  }
  if (one.wants("more hits")) {
    // Of each pattern the least.
    double least = std::numeric_limits<double>::infinity();
    std::string text;
    for (const char* workload : {"radix:keys=4096", "false-sharing:rounds=100", "true-sharing:rounds=50",
                                 "migratory:rounds=20", "producer-consumer:words=256", "hot-spot:rounds=4"}) {
      const Sums s = sums_of(workload, one.size.nodes, one.setting, one.seed);
      const double by_miss = ratio(s.hits, s.misses);
      if (by_miss >= least) continue;
      least = by_miss;
      text = std::string(workload) + ": " + count(s.hits) + " hits, " + count(s.misses) + " misses";
    }
    found["more hits"] = {least, text};
  }
  return found;
}

// The error by workload, from reset and in caches full of an earlier program's lines.
void figures(const Setting& setting) {
  std::string table =
      "workload,hits,hits estimated,misses,misses estimated,invalid lines replaced before reuse,"
      "misses from reset,misses estimated from reset\n";
  Series known{"known", {}, Series::Style::kImpulses}, warm{"estimated, warm", {}, Series::Style::kImpulses},
      cold{"estimated, from reset", {}, Series::Style::kImpulses};
  std::vector<std::string> notes = {"By workload, from the left; one that has none is drawn as one:"};
  for (const char* workload :
       {"radix:keys=65536", "lu:n=128", "fft:points=16384", "ocean:n=66", "false-sharing:rounds=500",
        "true-sharing:rounds=200", "migratory:rounds=50", "producer-consumer:words=2048", "hot-spot:rounds=8",
        "radix:keys=262144", "radix:keys=1048576", "fft:points=65536", "fft:points=262144"}) {
    const Sums s = sums_of(workload, 16, kWarm);
    const Sums reset = sums_of(workload, 16, "");
    table += std::string(workload) + "," + count(s.hits) + "," + count(s.hits_estimated) + "," +
             count(s.misses) + "," + count(s.misses_estimated) + "," + count(s.replaced) + "," +
             count(reset.misses) + "," + count(reset.misses_estimated) + "\n";
    const auto at = static_cast<double>(known.points.size() + 1);
    known.points.emplace_back(at - 0.2, std::max(1.0, s.misses));
    warm.points.emplace_back(at, std::max(1.0, s.misses_estimated));
    cold.points.emplace_back(at + 0.2, std::max(1.0, reset.misses_estimated));
    if (known.points.size() % 3 == 1) notes.emplace_back();
    notes.back() += std::to_string(known.points.size()) + " " + workload + "  ";
  }
  setting.write("numachine-estimates.svg", [&](std::ostream& file) {
    write_panels(file, "Figure 4.8b: invalidation misses, known and estimated",
                 {panel("", {"workload", false, 0.0, 14.0}, {"invalidation misses", true, 0.5},
                        {known, warm, cold}, notes)},
                 1);
  });
  setting.write("numachine-estimates.csv", [&](std::ostream& file) { file << table; });
}

}  // namespace

extern const Reproduction numachine_estimates = stated(
    "numachine-estimates",
    "Lemieux, section 4.4.4 and figure 4.8: the estimates of invalidation hits and misses", measure, figures);

}  // namespace substrata::papers
