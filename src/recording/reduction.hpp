// Records of many writers brought down to one of constant size, piece by piece and in any tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "recording/bytes.hpp"
#include "recording/statistics.hpp"
#include "recording/timeline.hpp"
#include "recording/writer.hpp"

namespace substrata::recording {

// Sums from which minimum, mean, maximum and deviation follow; two of them add up.
struct Tally {
  std::uint64_t count = 0;
  double sum = 0;
  double squares = 0;  // of the differences from the mean (Chan, Golub, LeVeque, 1979)
  double least = 0;
  double most = 0;
  void add(double number) noexcept;
  void add(const Tally& other) noexcept;
  double deviation() const noexcept;
};

inline constexpr const char* kReductionName = "substrata reduction 1";

// What all writers of some recordings measured together. Every series is kept on a grid of at most 512 stretches
// whose length is a power of two of milliseconds, aligned on the reference clock: of a count what all writers
// counted in a stretch, of a level its mean, and of both the least and most of a single writer; and the
// spread of the writers' totals or mean levels. Of regions: passes, and the spread of the time that a writer
// spent in them. The size does not depend on the number of writers or samples. Thread-compatible.
class Reduction {
 public:
  // A whole recording of any number of writers. Throws std::runtime_error for one whose times cannot be.
  void add(const Timeline& timeline);
  // The result of others; as if their recordings had been added here. Where stretches differ in length, the
  // shorter ones are joined: least and most are then those of any part of the longer stretch.
  void add(const Reduction& other);

  std::uint64_t writers() const noexcept { return writers_; }
  // The first of the recordings added stands for all where they are reported as one: host, command, machine.
  ByteWriter encode() const;
  // False when the bytes are not a reduction; it is then empty.
  bool decode(ByteReader& in);
  // Writes it as a recording of one writer: each series, with `:least` and `:most` beside it where there are
  // several writers; a region from first begin to last end of each name; and the spreads as properties.
  // Throws std::system_error.
  void write(const std::string& path) const;

 private:
  struct Stretch {
    std::uint64_t writers = 0;
    double sum = 0;  // of amounts, or of levels
    double least = 0;
    double most = 0;
    void add(const Stretch& other) noexcept;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::uint8_t, std::uint8_t>;
  struct One {
    std::string text;
    std::size_t place = 0;                      // in order of appearance
    std::map<std::int64_t, Stretch> stretches;  // by number of the stretch
    Tally spread;                               // of totals, or of mean levels
  };
  struct Span {
    std::uint64_t passes = 0;
    std::int64_t begin = 0;  // of the reference clock
    std::int64_t end = 0;
    std::size_t place = 0;
    Tally seconds;  // that a writer, or a rank of it, spent
  };
  void coarsen();
  void fit(std::int64_t begin, std::int64_t end);
  std::int64_t shift_from(const std::string& reference, std::int64_t real_minus_raw, std::uint64_t writers);

  std::string reference_;
  std::int64_t real_minus_raw_ = 0;
  std::int64_t step_ns_ = 1'000'000;
  std::int64_t begin_ = 0;  // of all that was added, on the reference clock
  std::int64_t end_ = 0;
  std::uint64_t writers_ = 0;
  std::uint64_t not_ended_ = 0;
  std::uint64_t by_wall_ = 0;
  std::int64_t uncertainty_ns_ = 0;
  double recorder_busy_ns_ = 0;
  double recorder_wall_ns_ = 0;
  Properties first_;
  Properties first_end_;
  std::map<Key, One> series_;
  std::map<std::string, Span> regions_;
};

// The spreads in the properties of a reduced record; empty for any other record.
struct NamedSpread {
  std::string name;
  std::string unit;
  std::string what;
  Spread spread;
};
std::vector<NamedSpread> spreads_of(const Properties& properties);

}  // namespace substrata::recording
