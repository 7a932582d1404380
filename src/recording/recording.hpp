// A recording in memory: writers with their series, samples, regions and properties, as the file has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace substrata::recording {

enum class Kind : std::uint8_t {
  kCount = 0,  // grows from 0 at the start
  kGauge = 1,  // a level
  kBin = 2,    // a count in one bin of a histogram
};
enum class Type : std::uint8_t { kInt64 = 0, kUint64 = 1, kDouble = 2 };

// Of one value.
enum ValueFlags : std::uint8_t {
  kScaled = 1,    // the counter ran part of the time; extrapolated
  kModelled = 2,  // from a model
  kStale = 4,     // older than the source's refresh period
  kAbsent = 8,    // could not be read; there is no value
};

// What a series is. Texts are UTF-8 by intent; readers must cope with any bytes.
struct SeriesInfo {
  std::string name;       // of the event: "perf::TASK-CLOCK"
  std::string unit;       // "ns", "mdegC", ...; may be empty
  std::string text;       // one line
  std::string component;  // the substrate
  std::string scope;      // whose activity: "process tree", "node", "rank", "recorder"
  Kind kind = Kind::kCount;
  Type type = Type::kInt64;
  bool modelled = false;
  bool recorded = false;  // from the files of a recorded machine, not from this one

  // As recordings have it: 1 modelled, 2 recorded.
  std::uint8_t origin() const noexcept {
    return static_cast<std::uint8_t>((modelled ? 1 : 0) | (recorded ? 2 : 0));
  }
  void set_origin(std::uint8_t bits) noexcept { modelled = (bits & 1) != 0, recorded = (bits & 2) != 0; }
};

struct Series : SeriesInfo {
  std::size_t set = 0;               // index into Writer::sets
  std::vector<std::int64_t> values;  // one a row of the set, 0 where absent; doubles as their bits
  std::vector<std::uint8_t> flags;   // ValueFlags, one a row
  double value_at(std::size_t row) const noexcept;
  bool present_at(std::size_t row) const noexcept { return (flags[row] & kAbsent) == 0; }
};

// The scope of a series of one rank where a writer has those of several: "rank 3".
std::string rank_scope(std::int64_t rank);
// The rank of such a scope; -1 for every other.
std::int64_t rank_of_scope(std::string_view scope) noexcept;

// Series sampled together: every value of a row was taken within times[row] +- skews[row].
struct SampleSet {
  std::uint32_t number = 0;         // the writer's
  std::vector<std::int64_t> times;  // ns of the writer's clock
  std::vector<std::int64_t> skews;  // ns
  std::size_t first_series = 0;     // in Writer::series
  std::size_t series_count = 0;
  std::size_t step = 1;         // rows of the file for which a row stands, but for a few at the end
  std::size_t merged_rows = 0;  // rows of the file that are not here
};

enum class MarkKind : std::uint8_t { kBegin = 0, kEnd = 1, kMoment = 2 };
struct Mark {
  MarkKind kind = MarkKind::kMoment;
  std::int64_t time = 0;   // ns of the writer's clock
  std::int32_t rank = -1;  // -1: of all
  std::string name;
};

// At `time` of the writer's clock, the clock of `reference` showed time + offset, known within +-
// uncertainty.
struct ClockReading {
  std::int64_t time = 0;
  std::int64_t offset = 0;
  std::int64_t uncertainty = 0;
  std::string reference;
};

struct Attachment {
  std::string name;
  std::string media_type;
  std::string content;
};

using Properties = std::vector<std::pair<std::string, std::string>>;
// The value of a property; empty when there is none.
std::string_view property(const Properties& properties, std::string_view name) noexcept;
// The same as a number; 0 when it is not a number.
std::int64_t property_number(const Properties& properties, std::string_view name) noexcept;
double property_real(const Properties& properties, std::string_view name) noexcept;

// One process that wrote.
struct Writer {
  std::uint64_t id = 0;
  std::uint16_t version = 0;
  Properties properties;
  std::vector<SampleSet> sets;
  std::vector<Series> series;
  std::vector<Mark> marks;
  std::vector<ClockReading> clocks;
  std::vector<Attachment> attachments;
  bool ended = false;  // it closed its recording
  std::int64_t end_time = 0;
  Properties end_properties;
  std::uint32_t next_sequence = 0;
};

// A place of the file that could not be read.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;
};

struct Recording {
  // Rows that the writers took: sets of series that were sampled together count once.
  std::size_t rows() const noexcept;
  // For how many of these a row stands here, where the reader merged some; 1 where it did not.
  std::size_t step() const noexcept;
  std::vector<Writer> writers;
  std::vector<Damage> damages;
  std::uint64_t file_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t unknown_chunks = 0;  // of types this version does not know
  // Nothing is damaged and every writer closed its part.
  bool complete() const noexcept;
};

}  // namespace substrata::recording
