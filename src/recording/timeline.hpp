// A recording on one clock: the series of all writers in seconds since the start, and regions with begin and
// end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recording/phases.hpp"
#include "recording/recording.hpp"

namespace substrata::recording {

// How a writer's times came onto the common clock.
enum class Alignment : std::uint8_t {
  kSameClock,  // the same machine since the same boot (and time namespace): one CLOCK_MONOTONIC_RAW
  kMeasured,   // offsets measured by messages and stored in the recording
  kWallClock,  // by the time of day of both machines: as good as their administrator
};

// The values of one series, without those that could not be read.
struct Trace {
  std::size_t writer = 0;          // index into Recording::writers
  const Series* series = nullptr;  // of the recording, which must outlive the timeline
  std::vector<double> seconds;     // not falling
  std::vector<double> values;      // counts: since the start of the series; gauges: levels
  std::uint8_t flags_seen = 0;     // ValueFlags of any of its values
};

struct Region {
  std::size_t writer = 0;
  std::int32_t rank = -1;
  std::string name;
  double begin = 0;
  double end = 0;
  bool open = false;        // its end is not in the recording
  std::uint32_t depth = 0;  // how many regions of the same writer and rank it lies in
};

struct Moment {
  std::size_t writer = 0;
  std::int32_t rank = -1;
  std::string name;
  double at = 0;
};

struct WriterClock {
  Alignment alignment = Alignment::kSameClock;
  std::int64_t offset_ns = 0;       // added to the writer's times at its start
  std::int64_t uncertainty_ns = 0;  // of a measured offset
};

struct Timeline {
  const Recording* recording = nullptr;
  std::vector<WriterClock> clocks;  // one a writer
  std::vector<Trace> traces;
  std::vector<Region> regions;  // by begin
  std::vector<Moment> moments;
  double seconds = 0;         // from the start to the last thing recorded
  std::int64_t real_ns = 0;   // CLOCK_REALTIME at the start
  std::string reference;      // the clock that all times were brought onto
  std::int64_t start_ns = 0;  // what it showed at the start
  std::size_t hosts = 0;
  std::vector<PhaseCount> phases;        // of the whole recording
  std::vector<std::string> cut_regions;  // names of which the stretch has only a part
  bool cut = false;                      // by cut_out()
};

// Thread-compatible. The recording must outlive the result.
Timeline lay_out(const Recording& recording);

// A stretch of it with times from its begin on; counts restart there. The recording stays what it was:
// only what works on traces, regions and moments may be given the result, not the exports.
Timeline cut_out(const Timeline& timeline, double begin, double end);

// One name of several writers or ranks: the same event with the same unit, origin and scope.
struct Group {
  const Series* about = nullptr;
  std::string scope;  // of about; "rank" for those of single ranks
  std::vector<const Trace*> traces;
};
// In the order of first appearance. Ranks of one writer form a group, or, kept apart, one each.
enum class Ranks : std::uint8_t { kTogether, kApart };
std::vector<Group> group_traces(const Timeline& timeline, Ranks ranks = Ranks::kTogether);

// "measured", "modelled" or "recorded machine".
const char* origin_name(const SeriesInfo& about) noexcept;
const char* kind_name(Kind kind) noexcept;
// A writer for a person: its host, and its rank where it has one.
std::string writer_name(const Writer& writer);
// The same of one series, which may be of one rank of its writer.
std::string trace_name(const Timeline& timeline, const Trace& trace);

}  // namespace substrata::recording
