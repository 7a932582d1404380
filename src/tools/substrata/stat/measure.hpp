// Runs what `substrata stat` measures.
#pragma once

#include <functional>

#include "recording/sampler/live_events.hpp"
#include "recording/sampler/run.hpp"
#include "tools/substrata/stat/counts.hpp"

namespace substrata::tool {

// What was counted in an interval that ended so many seconds after the begin.
using OnInterval = std::function<void(const Counts& counts, double at_seconds)>;

// Runs the command to its end. `on_interval`: may be empty; else called after every sample. Throws as
// run_sampled does.
Counts measure_command(sampler::Plan plan, const OnInterval& on_interval);

// Measures the machine, some of its processors or a running process: while a command runs, else until the process
// ends or a signal asks for the end.
struct LivePlan {
  sampler::LiveTarget target;
  std::vector<std::string> event_specs;
  std::vector<std::string> command;  // may be empty
  std::int64_t interval_ns = 100'000'000;
};
// Throws std::runtime_error with the reason.
Counts measure_live(const LivePlan& plan, const OnInterval& on_interval);

}  // namespace substrata::tool
