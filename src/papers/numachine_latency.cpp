// numachine-latency: histograms of memory latency by the latency timer, whole and compact (Lemieux,
// sections 4.3.6 and 4.4.5).
#include <algorithm>
#include <cmath>
#include <ostream>

#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr std::uint32_t kProcessors = 16;
constexpr char kWorkload[] = "radix:keys=32768:radix=256";
constexpr std::uint32_t kReceptions = 6U << 11 | 1U << 9 | 1U << 0;

std::vector<Observation> run_latency(const Setting& setting) {
  std::vector<Observation> claims;
  // The printed list, with 136 for its 137 and 496 for its 494 (docs/reference/numachine.md).
  std::vector<std::pair<std::uint32_t, std::uint32_t>> printed;
  constexpr std::uint32_t kRows[][3] = {{0, 62, 2},     {64, 124, 4},     {128, 248, 8},    {256, 496, 16},
                                        {512, 992, 32}, {1024, 1984, 64}, {2048, 3968, 128}};
  for (const auto& row : kRows) {
    for (std::uint32_t first = row[0]; first <= row[1]; first += row[2])
      printed.emplace_back(first, first + row[2] - 1);
  }
  std::size_t same = 0;
  for (std::uint32_t i = 0; i < 128; ++i) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    substrata_numachine_bucket(i, &first, &last);
    same += i < printed.size() && printed[i].first == first && printed[i].second == last ? 1 : 0;
  }
  claims.push_back(
      {"the compact timer divides times into the printed buckets", "128 buckets, 0-1 to 3968-4095",
       std::to_string(same) + " of " + std::to_string(printed.size()) + " the same",
       same == 128 && printed.size() == 128,
       "two numbers of the list are misprints: 137-143 and 494-511 do not have their rows' width"});

  // The whole timer: 12 bits of time above 4 bits of PhaseID, which stays 0 here.
  reset_numachine();
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SCM, kReceptions | 1U << 20 | 1U << 15);
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  std::vector<std::uint64_t> exact(4096);
  double sum = 0;
  std::uint64_t requests = 0;
  double by_place[3] = {};
  std::uint64_t count_by_place[3] = {};
  {
    LatencyList list;
    run_on_numachine(kWorkload, kProcessors);
    for (const LatencyList::Request& request : list.requests()) {
      ++exact[std::min(request.latency, 4095U)];
      sum += request.latency;
      ++requests;
      const int place = (request.response_state & 2U) == 0 ? 0 : (request.response_state & 16U) != 0 ? 1 : 2;
      by_place[place] += request.latency;
      ++count_by_place[place];
    }
  }
  std::vector<std::uint64_t> whole(4096);
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    for (std::uint32_t word = 0; word < words.size(); ++word) whole[word >> 4] += words[word];
  }
  std::uint64_t in_histogram = 0;
  double average = 0;
  for (std::uint32_t time = 0; time < 4096; ++time) {
    in_histogram += whole[time];
    average += static_cast<double>(whole[time]) * time;
  }
  average /= static_cast<double>(std::max<std::uint64_t>(1, in_histogram));
  claims.push_back({"the whole timer's histogram shows exactly how many requests took 0, 1, ..., 4095 cycles",
                    "exactly",
                    std::to_string(in_histogram) + " requests, " +
                        (whole == exact ? "each at its time" : "not each at its time"),
                    whole == exact && requests > 0, "against the latencies published by the model"});

  reset_numachine();
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SCM, kReceptions | 3U << 20 | 1U << 15 | 1U << 18);
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  run_on_numachine(kWorkload, kProcessors);
  std::vector<std::uint64_t> compact(128);
  std::uint64_t by_state[32] = {};
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    for (std::uint32_t word = 0; word < words.size(); ++word) {
      compact[(word >> 4) & 127U] += words[word];
      by_state[word >> 11] += words[word];
    }
  }
  std::vector<std::uint64_t> folded(128);
  double middle = 0;
  for (std::uint32_t i = 0; i < 128; ++i) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    substrata_numachine_bucket(i, &first, &last);
    for (std::uint32_t time = first; time <= last; ++time) folded[i] += exact[time];
    middle += static_cast<double>(compact[i]) * (first + last) / 2;
  }
  middle /= static_cast<double>(std::max<std::uint64_t>(1, in_histogram));
  claims.push_back({"from either histogram the latency's characteristics can be constructed",
                    "average and variance",
                    "average " + digits(average, 2) + " cycles by the whole, " + digits(middle, 2) +
                        " by the compact timer, " +
                        digits(sum / static_cast<double>(std::max<std::uint64_t>(1, requests)), 2) + " known",
                    compact == folded && std::abs(middle - average) < 0.02 * average,
                    "a run gives the same requests each time, so both histograms are of the same ones"});
  bool states = true;
  std::uint64_t known_states[32] = {};
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const substrata_numachine_truth truth = known(p);
    for (int rsr = 0; rsr < 32; ++rsr) known_states[rsr] += truth.responses[rsr];
  }
  for (int rsr = 0; rsr < 32; ++rsr) states = states && known_states[rsr] == by_state[rsr];
  claims.push_back({"the histograms can be separated by the response state register",
                    "5 bits",
                    std::string("32 histograms, ") + (states ? "each" : "not each") + " with its requests",
                    states,
                    {}});
  const auto mean = [&](int place) {
    return count_by_place[place] == 0 ? 0.0 : by_place[place] / static_cast<double>(count_by_place[place]);
  };
  const auto percentile = [&](double share) {
    std::uint64_t seen = 0;
    for (std::uint32_t time = 0; time < 4096; ++time) {
      seen += whole[time];
      if (static_cast<double>(seen) >= share * static_cast<double>(in_histogram)) return time;
    }
    return 4095U;
  };
  const std::uint32_t low = percentile(0.05);
  const std::uint32_t high = percentile(0.95);
  claims.push_back(
      {"in a NUMA system a cache miss has a highly variable service latency",
       "highly variable (no figure given; taken here as 95th percentile at least twice the 5th)",
       "5th percentile " + std::to_string(low) + " cycles, 95th " + std::to_string(high),
       high >= 2 * low && low > 0,
       "averages: " + digits(mean(0), 1) + " cycles local, " + digits(mean(1), 1) +
           " from the network cache, " + digits(mean(2), 1) +
           " remote; remote is not twice local, as local blocks are often dirty on another station"});
  constexpr double kBusHz = 50e6;
  const double minutes = std::pow(2, 32) / kBusHz / 60;
  claims.push_back({"a 32-bit counter overflows after about 1.4 minutes", "1.4 minutes",
                    digits(minutes, 2) + " minutes", std::abs(minutes - 1.4) < 0.05, "at 50 MHz"});
  setting.write("numachine-latency.csv", [&](std::ostream& file) {
    file << "cycles,requests\n";
    for (std::uint32_t time = 0; time < 4096; ++time) {
      if (whole[time] != 0) file << time << "," << whole[time] << "\n";
    }
  });
  return claims;
}

}  // namespace

extern const Reproduction numachine_latency{
    "numachine-latency", "Lemieux, sections 4.3.6 and 4.4.5: latency histograms, whole and compact",
    run_latency};

}  // namespace substrata::papers
