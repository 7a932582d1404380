// The progress line: carriage return, text, and the rest of the line erased.
#include "tools/terminal/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace substrata::tool {
namespace {

using Clock = std::chrono::steady_clock;

bool shown = false;
Clock::time_point begun;

}  // namespace

void show_progress(const std::string& what) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (begun == Clock::time_point()) begun = Clock::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun).count();
  std::string line = std::to_string(seconds) + " s: " + what;
  winsize size{};
  // One line only: a longer one would wrap and could not be taken back.
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && line.size() >= size.ws_col)
    line.resize(size.ws_col - 1u);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
  shown = true;
}

void ProgressLine::clear() {
  if (!shown) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown = false;
}

}  // namespace substrata::tool
