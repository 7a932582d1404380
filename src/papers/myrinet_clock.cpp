// myrinet-clock: how wrong the global clock is (Liao, Martonosi, Clark, sections 2.2 and 3.2).
#include <substrata/feed.hpp>
#include <substrata/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "base/parse.hpp"
#include "papers/claims.hpp"
#include "papers/myrinet_runs.hpp"

namespace substrata::papers {
using namespace model_runs;
namespace {

// The paper synchronises "roughly once per second" where nothing is corrected: two clocks that are off by so much in
// opposite directions then differ by its 3 us.
constexpr double kDriftPpm = 1.5;

// Largest difference between two clocks within the simulated time, in microseconds.
double error_of(substrata_myrinet_clock_options options) {
  auto result = client::sized<substrata_myrinet_clock_result>();
  if (substrata_myrinet_clock_experiment(&options, &result) != 0)
    throw std::runtime_error(substrata_myrinet_error());
  return result.pair_error_ns / 1000;
}

double number_in(const std::string& setting, const std::string& name, double otherwise) {
  if (setting.starts_with(name + "="))
    leading_number(std::string_view(setting).substr(name.size() + 1), &otherwise);
  return otherwise;
}

// A size's amount is the simulated minutes. A setting is "drift=PPM", "wander=PPB", "corrected", "uncorrected",
// "period=300" or "idle" (nothing but clock packets under way).
substrata_myrinet_clock_options options_of(const Case& one) {
  constexpr double kSecondsPerMinute = 60;
  auto options = client::sized<substrata_myrinet_clock_options>();
  options.nodes = one.size.nodes;
  options.seed = one.seed;
  options.seconds = static_cast<double>(one.size.amount) * kSecondsPerMinute;
  options.drift_ppm = number_in(one.setting, "drift", kDriftPpm);
  options.wander_ppb = number_in(one.setting, "wander", 0);
  options.no_load = one.setting == "idle" ? 1 : 0;
  return options;
}

// NetLatencies of messages of one length, by sender and receiver.
class PairLatencies {
 public:
  PairLatencies() {
    client::feed::demand(observer_.try_create<&PairLatencies::take>(*this));
    client::feed::demand(observer_.try_subscribe("myrinet.node*.lanai.receive"));
  }
  // The largest that one direction of a pair was measured to take longer than the other in one round, in microseconds.
  // Half of it is what the two clocks differ by.
  double largest() const {
    double most = 0;
    for (const auto& [key, ps] : latencies_) {
      const auto [from, to, round] = key;
      const auto back = latencies_.find({to, from, round});
      if (from < to && back != latencies_.end()) most = std::max(most, std::abs(ps - back->second) / 2 / 1e6);
    }
    return most;
  }

 private:
  // The first minute is left out: rates are not known yet. Clocks that nobody has set may be before zero.
  static constexpr std::int64_t kFirst = 65'000'000'000'000;
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      if (t.state != SUBSTRATA_ARRIVED || t.size != kBytes || static_cast<std::int64_t>(t.time) < kFirst)
        continue;
      std::uint64_t& round = rounds_[{t.initiator, t.target}];
      latencies_[{t.initiator, t.target, round++}] =
          static_cast<double>(static_cast<std::int64_t>(t.time - t.start));
    }
  }
  std::map<std::pair<unsigned, unsigned>, std::uint64_t> rounds_;
  std::map<std::tuple<unsigned, unsigned, std::uint64_t>, double> latencies_;
  client::feed::Observer observer_;

 public:
  static constexpr unsigned kBytes = 1000;
};

// Every ten seconds a message to and fro between each two nodes, while the clocks are kept.
double pairs_error(const Case& one) {
  constexpr std::uint64_t kPause = 1'660'000'000;  // cycles: ten seconds of 166 MHz
  constexpr std::uint64_t kRoundsPerMinute = 6;
  const std::string workload = "ping-pong:mode=pairs:bytes=" + std::to_string(PairLatencies::kBytes) +
                               ":rounds=" + std::to_string(one.size.amount * kRoundsPerMinute) +
                               ":pause=" + std::to_string(kPause);
  std::string parameters = "clock=periodic:drift_ppm=2";
  if (one.setting.starts_with("wander=")) parameters += ":wander_ppb=" + one.setting.substr(7);
  if (one.setting == "uncorrected") parameters += ":drift_correction=no";
  PairLatencies seen;
  myrinet_run(workload, one.size.nodes, parameters, one.seed);
  substrata_flush();
  return seen.largest();
}

Readings measure(const Case& one) {
  const substrata_myrinet_clock_options base = options_of(one);
  Readings found;
  if (one.wants("error")) {
    auto options = base;
    options.no_correction = one.setting == "uncorrected" ? 1 : 0;
    found["error"] = {error_of(options)};
  }
  if (one.wants("uncorrected")) {
    auto options = base;
    options.no_correction = one.setting == "corrected" ? 0 : 1;
    found["uncorrected"] = {error_of(options)};
  }
  if (one.wants("every-second")) {
    auto options = base;
    options.no_correction = 1;
    options.period_seconds = number_in(one.setting, "period", 1);
    found["every-second"] = {error_of(options)};
  }
  if (one.wants("pairs")) found["pairs"] = {pairs_error(one)};
  if (one.wants("stamps") || one.wants("priority")) {
    const double with = error_of(base);
    auto options = base;
    options.no_stamps = 1;
    const double no_stamps = error_of(options);
    options.no_stamps = 0;
    options.no_priority = 1;
    const double no_priority = error_of(options);
    found["stamps"] = {no_stamps / with,
                       microseconds(no_stamps) + " without, " + microseconds(with) + " with"};
    found["priority"] = {no_priority / with,
                         microseconds(no_priority) + " without, " + microseconds(with) + " with"};
  }
  return found;
}

}  // namespace

extern const Reproduction myrinet_clock =
    stated("myrinet-clock", "Myrinet monitor, sections 2.2 and 3.2: the global clock", measure);

}  // namespace substrata::papers
