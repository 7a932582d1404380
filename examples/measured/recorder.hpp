// Collects one row per region and rank, and brings the rows of all ranks together on rank 0.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "instruments.hpp"
#include "record.hpp"

namespace measured {

enum Region : std::int32_t { kCompute = 0, kCommunicate = 1 };

// Time lines of all ranks of one program. Collective where it says so; otherwise thread-bound.
class Recorder {
 public:
  // Collective. `rows` is how many regions to reserve space for, so that recording allocates nothing up to there.
  Recorder(const std::string& program, const std::string& interface, const Published& published,
           std::size_t rows);

  // Collective. Sets the origin of time and the first reading.
  void begin();

  // Ends the region in which this rank has been since the call before. The reads' own cost falls into the
  // next region.
  void end_region(Region region, std::int32_t iteration);

  // Collective. All rows on rank 0; empty on the others.
  Record gather();

 private:
  std::string program_;
  Instruments instruments_;
  int rank_ = 0;
  std::int64_t origin_ns_ = 0;
  std::vector<std::int64_t>
      cells_;  // rows of row_size_: time, region, iteration, then value and presence a column
  std::vector<std::int64_t> values_;
  std::unique_ptr<bool[]> present_;
  std::size_t row_size_ = 0;
};

}  // namespace measured
