// numachine-latency: the latency timer's histograms, whole and compact, and what they are split by (Lemieux,
// sections 3.3.3, 4.3.6 and 4.4.5).
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

// SCM: event 6, receptions only; and without the mask for them, by transitions.
constexpr std::uint32_t kTransactions = 6U << 11;
constexpr std::uint32_t kReceptions = kTransactions | 1U << 9 | 1U << 0;
constexpr std::uint32_t kUnmasked = kTransactions | 1U << 10;
constexpr std::uint32_t kWhole = 1U << 20 | 1U << 15;
constexpr std::uint32_t kCompactByState = 3U << 20 | 1U << 15 | 1U << 18;

constexpr char kNoMask[] = "mask=none";
constexpr char kAlone[] = "processors=1";

constexpr std::size_t kTimes = 4096;
constexpr std::size_t kBuckets = 128;
constexpr std::size_t kStates = 32;

struct Histograms {
  std::array<std::uint64_t, kTimes> known{}, whole{};
  std::array<std::uint64_t, kBuckets> compact{};
  std::array<std::uint64_t, kStates> known_states{}, states{};
  std::array<std::uint64_t, kTimes> reads{};  // with data; no acknowledgements
};

// A setting of the machine, or one of those above.
Histograms histograms_of(const Case& one) {
  const std::uint32_t processors = one.setting == kAlone ? 1 : one.size.nodes;
  const bool unmasked = one.setting == kNoMask;
  const std::string parameters = unmasked || one.setting == kAlone ? "" : one.setting;
  const std::string workload = "radix:keys=" + std::to_string(one.size.amount);
  const std::uint32_t event = unmasked ? kUnmasked : kReceptions;
  const auto run = [&](std::uint32_t mode) {
    reset_numachine();
    write_all(processors, SUBSTRATA_NUMACHINE_SCM, event | mode);
    write_all(processors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
    run_on_numachine(workload, processors, parameters, one.seed);
  };
  Histograms all;
  {
    LatencyList list;
    run(kWhole);
    constexpr std::uint32_t kExclusive = 1;
    for (const LatencyList::Request& request : list.requests()) {
      const std::uint32_t time = std::min<std::uint32_t>(request.latency, kTimes - 1);
      ++all.known[time];
      ++all.known_states[request.response_state];
      if ((request.response_state & kExclusive) == 0) ++all.reads[time];
    }
  }
  // The whole timer: 12 bits of time above 4 bits of PhaseID; the program's phases are in those.
  for (std::uint32_t p = 0; p < processors; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    for (std::uint32_t word = 0; word < words.size(); ++word) all.whole[word >> 4] += words[word];
  }
  // A run gives the same requests each time.
  run(kCompactByState);
  for (std::uint32_t p = 0; p < processors; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    for (std::uint32_t word = 0; word < words.size(); ++word) {
      all.compact[(word >> 4) & (kBuckets - 1)] += words[word];
      all.states[word >> 11] += words[word];
    }
  }
  return all;
}

// What two histograms have in common, of the larger one.
template <std::size_t count>
Reading common(const std::array<std::uint64_t, count>& counted,
               const std::array<std::uint64_t, count>& known) {
  std::uint64_t same = 0, larger = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    same += std::min(counted[i], known[i]);
    larger += std::max(counted[i], known[i]);
    all += known[i];
  }
  return {ratio(static_cast<double>(same), static_cast<double>(larger)),
          std::to_string(same) + " of " + std::to_string(all) + " requests"};
}

struct Moments {
  double average = 0;
  double deviation = 0;
};
template <typename TimeOf, typename Counts>
Moments moments_of(const Counts& counts, const TimeOf& time_of) {
  double all = 0, sum = 0, squares = 0;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    all += count;
    sum += count * time_of(i);
    squares += count * time_of(i) * time_of(i);
  }
  const double average = ratio(sum, all);
  return {average, std::sqrt(std::max(0.0, ratio(squares, all) - average * average))};
}
double middle_of(std::uint32_t compact) {
  std::uint32_t first = 0, last = 0;
  substrata_numachine_bucket(compact, &first, &last);
  return (first + last) / 2.0;
}

Reading moments_reading(const Histograms& all) {
  const auto exactly = [](std::uint32_t time) { return static_cast<double>(time); };
  const Moments known = moments_of(all.known, exactly);
  const Moments whole = moments_of(all.whole, exactly);
  const Moments compact = moments_of(all.compact, middle_of);
  double worst = 0;
  for (const Moments& one : {whole, compact}) {
    worst = std::max(
        {worst, std::abs(one.average / known.average - 1), std::abs(one.deviation / known.deviation - 1)});
  }
  const auto shown_of = [](const Moments& one) {
    return digits(one.average, 2) + " with a deviation of " + digits(one.deviation, 2);
  };
  return {worst, "known: " + shown_of(known) + " cycles; whole: " + shown_of(whole) +
                     "; compact: " + shown_of(compact)};
}

std::uint32_t percentile(const std::array<std::uint64_t, kTimes>& times, double share) {
  std::uint64_t all = 0;
  for (const std::uint64_t one : times) all += one;
  std::uint64_t seen = 0;
  for (std::uint32_t time = 0; time < kTimes; ++time) {
    seen += times[time];
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) return time;
  }
  return kTimes - 1;
}

Readings measure(const Case& one) {
  const Histograms all = histograms_of(one);
  std::array<std::uint64_t, kBuckets> folded{};
  for (std::uint32_t i = 0; i < kBuckets; ++i) {
    std::uint32_t first = 0, last = 0;
    substrata_numachine_bucket(i, &first, &last);
    for (std::uint32_t time = first; time <= last; ++time) folded[i] += all.known[time];
  }
  const std::uint32_t low = percentile(all.reads, 0.05), high = percentile(all.reads, 0.95);
  return {
      {"whole", common(all.whole, all.known)},
      {"compact", common(all.compact, folded)},
      {"moments", moments_reading(all)},
      {"states", common(all.states, all.known_states)},
      {"variable", {ratio(high, low), std::to_string(low) + " cycles, " + std::to_string(high) + " cycles"}}};
}

void figures(const Setting& setting) {
  const Histograms all = histograms_of({{"", 65536, 16}, 1, "", {}});
  setting.write("numachine-latency.csv", [&](std::ostream& file) {
    file << "cycles,requests\n";
    for (std::size_t time = 0; time < kTimes; ++time) {
      if (all.whole[time] != 0) file << time << "," << all.whole[time] << "\n";
    }
  });
}

}  // namespace

extern const Reproduction numachine_latency =
    stated("numachine-latency", "Lemieux, sections 4.3.6 and 4.4.5: latency histograms, whole and compact",
           measure, figures);

}  // namespace substrata::papers
