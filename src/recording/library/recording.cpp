// The C interface for reading records, over the classes of src/record. No exception leaves it.
#include "substrata/recording.h"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "recording/reader.hpp"
#include "recording/text_report.hpp"
#include "recording/timeline.hpp"

using namespace substrata;

struct substrata_recording {
  recording::Recording recording;
  recording::Timeline timeline;
  std::vector<std::string> problems;
  std::string overhead;
};

namespace {

std::int32_t rank_of(const recording::Writer& writer, const std::string& scope) {
  if (const std::int64_t own = recording::rank_of_scope(scope); own >= 0)
    return static_cast<std::int32_t>(own);
  return recording::property(writer.properties, "mpi.rank").empty()
             ? -1
             : static_cast<std::int32_t>(recording::property_number(writer.properties, "mpi.rank"));
}

}  // namespace

extern "C" {

substrata_recording* substrata_recording_open(const char* const* paths, size_t count, char* why,
                                              size_t capacity) {
  substrata_recording* made = nullptr;
  const auto refuse = [&](const char* reason) -> substrata_recording* {
    if (why != nullptr && capacity != 0) std::snprintf(why, capacity, "%s", reason);
    delete made;
    return nullptr;
  };
  if (paths == nullptr || count == 0) return refuse("no file is named");
  try {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.emplace_back(paths[i] != nullptr ? paths[i] : "");
    made = new substrata_recording;
    made->recording = recording::read_files(names);
    made->timeline = recording::lay_out(made->recording);
    made->problems = recording::what_is_missing(made->timeline);
    made->overhead = recording::overhead_text(made->timeline);
    return made;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

void substrata_recording_close(substrata_recording* recording) { delete recording; }

double substrata_recording_seconds(const substrata_recording* recording) {
  return recording->timeline.seconds;
}

int64_t substrata_recording_start(const substrata_recording* recording) {
  return recording->timeline.real_ns;
}

const char* substrata_recording_problem(const substrata_recording* recording, size_t index) {
  return index < recording->problems.size() ? recording->problems[index].c_str() : nullptr;
}

const char* substrata_recording_overhead(const substrata_recording* recording) {
  return recording->overhead.c_str();
}

size_t substrata_recording_writers(const substrata_recording* recording) {
  return recording->recording.writers.size();
}

const char* substrata_recording_property(const substrata_recording* recording, size_t writer,
                                         const char* name) {
  if (name == nullptr || writer >= recording->recording.writers.size()) return nullptr;
  const recording::Writer& of = recording->recording.writers[writer];
  for (const recording::Properties* properties : {&of.properties, &of.end_properties})
    for (const auto& [key, value] : *properties)
      if (key == name) return value.c_str();
  return nullptr;
}

size_t substrata_recording_series_count(const substrata_recording* recording) {
  return recording->timeline.traces.size();
}

int substrata_recording_series_at(const substrata_recording* recording, size_t index,
                                  substrata_recording_series* series) {
  if (series == nullptr || series->struct_size != sizeof *series ||
      index >= recording->timeline.traces.size())
    return -1;
  const recording::Trace& trace = recording->timeline.traces[index];
  const recording::Series& about = *trace.series;
  series->name = about.name.c_str();
  series->unit = about.unit.c_str();
  series->text = about.text.c_str();
  series->component = about.component.c_str();
  series->scope = about.scope.c_str();
  series->writer = trace.writer;
  series->samples = trace.seconds.size();
  series->kind = static_cast<int32_t>(about.kind);
  series->modelled = about.modelled ? 1 : 0;
  series->scaled = (trace.flags_seen & recording::kScaled) != 0 ? 1 : 0;
  series->rank = rank_of(recording->recording.writers[trace.writer], about.scope);
  return 0;
}

size_t substrata_recording_samples(const substrata_recording* recording, size_t index, double* seconds,
                                   double* values, size_t capacity) {
  if (index >= recording->timeline.traces.size()) return 0;
  const recording::Trace& trace = recording->timeline.traces[index];
  for (size_t i = 0; i < trace.seconds.size() && i < capacity; ++i) {
    if (seconds != nullptr) seconds[i] = trace.seconds[i];
    if (values != nullptr) values[i] = trace.values[i];
  }
  return trace.seconds.size();
}

size_t substrata_recording_region_count(const substrata_recording* recording) {
  return recording->timeline.regions.size();
}

int substrata_recording_region_at(const substrata_recording* recording, size_t index,
                                  substrata_recording_region* region) {
  if (region == nullptr || region->struct_size != sizeof *region ||
      index >= recording->timeline.regions.size())
    return -1;
  const recording::Region& of = recording->timeline.regions[index];
  region->name = of.name.c_str();
  region->begin = of.begin;
  region->end = of.end;
  region->writer = of.writer;
  region->rank = of.rank >= 0 ? of.rank : rank_of(recording->recording.writers[of.writer], {});
  region->depth = static_cast<int32_t>(of.depth);
  region->open = of.open ? 1 : 0;
  region->reserved = 0;
  return 0;
}

}  // extern "C"
