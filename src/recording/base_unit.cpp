// A timeline in units that people read.
#include "recording/base_unit.hpp"

#include <map>

namespace substrata::recording {
namespace {

// Rates of energy are of the time between two renewals of its counter: samples that saw none are left out, else many
// had 0 W and the next one the power of several. A counter that never moved keeps its samples.
void keep_renewals(Trace* trace) {
  if (trace->values.empty() || trace->values.front() == trace->values.back()) return;
  std::size_t kept = 1;
  for (std::size_t i = 1; i < trace->values.size(); ++i) {
    if (trace->values[i] == trace->values[kept - 1]) continue;
    trace->seconds[kept] = trace->seconds[i];
    trace->values[kept++] = trace->values[i];
  }
  trace->seconds.resize(kept);
  trace->values.resize(kept);
}

}  // namespace

Timeline in_base_units(const Timeline& timeline, std::deque<Series>* series) {
  Timeline out = timeline;
  std::map<const Series*, const Series*> known;
  for (Trace& trace : out.traces) {
    const BaseUnit base = base_unit(trace.series->unit);
    if (counts_energy(*trace.series)) keep_renewals(&trace);
    if (base.factor == 1) continue;
    const Series*& renamed = known[trace.series];
    if (renamed == nullptr) {
      Series& fresh = series->emplace_back();
      static_cast<SeriesInfo&>(fresh) = *trace.series;
      fresh.unit = base.unit;
      renamed = &fresh;
    }
    trace.series = renamed;
    for (double& value : trace.values) value *= base.factor;
  }
  return out;
}

}  // namespace substrata::recording
