// Metrics of what `stat` counts: which events a group needs, and the numbers computed from counts.
#pragma once

#include <string>
#include <vector>

#include "metrics/library.hpp"
#include "tools/substrata/stat/counts.hpp"

namespace substrata::tool {

// The metrics of this machine. Starts the library. Thread-bound.
class Metrics {
 public:
  Metrics();

  // Asks for the metrics of a group, or for a metric. Throws std::runtime_error with what there is where
  // neither has that name. `mpi`: messages of ranks are counted.
  void choose(const std::string& name, bool mpi);
  bool chosen() const noexcept { return !chosen_.empty(); }
  // The events of all that was chosen, each once.
  const std::vector<std::string>& events() const noexcept { return events_; }

  // Adds the chosen metrics to counts, and to events what stands beside them.
  void add_to(Counts* counts) const;

  // Groups with their metrics, and what cannot be computed here, and why.
  std::string listing() const;
  std::vector<std::string> names() const;
  // What is wrong with files of metrics.
  std::vector<std::string> faults() const;

 private:
  struct Chosen {
    std::string name;
    std::string why;  // no definition can be counted; else empty
  };
  metrics::Library library_;
  std::vector<Chosen> chosen_;
  std::vector<std::string> events_;
};

}  // namespace substrata::tool
