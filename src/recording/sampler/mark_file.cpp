// Lines of a growing file as marks.
#include "recording/sampler/mark_file.hpp"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace substrata::sampler {
namespace {

// A line longer than this is cut: it is not a name.
constexpr std::size_t kLongestLine = 4096;

}  // namespace

bool parse_mark(const std::string& line, recording::Mark* out) {
  const std::size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  if (verb == "begin")
    out->kind = recording::MarkKind::kBegin;
  else if (verb == "end")
    out->kind = recording::MarkKind::kEnd;
  else if (verb == "mark")
    out->kind = recording::MarkKind::kMoment;
  else
    return false;
  out->name = space == std::string::npos ? std::string() : line.substr(space + 1);
  while (!out->name.empty() && (out->name.back() == ' ' || out->name.back() == '\r')) out->name.pop_back();
  return !out->name.empty() || out->kind == recording::MarkKind::kEnd;
}

MarkFile::MarkFile(std::int32_t rank) : rank_(rank) {
  try {
    folder_.emplace();
  } catch (const std::system_error&) {
    return;  // a recording without marks
  }
  const std::string path = folder_->path() / "marks";
  file_ = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
  watch_ = file_ < 0 ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch_ >= 0 && inotify_add_watch(watch_, path.c_str(), IN_MODIFY) < 0) {
    close(watch_);
    watch_ = -1;
  }
  if (file_ >= 0) path_ = path;
}

MarkFile::~MarkFile() {
  if (watch_ >= 0) close(watch_);
  if (file_ >= 0) close(file_);
}

void MarkFile::take(recording::Sink& sink, std::int64_t now) {
  char bytes[4096];
  if (watch_ >= 0)
    while (read(watch_, bytes, sizeof bytes) > 0) continue;
  if (file_ < 0) return;
  for (ssize_t got = 0; (got = read(file_, bytes, sizeof bytes)) > 0;) {
    rest_.append(bytes, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      recording::Mark mark;
      if (!parse_mark(rest_.substr(begin, std::min(end - begin, kLongestLine)), &mark)) continue;
      mark.time = now;
      mark.rank = rank_;
      sink.mark(mark);
    }
    rest_.erase(0, begin);
    if (rest_.size() > kLongestLine) rest_.resize(kLongestLine);
  }
}

}  // namespace substrata::sampler
