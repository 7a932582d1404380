// Adds the events by name and gives back what was taken when one is refused.
#include "papers/counted_set.hpp"

#include <papi.h>

#include <map>
#include <stdexcept>
#include <tuple>

#include "recording/sampler/measuring.hpp"
#include "tools/model_runs/workload_run.hpp"

namespace substrata::papers {
using namespace sampler;

CountedSet::CountedSet(const std::string& substrate, const std::vector<std::string>& events)
    : set_(PAPI_NULL) {
  start_library();
  if (const int status = PAPI_create_eventset(&set_); status != PAPI_OK)
    throw std::runtime_error(refusal(status));
  for (const std::string& event : events) {
    const int status = PAPI_add_named_event(set_, (substrate + ":::" + event).c_str());
    if (status != PAPI_OK) {
      const std::string message = event + ": " + refusal(status);
      PAPI_cleanup_eventset(set_);
      PAPI_destroy_eventset(&set_);
      throw std::runtime_error(message);
    }
  }
}

CountedSet::~CountedSet() {
  PAPI_stop(set_, nullptr);
  PAPI_cleanup_eventset(set_);
  PAPI_destroy_eventset(&set_);
}

void CountedSet::start() {
  if (const int status = PAPI_start(set_); status != PAPI_OK) throw std::runtime_error(refusal(status));
}

std::vector<long long> CountedSet::stop() {
  std::vector<long long> values(static_cast<std::size_t>(PAPI_num_events(set_)));
  if (const int status = PAPI_stop(set_, values.data()); status != PAPI_OK)
    throw std::runtime_error(refusal(status));
  return values;
}

CountedRun counted_run(const std::string& machine, const std::string& event, const std::string& workload,
                       std::uint32_t nodes, const std::string& parameters, std::uint64_t seed) {
  using Run = std::tuple<std::string, std::string, std::string, std::uint32_t, std::string, std::uint64_t>;
  static std::map<Run, CountedRun> known;
  const Run asked{machine, event, workload, nodes, parameters, seed};
  if (const auto found = known.find(asked); found != known.end()) return found->second;
  CountedSet set(machine, {event});
  set.start();
  CountedRun run;
  run.seconds =
      model_runs::seconds_of(model_runs::run_workload(machine.c_str(), workload, nodes, parameters, seed));
  run.count = set.stop().front();
  known.emplace(asked, run);
  return run;
}

}  // namespace substrata::papers
