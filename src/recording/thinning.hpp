// Fewer rows of a long recording, so that its report needs a bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recording/recording.hpp"

namespace substrata::recording {

// Keeps the samples of one writer's sets below a bound while they are appended. The first row of a set stays, and two
// of every 2n behind it, n being the set's step: the n-th and the last. Counts are those of these rows, and so exact; a
// level has the lowest and the highest of the 2n rows in the order in which they came, so that no peak is lost, and no
// value that was not measured is made. The last rows, fewer than 2n, stay as they are. Thread-compatible.
class Thinning {
 public:
  // After rows were appended to that set; the step stays.
  void settle(Writer& writer, std::size_t set);
  // Twice the step of each set that has so many rows.
  void halve(Writer& writer, std::size_t shortest = 1024);

 private:
  std::size_t& settled(std::size_t set);
  std::vector<std::size_t> settled_;  // of each set, how many rows at its begin have its step
};

}  // namespace substrata::recording
