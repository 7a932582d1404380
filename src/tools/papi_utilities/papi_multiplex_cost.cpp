// papi_multiplex_cost: what calls cost with sets that are multiplexed by the kernel, by software, and not at
// all.
#include <cstdio>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"
#include "tools/papi_utilities/timing.hpp"

using namespace substrata::utilities;

namespace {

enum class Mode { kPlain, kKernel, kSoftware };

// Makes a set of the first `count` events in that mode; the status of the first call that refused.
int prepare(const std::vector<std::string>& names, std::size_t count, Mode mode, int& set) {
  int status = PAPI_create_eventset(&set);
  int code = 0;
  if (status == PAPI_OK) status = PAPI_event_name_to_code(names.front().c_str(), &code);
  if (status == PAPI_OK) status = PAPI_assign_eventset_component(set, PAPI_get_event_component(code));
  if (status == PAPI_OK && mode == Mode::kKernel) status = PAPI_set_multiplex(set);
  if (status == PAPI_OK && mode == Mode::kSoftware) {
    PAPI_option_t option{};
    option.multiplex.eventset = set;
    option.multiplex.ns = 0;
    option.multiplex.flags = PAPI_MULTIPLEX_FORCE_SW;
    status = PAPI_set_opt(PAPI_MULTIPLEX, &option);
  }
  for (std::size_t i = 0; i < count && status == PAPI_OK; ++i)
    status = PAPI_add_named_event(set, names[i].c_str());
  return status;
}

// Prints one line; false when a call was refused, with the reason on stderr.
bool measure(const char* name, const std::vector<std::string>& names, std::size_t count, Mode mode,
             std::size_t times) {
  int set = PAPI_NULL;
  int status = prepare(names, count, mode, set);
  std::vector<long long> values(count);
  const auto keep = [&](int result) {
    if (status == PAPI_OK && result != PAPI_OK) status = result;
  };
  if (status == PAPI_OK) {
    const Durations pairs = time_calls(times, [&] {
      keep(PAPI_start(set));
      keep(PAPI_stop(set, values.data()));
    });
    keep(PAPI_start(set));
    const Durations reads = time_calls(times, [&] { keep(PAPI_read(set, values.data())); });
    const Durations resets = time_calls(times, [&] { keep(PAPI_reset(set)); });
    keep(PAPI_stop(set, values.data()));
    if (status == PAPI_OK)
      std::printf("%-10s %6zu %14.1f %10lld %14.1f %10lld %14.1f %10lld\n", name, count, pairs.mean(),
                  pairs.min(), reads.mean(), reads.min(), resets.mean(), resets.min());
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  if (status != PAPI_OK)
    std::fprintf(stderr, "papi_multiplex_cost: %s with %zu events: %s\n", name, count,
                 message(status).c_str());
  return status == PAPI_OK;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t least = 1, most = 6, threshold = 10'000;
  bool no_software = false, no_kernel = false;
  substrata::Arguments arguments("papi_multiplex_cost",
                                 "Measures the cost of multiplexing, in cycles of the real clock.");
  arguments.number("-m", least, "least number of events (default 1)");
  arguments.number("-x", most, "greatest number of events (default 6, as far as that many count here)");
  arguments.flag("-s", no_software, "no software multiplexing");
  arguments.flag("-k", no_kernel, "no kernel multiplexing");
  arguments.number("-t", threshold, "iterations (default 10000)");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (least == 0 || most < least || most > 64 || threshold == 0 || threshold > 100'000'000) {
    std::fprintf(stderr, "papi_multiplex_cost: 1 <= -m <= -x <= 64 and 1 <= -t <= 100000000 are needed\n");
    return 2;
  }
  start_library();
  if (const int status = PAPI_multiplex_init(); status != PAPI_OK) {
    std::fprintf(stderr, "papi_multiplex_cost: PAPI_multiplex_init: %s\n", message(status).c_str());
    return 1;
  }
  const std::vector<std::string> names = countable_events(static_cast<unsigned>(most));
  if (names.size() < least) {
    std::fprintf(stderr, "papi_multiplex_cost: only %zu events can be counted together here\n", names.size());
    return 1;
  }
  std::printf("Cost of multiplexing in cycles over %llu iterations. Events:",
              static_cast<unsigned long long>(threshold));
  for (const std::string& name : names) std::printf(" %s", name.c_str());
  std::printf("\n\n%-10s %6s %14s %10s %14s %10s %14s %10s\n", "mode", "events", "start/stop", "min", "read",
              "min", "reset", "min");
  bool ok = true;
  for (std::size_t count = least; count <= names.size(); ++count) {
    ok = measure("none", names, count, Mode::kPlain, threshold) && ok;
    if (!no_kernel) ok = measure("kernel", names, count, Mode::kKernel, threshold) && ok;
    if (!no_software) ok = measure("software", names, count, Mode::kSoftware, threshold) && ok;
  }
  PAPI_shutdown();
  return ok ? 0 : 1;
}
