// Commands that run the cluster: two workloads at once, and the experiment with its clocks.
#include <substrata/myrinet.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

#include "myrinet/clock_experiment.hpp"
#include "myrinet/coscheduled_run.hpp"
#include "myrinet/machine.hpp"
#include "myrinet/process_recorder.hpp"

using namespace substrata;
using namespace substrata::myrinet;

extern "C" {

int substrata_myrinet_run_together(const char* first, const char* second,
                                   const substrata_run_options* options, substrata_run_result* first_result,
                                   substrata_run_result* second_result) {
  return command([&](Recorder&) {
    if (first == nullptr || second == nullptr || first_result == nullptr || second_result == nullptr ||
        first_result->struct_size < sizeof *first_result ||
        second_result->struct_size < sizeof *second_result)
      return fail(Code::kInvalid, "two workloads and two results with struct_size set are needed");
    constexpr uint32_t kDefaultNodes = 8;
    const uint32_t nodes = options != nullptr && options->processes != 0 ? options->processes : kDefaultNodes;
    const char* const text = options != nullptr && options->parameters != nullptr ? options->parameters : "";
    const uint64_t seed = options != nullptr ? options->seed : 0;
    if (nodes > kMostNodes)
      return fail(Code::kInvalid, "%u nodes are asked for, %u are possible", nodes, kMostNodes);
    MachineParameters parameters;
    std::string wrong;
    if (!parse_machine_parameters(text, seed, &parameters, wrong))
      return fail(Code::kInvalid, "%s", wrong.c_str());
    const Reports reports = run_coscheduled({first, second}, parameters, nodes, seed);
    substrata_flush();
    substrata_run_result* const results[] = {first_result, second_result};
    for (uint32_t i = 0; i < kCoscheduled; ++i) {
      const workloads::Report& report = reports[i];
      results[i]->correct = report.correct ? 1 : 0;
      results[i]->simulated_ticks = report.outcome.time;
      results[i]->ticks_per_second = kSecond;
      results[i]->operations = report.outcome.operations();
      std::snprintf(results[i]->message, sizeof results[i]->message, "%s", report.message.c_str());
      if (!report.ran) return fail(Code::kInvalid, "%s", report.message.c_str());
    }
    return 0;
  });
}

int substrata_myrinet_clock_experiment(const substrata_myrinet_clock_options* options,
                                       substrata_myrinet_clock_result* result) {
  return command([&](Recorder&) {
    if (options == nullptr || result == nullptr ||
        options->struct_size < offsetof(substrata_myrinet_clock_options, wander_ppb) ||
        result->struct_size < sizeof *result)
      return fail(Code::kInvalid, "options and a result with struct_size set are needed");
    ClusterParameters parameters;
    parameters.clock = ClockMode::kPeriodic;
    if (options->nodes != 0) parameters.nodes = options->nodes;
    const double seconds = options->seconds != 0 ? options->seconds : 3600;
    const double period = options->period_seconds != 0 ? options->period_seconds : 300;
    constexpr double kMostSeconds = 36'000;
    if (parameters.nodes < 2 || parameters.nodes > kMostNodes)
      return fail(Code::kInvalid, "%u nodes are asked for, 2 to %u are possible", parameters.nodes,
                  kMostNodes);
    if (!(seconds > 0 && seconds <= kMostSeconds) || !(period >= 0.01 && period <= kMostSeconds) ||
        !(options->drift_ppm >= 0 && options->drift_ppm <= 1000))
      return fail(Code::kInvalid,
                  "times must be up to 36000 s, a period of at least 0.01 s, the drift 0 to 1000 ppm");
    parameters.seed = options->seed;
    parameters.period = static_cast<Time>(period * static_cast<double>(kSecond));
    parameters.drift_ppm = options->drift_ppm;
    if (options->struct_size >= sizeof *options && options->wander_ppb != 0)
      parameters.wander_ppb = std::max(options->wander_ppb, 0.0);
    parameters.correct_drift = options->no_correction == 0;
    parameters.stamps_inside = options->no_stamps == 0;
    parameters.priority = options->no_priority == 0;
    const ClusterCounts counts = run_clock_experiment(
        parameters, static_cast<Time>(seconds * static_cast<double>(kSecond)), options->no_load == 0);
    result->rounds = static_cast<uint32_t>(counts.rounds);
    result->error_ns = counts.clock_error / 1000;
    result->pair_error_ns = counts.pair_error / 1000;
    result->clock_packets = counts.clock_packets;
    result->load_packets = counts.received;
    return 0;
  });
}

}  // extern "C"
