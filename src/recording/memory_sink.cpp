// Samples straight into a Recording.
#include "recording/memory_sink.hpp"

namespace substrata::recording {

MemorySink::MemorySink(const Properties& properties) {
  recording_.writers.emplace_back();
  writer().id = new_writer_id();
  writer().version = kFormatVersion;
  writer().properties = properties;
}

std::uint32_t MemorySink::declare(const std::vector<SeriesInfo>& series) {
  SampleSet set;
  set.number = static_cast<std::uint32_t>(writer().sets.size());
  set.first_series = writer().series.size();
  set.series_count = series.size();
  for (const SeriesInfo& about : series) {
    Series one;
    static_cast<SeriesInfo&>(one) = about;
    one.set = writer().sets.size();
    writer().series.push_back(std::move(one));
  }
  writer().sets.push_back(std::move(set));
  return writer().sets.back().number;
}

void MemorySink::sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
                        const std::uint8_t* flags) {
  SampleSet& rows = writer().sets.at(set);
  rows.times.push_back(time);
  rows.skews.push_back(skew);
  for (std::size_t i = 0; i < rows.series_count; ++i) {
    Series& series = writer().series[rows.first_series + i];
    series.values.push_back((flags[i] & kAbsent) == 0 ? values[i] : 0);
    series.flags.push_back(flags[i]);
  }
}

void MemorySink::mark(const Mark& mark) { writer().marks.push_back(mark); }

void MemorySink::clock(const ClockReading& reading) { writer().clocks.push_back(reading); }

void MemorySink::end(std::int64_t time, const Properties& properties) {
  writer().ended = true;
  writer().end_time = time;
  writer().end_properties = properties;
}

}  // namespace substrata::recording
