// numachine-estimates: how far the card's state machines for invalidation hits and misses are from the truth
// (Lemieux, section 4.4.4, figure 4.8).
#include <fstream>
#include <stdexcept>

#include "reproduce/numachine_runs.hpp"
#include "reproduce/reproduction.hpp"

namespace substrata::tool {
namespace {

constexpr std::uint32_t kProcessors = 16;
constexpr double kSmall = 0.1;  // "expected to be small"; the thesis has no figure

struct Sums {
  double hits = 0, hits_estimated = 0, misses = 0, misses_estimated = 0, cold = 0;
};

Sums measure(const char* workload, const std::string& parameters) {
  run_on_numachine(workload, kProcessors, parameters);
  Sums sums;
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const substrata_numachine_truth truth = known(p);
    sums.hits += static_cast<double>(truth.invalidation_hits);
    sums.hits_estimated += static_cast<double>(truth.invalidation_hits_estimated);
    sums.misses += static_cast<double>(truth.misses[2]);
    sums.misses_estimated += static_cast<double>(truth.invalidation_misses_estimated);
    sums.cold += static_cast<double>(truth.misses[3]);
  }
  return sums;
}

std::string count(double number) { return digits(number, 0); }

std::vector<Claim> run_estimates(const Setting& setting) {
  // The thesis's cache. The last two programs do not fit in it, so that invalid lines are replaced too.
  struct Case {
    const char* workload;
    const char* cache;
  };
  constexpr Case kCases[] = {{"radix:keys=65536", "1m"},         {"lu:n=128", "1m"},
                             {"fft:points=16384", "1m"},         {"ocean:n=66", "1m"},
                             {"false-sharing:rounds=500", "1m"}, {"true-sharing:rounds=200", "1m"},
                             {"migratory:rounds=50", "1m"},      {"producer-consumer:words=2048", "1m"},
                             {"hot-spot:rounds=8", "1m"},        {"radix:keys=1048576", "1m"},
                             {"fft:points=262144", "1m"}};
  std::string table =
      "workload,cache,hits,hits estimated,misses,misses estimated,misses estimated from reset,other misses\n";
  Sums all;
  bool never_over = true;
  bool more_hits = true;
  std::string worst_hits;
  double worst = -1;
  bool never_fewer = true;
  Sums cold;  // the same from reset, with every line of the caches invalid
  for (const auto& [workload, cache] : kCases) {
    const std::string caches = std::string("cache=") + cache;
    const Sums s = measure(workload, caches + ":warm=1");
    const Sums reset = measure(workload, caches);
    cold.misses += reset.misses;
    cold.misses_estimated += reset.misses_estimated;
    never_fewer = never_fewer && s.misses_estimated >= s.misses && reset.misses_estimated >= reset.misses;
    table += std::string(workload) + "," + cache + "," + count(s.hits) + "," + count(s.hits_estimated) + "," +
             count(s.misses) + "," + count(s.misses_estimated) + "," + count(reset.misses_estimated) + "," +
             count(s.cold) + "\n";
    never_over = never_over && s.hits_estimated <= s.hits;
    more_hits = more_hits && s.hits >= s.misses;
    const double error = s.hits == 0 ? 0 : (s.hits - s.hits_estimated) / s.hits;
    if (error > worst) {
      worst = error;
      worst_hits = std::string(workload);
    }
    all.hits += s.hits;
    all.hits_estimated += s.hits_estimated;
    all.misses += s.misses;
    all.misses_estimated += s.misses_estimated;
    all.cold += s.cold;
  }
  std::vector<Claim> claims;
  claims.push_back(
      {"the invalidation hit machine over-counts only when a processor invalidates lines itself",
       "no over-count without explicit flushes",
       never_over ? "none in " + std::to_string(std::size(kCases)) + " runs" : std::string("some"),
       never_over, "the workloads flush nothing"});
  const double error = (all.hits - all.hits_estimated) / all.hits;
  claims.push_back({"its approximation is sufficient for most uses: it seldom under-counts",
                    "unlikely (no figure given; taken here as below 10 % over all workloads)",
                    count(all.hits_estimated) + " estimated of " + count(all.hits) + ", " +
                        share_of(all.hits - all.hits_estimated, all.hits) + " too few",
                    error < kSmall && error >= 0,
                    "most in " + worst_hits + ": " + digits(100 * worst, 2) + " %"});
  const auto too_many = [](const Sums& s) { return (s.misses_estimated - s.misses) / s.misses; };
  claims.push_back(
      {"the invalidation miss machine may count other types of misses, and the error is small",
       "expected to be small (no figure given; taken here as below 10 % over all workloads)",
       count(all.misses_estimated) + " estimated, " + count(all.misses) + " known, " +
           digits(100 * too_many(all), 2) + " % too many",
       never_fewer && too_many(all) < kSmall,
       "all of the excess is in the two programs whose data does not fit in the caches: a line invalidated "
       "and then replaced before reuse is taken for an invalidation miss, as the tag is not looked at; that "
       "is " +
           share_of(all.misses_estimated - all.misses, all.cold) +
           " of the other misses. Caches begin full of an earlier program's lines, as on a machine that has "
           "been "
           "running; from reset, when every line is invalid, first misses are counted too: " +
           digits(100 * too_many(cold), 1) + " % too many"});
  claims.push_back({"there are always more external invalidation hits than invalidation misses",
                    "hits >= misses",
                    count(all.hits) + " hits, " + count(all.misses) + " misses over all, " +
                        (more_hits ? "and in each workload" : "but not in each workload"),
                    more_hits && all.hits > all.misses,
                    {}});
  if (!setting.out.empty()) {
    std::ofstream file(setting.out + "/numachine-estimates.csv");
    file << table;
    if (!file.flush()) throw std::runtime_error("cannot write " + setting.out + "/numachine-estimates.csv");
  }
  return claims;
}

const Registered registered(
    {"numachine-estimates",
     "Lemieux, section 4.4.4 and figure 4.8: the estimates of invalidation hits and misses", run_estimates});

}  // namespace
}  // namespace substrata::tool
