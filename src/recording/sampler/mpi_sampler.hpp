// The messages of a running MPI program, as the preloaded shim reports them.
#pragma once

#include <substrata/live_board.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recording/writer.hpp"

namespace substrata::sampler {

// The status page in shared memory. The series are declared when the first rank shows: messages and bytes of all
// ranks of the node, and those of each rank, of no more than
// 256 ranks, when it shows. Sections of the program become regions; offsets of the node's clock are kept.
// Thread-bound.
class MpiSampler {
 public:
  // `single`: of one rank, whose recorder this is; there are no sums then. Throws std::system_error when the
  // page cannot be made.
  explicit MpiSampler(bool single);
  ~MpiSampler();
  MpiSampler(const MpiSampler&) = delete;
  MpiSampler& operator=(const MpiSampler&) = delete;

  const std::string& path() const noexcept { return path_; }
  // A row of what the ranks reported, and the sections since the last call.
  void sample(recording::Sink& sink, std::int64_t now);

 private:
  void take_sections(recording::Sink& sink);
  void take_clocks(recording::Sink& sink);
  struct Seen {
    std::uint64_t number = 0;  // the rank's, plus 1; 0: not there yet
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    bool modelled = false;
  };
  void sample_sums(recording::Sink& sink, std::int64_t now, const Seen& all, std::int64_t ranks);
  void sample_ranks(recording::Sink& sink, std::int64_t now);
  std::string path_;
  substrata_live_board* status_ = nullptr;
  std::vector<Seen> seen_;  // by entry of the status page
  bool declared_ = false;
  std::uint32_t set_ = 0;
  std::vector<std::optional<std::uint32_t>> sets_;  // by entry of the status page
  bool single_;
  std::uint64_t sections_taken_ = 0;
  std::uint64_t clocks_taken_ = 0;
  bool inside_ = false;
};

}  // namespace substrata::sampler
