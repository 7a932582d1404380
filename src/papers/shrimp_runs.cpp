// Runs on the machine shrimp, and eventsets beside them.
#include "papers/shrimp_runs.hpp"

#include <papi.h>
#include <substrata/shrimp.h>

#include <cstdio>
#include <stdexcept>

#include "model_runs/workload_run.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
using namespace model_runs;

ShrimpSet::ShrimpSet(const std::vector<std::string>& events) : set_(PAPI_NULL) {
  if (const int status = PAPI_create_eventset(&set_); status != PAPI_OK)
    throw std::runtime_error(refusal(status));
  for (const std::string& event : events) {
    const int status = PAPI_add_named_event(set_, ("shrimp:::" + event).c_str());
    if (status != PAPI_OK) {
      const std::string message = event + ": " + refusal(status);
      PAPI_cleanup_eventset(set_);
      PAPI_destroy_eventset(&set_);
      throw std::runtime_error(message);
    }
  }
}

ShrimpSet::~ShrimpSet() {
  PAPI_stop(set_, nullptr);
  PAPI_cleanup_eventset(set_);
  PAPI_destroy_eventset(&set_);
}

void ShrimpSet::start() {
  if (const int status = PAPI_start(set_); status != PAPI_OK) throw std::runtime_error(refusal(status));
}

std::vector<long long> ShrimpSet::stop() {
  std::vector<long long> values(static_cast<std::size_t>(PAPI_num_events(set_)));
  if (const int status = PAPI_stop(set_, values.data()); status != PAPI_OK)
    throw std::runtime_error(refusal(status));
  return values;
}

double run_on_shrimp(const std::string& workload, std::uint32_t nodes, const std::string& parameters,
                     std::string* message) {
  const substrata_run_result result = model_runs::run_workload("shrimp", workload, nodes, parameters);
  if (message != nullptr) *message = result.message;
  return model_runs::seconds_of(result);
}

void command_all(std::uint32_t reg, std::uint64_t value) {
  if (substrata_shrimp_command(0, SUBSTRATA_SHRIMP_EVERY_NODE, reg, value) != 0)
    throw std::runtime_error(substrata_shrimp_error());
}

std::string with_digits(double number, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

}  // namespace substrata::papers
