// One line on the terminal that shows what a long command is doing.
#pragma once

#include <string>

namespace substrata::tool {

// Shows `what` and the seconds since the first call in place of what stood there. Nothing, unless standard
// error is a terminal: pipes, files and JSON readers never see it. Thread-bound.
void show_progress(const std::string& what);

// Takes the line away before something else is printed. Also when the object goes.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  static void clear();
};

}  // namespace substrata::tool
