// Parsing "TIME RANK THREAD begin NAME" (src/papi/high_level/region_file.hpp).
#include "recording/sampler/region_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace substrata::sampler {

RegionFile::RegionFile(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) file_ = open(path_.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) path_.clear();
}

RegionFile::~RegionFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(path_.c_str());
}

void RegionFile::take(recording::Sink& sink) {
  if (file_ < 0) return;
  char bytes[16384];
  for (ssize_t got = 0; (got = read(file_, bytes, sizeof bytes)) > 0;) {
    rest_.append(bytes, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      take_line(rest_.substr(begin, end - begin), sink);
    rest_.erase(0, begin);
    if (rest_.size() > sizeof bytes) rest_.clear();  // nothing that the library writes
  }
}

void RegionFile::take_line(const std::string& line, recording::Sink& sink) {
  long long time = 0;
  int rank = -1, used = 0;
  long thread = 0;
  char verb[8] = "";
  if (std::sscanf(line.c_str(), "%lld %d %ld %7s%n", &time, &rank, &thread, verb, &used) != 4) return;
  const std::string word = verb;
  if (word == "full") full_ = true;
  if (word != "begin" && word != "end") return;
  recording::Mark mark;
  mark.time = time;
  mark.rank = rank < 0 ? -1 : rank;
  const std::size_t name = static_cast<std::size_t>(used) + 1;
  if (name >= line.size()) return;
  mark.name = line.substr(name);
  Rank& of = ranks_[mark.rank];
  if (word == "begin") {
    if (of.depth != 0 && of.thread != thread) {
      ++left_out_;
      return;
    }
    of.thread = thread;
    ++of.depth;
  } else {
    if (of.depth == 0 || of.thread != thread) return;
    mark.kind = recording::MarkKind::kEnd;
    --of.depth;
  }
  if (word == "begin") mark.kind = recording::MarkKind::kBegin;
  sink.mark(mark);
}

}  // namespace substrata::sampler
