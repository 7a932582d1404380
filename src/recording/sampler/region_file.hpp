// Regions of programs that use PAPI's high-level interface, as the library reports them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "recording/writer.hpp"

namespace substrata::sampler {

// An empty file whose name the command finds in SUBSTRATA_REGIONS; each line has its own time. Of the threads
// of a rank (of the whole command, outside of MPI) the one counts whose region is open: what another thread
// opens meanwhile is left out, and counted. Thread-bound.
class RegionFile {
 public:
  // `path`: to be made; empty for none.
  explicit RegionFile(std::string path);
  ~RegionFile();
  RegionFile(const RegionFile&) = delete;
  RegionFile& operator=(const RegionFile&) = delete;

  // Empty when there is no such file here.
  const std::string& path() const noexcept { return path_; }
  // The whole lines written since the last call.
  void take(recording::Sink& sink);
  // Regions of other threads that were left out.
  std::uint64_t left_out() const noexcept { return left_out_; }
  // A process reported more than is kept.
  bool full() const noexcept { return full_; }

 private:
  struct Rank {
    long thread = 0;
    std::uint64_t depth = 0;
  };
  void take_line(const std::string& line, recording::Sink& sink);
  std::string path_;
  int file_ = -1;
  std::string rest_;
  std::map<std::int32_t, Rank> ranks_;
  std::uint64_t left_out_ = 0;
  bool full_ = false;
};

}  // namespace substrata::sampler
