// papi_cost: what start and stop, read, accum and reset cost, with events that can be counted here.
#include <algorithm>
#include <cstdio>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"
#include "tools/papi_utilities/timing.hpp"

using namespace substrata::utilities;

namespace {

struct Options {
  std::uint64_t bins = 100;
  std::uint64_t threshold = 1'000'000;
  bool distribution = false, percentiles = false, deviations = false;
};

void report(const char* what, const Durations& durations, const Options& options) {
  std::printf("\nTotal cost for %s over %zu iterations\n", what, durations.count());
  std::printf("min cycles   : %lld\nmax cycles   : %lld\nmean cycles  : %f\nstd deviation: %f\n",
              durations.min(), durations.max(), durations.mean(), durations.deviation());
  if (options.percentiles)
    std::printf("25%% cycles   : %lld\n50%% cycles   : %lld\n75%% cycles   : %lld\n",
                durations.percentile(0.25), durations.percentile(0.5), durations.percentile(0.75));
  if (options.deviations) {
    std::printf("Iterations above so many standard deviations:\n");
    for (int k = 1; k <= 10; ++k) {
      const double limit = durations.mean() + k * durations.deviation();
      const auto above = std::count_if(durations.values().begin(), durations.values().end(),
                                       [&](long long value) { return static_cast<double>(value) > limit; });
      std::printf("  %2d: %lld\n", k, static_cast<long long>(above));
    }
  }
  if (options.distribution && options.bins != 0) {
    // The tail is long: all above the 99th percentile falls into the last bin.
    const long long low = durations.min();
    const long long high = std::max(durations.percentile(0.99), low + 1);
    const double width = static_cast<double>(high - low) / static_cast<double>(options.bins);
    std::vector<std::size_t> bins(options.bins);
    for (const long long value : durations.values())
      ++bins[std::min<std::size_t>(options.bins - 1,
                                   static_cast<std::size_t>(static_cast<double>(value - low) / width))];
    const std::size_t most = *std::max_element(bins.begin(), bins.end());
    for (std::size_t i = 0; i < bins.size(); ++i) {
      std::printf("%10.0f: %8zu ", static_cast<double>(low) + width * static_cast<double>(i), bins[i]);
      for (std::size_t k = 0; k < bins[i] * 50 / most; ++k) std::putchar('*');
      std::putchar('\n');
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> ignored;
  substrata::Arguments arguments("papi_cost", "Measures the cost of PAPI calls.");
  arguments.number("-b", options.bins, "bins of the distribution (default 100)");
  arguments.flag("-d", options.distribution, "show the distribution");
  arguments.flag("-p", options.percentiles, "show the quartiles");
  arguments.flag("-s", options.deviations, "show the iterations above 1 to 10 standard deviations");
  arguments.number("-t", options.threshold, "iterations (default 1000000)");
  arguments.words("PARAMETERS", ignored, "accepted and ignored (TESTS_QUIET)");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (options.threshold == 0 || options.threshold > 100'000'000 || options.bins > 100'000) {
    std::fprintf(stderr, "papi_cost: -t takes 1 to 100000000, -b at most 100000\n");
    return 2;
  }
  std::printf(
      "Cost of execution for PAPI start/stop, read and accum.\n"
      "This test takes a while. Please be patient...\n");
  start_library();
  const std::vector<std::string> names = countable_events(2);
  if (names.empty()) {
    std::fprintf(stderr, "papi_cost: no event can be counted here; papi_component_avail says why\n");
    return 1;
  }
  std::printf("\nEvents:");
  for (const std::string& name : names) std::printf(" %s", name.c_str());
  std::printf("\n");

  int set = PAPI_NULL;
  int status = PAPI_create_eventset(&set);
  for (const std::string& name : names)
    if (status == PAPI_OK) status = PAPI_add_named_event(set, name.c_str());
  const std::string counters = names.size() == 1 ? " (1 counter)" : " (2 counters)";
  const std::size_t times = options.threshold;
  long long values[2] = {};
  // One refused call makes every figure worthless, so each is looked at.
  const auto keep = [&](int result) {
    if (status == PAPI_OK && result != PAPI_OK) status = result;
  };
  if (status == PAPI_OK) {
    std::printf("\nPerforming loop latency test...\n");
    report("loop latency", time_calls(times, [] {}), options);
    std::printf("\nPerforming start/stop test...\n");
    report(("PAPI_start/stop" + counters).c_str(),
           time_calls(times,
                      [&] {
                        keep(PAPI_start(set));
                        keep(PAPI_stop(set, values));
                      }),
           options);
    keep(PAPI_start(set));
    std::printf("\nPerforming read test...\n");
    report(("PAPI_read" + counters).c_str(), time_calls(times, [&] { keep(PAPI_read(set, values)); }),
           options);
    long long stamp = 0;
    std::printf("\nPerforming read with timestamp test...\n");
    report(("PAPI_read_ts" + counters).c_str(),
           time_calls(times, [&] { keep(PAPI_read_ts(set, values, &stamp)); }), options);
    std::printf("\nPerforming accum test...\n");
    report(("PAPI_accum" + counters).c_str(), time_calls(times, [&] { keep(PAPI_accum(set, values)); }),
           options);
    std::printf("\nPerforming reset test...\n");
    report(("PAPI_reset" + counters).c_str(), time_calls(times, [&] { keep(PAPI_reset(set)); }), options);
    keep(PAPI_stop(set, values));
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  if (status != PAPI_OK) {
    std::fprintf(stderr, "papi_cost: %s\n", message(status).c_str());
    return 1;
  }
  PAPI_shutdown();
  return 0;
}
