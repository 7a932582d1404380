// A timeline in units that people read.
#include "recording/base_unit.hpp"

#include <map>

namespace substrata::recording {

Timeline in_base_units(const Timeline& timeline, std::deque<Series>* series) {
  Timeline out = timeline;
  std::map<const Series*, const Series*> known;
  for (Trace& trace : out.traces) {
    const BaseUnit base = base_unit(trace.series->unit);
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
