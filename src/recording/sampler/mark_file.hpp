// A file into which the recorded command may write the begin and end of its regions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/temporary_folder.hpp"
#include "recording/writer.hpp"

namespace substrata::sampler {

// An empty file in a folder of its own; the command finds its name in SUBSTRATA_MARKS and appends lines:
// "begin NAME", "end NAME", "mark NAME". A line takes the time at which it is seen, which is when the watch
// wakes. Thread-bound.
class MarkFile {
 public:
  explicit MarkFile(std::int32_t rank);
  ~MarkFile();
  MarkFile(const MarkFile&) = delete;
  MarkFile& operator=(const MarkFile&) = delete;

  // Empty when there is no such file here.
  const std::string& path() const noexcept { return path_; }
  // Becomes readable when the file grew; -1 without one.
  int watch() const noexcept { return watch_; }
  // The whole lines written since the last call.
  void take(recording::Sink& sink, std::int64_t now);

 private:
  std::int32_t rank_;
  std::optional<TemporaryFolder> folder_;
  std::string path_;
  std::string rest_;
  int watch_ = -1;
  int file_ = -1;
};

// What a line says; false when it is not a mark.
bool parse_mark(const std::string& line, recording::Mark* out);

}  // namespace substrata::sampler
