// substrata check-presets: holds every preset that opens here against a kernel whose count is known.
#include <cstdio>
#include <string>
#include <vector>

#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/preset_kernels.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr std::uint64_t kRounds = 10'000'000;
// Interrupts and their handlers' returns count on some processors even in user mode.
constexpr double kTolerance = 0.01;

// What the kernel counts in `rounds` rounds; empty reason on success.
std::string count(int preset, void (*kernel)(std::uint64_t), std::uint64_t rounds, long long& value) {
  int set = PAPI_NULL;
  int status = PAPI_create_eventset(&set);
  if (status == PAPI_OK) status = PAPI_add_event(set, preset);
  kernel(1);  // what it needs is there before it is measured
  if (status == PAPI_OK) status = PAPI_start(set);
  if (status == PAPI_OK) {
    kernel(rounds);
    status = PAPI_stop(set, &value);
  }
  const std::string why = status == PAPI_OK ? "" : refusal(status);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return why;
}

// Prints what one kernel proves of a preset, by the difference of two lengths.
bool holds(int preset, const std::string& name, const PresetCheck& check) {
  long long few = 0, many = 0;
  std::string why = count(preset, check.kernel->run, kRounds, few);
  if (why.empty()) why = count(preset, check.kernel->run, 3 * kRounds, many);
  if (!why.empty()) {
    std::printf("%-14s WRONG: listed as available, but %s\n", name.c_str(), why.c_str());
    return false;
  }
  constexpr double kMeasured = 2 * kRounds;
  const auto found = static_cast<double>(many - few);
  const bool right =
      found >= (check.least - kTolerance) * kMeasured && found <= (check.most + kTolerance) * kMeasured;
  std::printf("%-14s %s: %.0f", name.c_str(), right ? "right" : "WRONG", check.least * kMeasured);
  if (check.most != check.least) std::printf(" to %.0f", check.most * kMeasured);
  std::printf(" expected, %.0f found (%s)\n", found, check.kernel->name);
  return right;
}

}  // namespace

int check_presets(int argc, char** argv) {
  Arguments arguments(
      "substrata check-presets",
      "Checks the preset events against kernels with known counts, by differences of two lengths. "
      "Exit status 0: all checked events are right; 1: at least one is not; 77: none can be checked.");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  unsigned available = 0, checked = 0, wrong = 0;
  std::string reason;
  for (const int preset : presets()) {
    const substrata_event event = describe(preset);
    if (event.available == 0) {
      // Of the presets without a recipe the reason is only that; of this one it is what the machine lacks.
      if (preset == PAPI_TOT_INS) reason = event.why;
      continue;
    }
    ++available;
    const std::string name = event_name(preset);
    const std::vector<PresetCheck> checks = checks_of(preset);
    if (checks.empty()) {
      std::printf("%-14s not checked: there is no kernel of known count for it\n", name.c_str());
      continue;
    }
    ++checked;
    bool right = true;
    for (const PresetCheck& check : checks) right = holds(preset, name, check) && right;
    wrong += right ? 0 : 1;
  }
  if (checked == 0) {
    std::printf("No preset can be checked here: %u are available.%s%s\n", available,
                reason.empty() ? "" : " ", reason.c_str());
    return 77;
  }
  std::printf("\n%u presets available, %u checked, %u wrong\n", available, checked, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace substrata::tool
