// What one run counted, an event a line: what `substrata stat` prints, whatever the form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recording/sampler/sampler.hpp"
#include "recording/timeline.hpp"

namespace substrata::tool {

// An event. `value` is a sum of counts or the mean level of a gauge, in `unit`.
struct Line {
  std::string name;
  std::string unit;
  std::string component;
  std::string scope;
  recording::Kind kind = recording::Kind::kCount;
  recording::Type type = recording::Type::kInt64;
  bool modelled = false;
  bool scaled = false;
  bool gaps = false;     // some samples have no value
  bool present = false;  // there is a value
  bool still = false;    // a counter of energy that has not moved: no value
  double value = 0;
  double over_s = 0;       // how long that took, where not as long as all the counts
  std::int64_t whole = 0;  // of a count of whole numbers, with all its bits
  double min = 0;          // of a gauge
  double max = 0;
  double deviation = 0;     // of the mean of several runs: its standard error, in `unit`
  double uncertainty = 0;   // of a count within a region, between samples: a standard one, in `unit`
  double enabled_ns = 0;    // how long the event was to count, 0: not known
  double running_ns = 0;    // how long it did
  std::string refused;      // why it is not counted
  bool has_beside = false;  // a metric stands beside it
  double beside = 0;
  std::string beside_unit;
};

// An event's, by what is known of its series.
Line line_without_value(const recording::SeriesInfo& about);

// A number computed from several events.
struct MetricLine {
  std::string name;
  std::string text;
  std::string unit;
  bool present = false;
  double value = 0;
  double uncertainty = 0;  // of scaled counts
  double deviation = 0;    // of the mean of several runs
  bool scaled = false;
  bool modelled = false;
  std::string why;  // there is no number
};

struct Counts {
  std::string place;      // a processor, core, package or rank, where these are printed apart
  std::size_t parts = 0;  // how many processors that is
  std::string command;
  std::string how;  // it ended
  int status = 0;
  bool end_requested = false;  // a signal to end came during the run: no further one
  std::size_t runs = 1;
  double seconds = 0;
  double seconds_deviation = 0;
  double user_s = 0;
  double system_s = 0;
  double peak_bytes = 0;      // resident memory of the largest process; 0: not known
  bool peak_at_most = false;  // the kernel counted nothing larger than the process that started the command
  std::vector<Line> lines;
  std::vector<MetricLine> metrics;
  std::string region;  // its name and passes, where this is what was counted within a region
  std::size_t passes = 0;
  std::vector<Counts> regions;
  std::vector<std::string> notes;
  recording::Properties machine;

  const Line* find(const std::string& name) const;
};

// A counter of energy that has not moved has no value, and why.
inline constexpr const char* kStill = "its counter stands still";
void leave_out_still(Line* line);

// Of a record in memory whose command has ended. `times`: how long each event of the first set counted.
Counts counts_of(const recording::Timeline& timeline, const std::vector<sampler::Counting>& times,
                 const std::vector<sampler::Refused>& refused);

// Of every region, with bounds where its borders lie between samples.
std::vector<Counts> regions_of(const recording::Timeline& timeline);

// The mean of each event over several runs, and how far it may lie from the true one: the standard error, as
// `perf stat` gives it.
Counts mean_of(const std::vector<Counts>& runs);

// Whose counts are printed apart.
enum class Apart : std::uint8_t { kTogether, kProcessors, kCores, kPackages, kRanks };
// One for each processor, core, package or rank, and first what is of none of them.
std::vector<Counts> split(const Counts& counts, Apart by);

// What was counted since the last call, gauges as they stand, energy since its counter moved last.
// Thread-compatible.
class Intervals {
 public:
  // Counts of the whole record so far less those of the call before.
  Counts next(const recording::Writer& writer);
  // At the beginning of the first interval.
  void begin(std::int64_t time_ns) { begin_ = last_ = time_ns; }
  double seconds() const { return 1e-9 * static_cast<double>(last_ - begin_); }

 private:
  std::vector<double> before_;
  std::vector<std::int64_t> moved_;  // when, after begin()
  std::int64_t begin_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace substrata::tool
