// The terminal as a page that is redrawn, and its keys; everything is restored afterwards.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace substrata::tool {

// Standard output as a terminal's alternate page, keys from standard input where that is a terminal.
// Thread-bound.
class Screen {
 public:
  // Throws std::runtime_error when standard output is not a terminal that can do it.
  Screen();
  // The terminal is as it was.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  struct Size {
    std::size_t columns, rows;
  };
  Size size() const;
  // Shows these lines, without those that do not fit. Each has its width already; escapes are the caller's.
  void show(const std::vector<std::string>& lines);
  // Readable when a key was pressed; -1 where there are none.
  int keys() const noexcept { return keyboard_ ? 0 : -1; }
  enum class Key { kNone, kQuit, kUp, kDown, kPageUp, kPageDown, kRefresh };
  // The next key that means something; kNone when there is none left. At the end of input there are no more
  // keys.
  Key take_key();
  // Gives the terminal back, stops the process as Ctrl-Z asks, and goes on when it is continued.
  void suspend();

 private:
  void enter();
  void leave() noexcept;
  bool keyboard_ = false;
  termios before_{};
  std::string typed_;
};

// The characters of the terminal are UTF-8.
bool terminal_speaks_utf8();
// The text in exactly that many columns: cut or filled up; control characters become '?'.
std::string fitted(const std::string& text, std::size_t columns);
// The last of the numbers as bars of that many rows, from the top one; `low` is the foot of the first row, `high` the
// top of the last. NaN leaves a gap.
std::vector<std::string> bars(const std::vector<double>& numbers, std::size_t columns, std::size_t rows,
                              double low, double high, bool utf8);

}  // namespace substrata::tool
