// A run of the command, kept in memory.
#include "tools/substrata/stat/measure.hpp"

#include <memory>
#include <stdexcept>

#include "recording/memory_sink.hpp"

namespace substrata::tool {
using namespace sampler;

Counts measure_command(Plan plan, const OnInterval& on_interval) {
  recording::MemorySink* memory = nullptr;
  Destination destination;
  Intervals intervals;
  bool running = false;
  const auto interval = [&] {
    if (!running || !on_interval) return;
    const recording::Writer& writer = memory->recording().writers.front();
    const Counts counts = intervals.next(writer);
    on_interval(counts, intervals.seconds());
  };
  destination.open = [&](const recording::Properties& properties) -> std::unique_ptr<recording::Sink> {
    auto made = std::make_unique<recording::MemorySink>(properties);
    memory = made.get();
    return made;
  };
  destination.begun = [&] {
    running = true;
    intervals.begin(raw_now_ns());
  };
  destination.flush = interval;
  recording::Recording result;
  destination.end = [&](const Outcome& outcome, const recording::Properties& properties) {
    interval();  // the rest
    memory->end(outcome.end, properties);
    result = memory->recording();
  };
  plan.flush_ns = plan.interval_ns;  // a flush after every sample
  const Outcome outcome = run_sampled(plan, destination);
  if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
  Counts counts = counts_of(recording::lay_out(result), outcome.counting, outcome.refused);
  counts.end_requested = outcome.end_requested;
  return counts;
}

}  // namespace substrata::tool
