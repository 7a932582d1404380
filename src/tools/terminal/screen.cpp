// ECMA-48 sequences that all terminals of today know.
#include "tools/terminal/screen.hpp"

#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace substrata::tool {
namespace {

void write_all(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t now = write(STDOUT_FILENO, text.data() + sent, text.size() - sent);
    if (now < 0 && errno != EINTR) return;
    if (now > 0) sent += static_cast<std::size_t>(now);
  }
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

Screen::Screen() {
  const char* kind = std::getenv("TERM");
  if (isatty(STDOUT_FILENO) == 0)
    throw std::runtime_error("standard output is not a terminal; --batch writes to anything");
  if (kind == nullptr || *kind == '\0' || std::strcmp(kind, "dumb") == 0)
    throw std::runtime_error("the terminal (TERM) cannot redraw a page; --batch writes to any");
  keyboard_ = isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &before_) == 0;
  enter();
}

Screen::~Screen() { leave(); }

void Screen::enter() {
  if (keyboard_) {
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
  }
  write_all("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J");
}

void Screen::leave() noexcept {
  write_all("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
  if (keyboard_) tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

Screen::Size Screen::size() const {
  winsize now{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {80, 24};
  return {now.ws_col, now.ws_row};
}

void Screen::show(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  const std::size_t rows = std::min(lines.size(), size().rows);
  for (std::size_t i = 0; i < rows; ++i) text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[0m\x1b[K";
  write_all(text + "\x1b[J");
}

Screen::Key Screen::take_key() {
  char piece[64];
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  if (keyboard_ && poll(&ready, 1, 0) == 1) {
    const ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
    if (got > 0)
      typed_.append(piece, static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      keyboard_ = false;
  }
  static constexpr struct {
    const char* text;
    Key key;
  } kKeys[] = {{"\x1b[A", Key::kUp},   {"\x1bOA", Key::kUp},      {"\x1b[B", Key::kDown},
               {"\x1bOB", Key::kDown}, {"\x1b[5~", Key::kPageUp}, {"\x1b[6~", Key::kPageDown},
               {"k", Key::kUp},        {"j", Key::kDown},         {"q", Key::kQuit},
               {"Q", Key::kQuit},      {" ", Key::kRefresh},      {"\f", Key::kRefresh}};
  while (!typed_.empty()) {
    for (const auto& [text, key] : kKeys)
      if (typed_.starts_with(text)) {
        typed_.erase(0, std::strlen(text));
        return key;
      }
    typed_.erase(0, 1);
  }
  return Key::kNone;
}

void Screen::suspend() {
  leave();
  raise(SIGSTOP);
  enter();
}

bool terminal_speaks_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

std::string fitted(const std::string& text, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  for (const char c : text) {
    if (!continues(c) && used++ == columns) return out;
    out += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
  }
  return out + std::string(columns - used, ' ');
}

std::vector<std::string> bars(const std::vector<double>& numbers, std::size_t columns, std::size_t rows,
                              double low, double high, bool utf8) {
  static constexpr const char* kUtf8[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kPlain[] = {" ", "_", ".", "-", "~", "+", "=", "*", "#"};
  const std::size_t begin = numbers.size() > columns ? numbers.size() - columns : 0;
  std::vector<std::string> out(rows, std::string(columns - (numbers.size() - begin), ' '));
  for (std::size_t i = begin; i < numbers.size(); ++i) {
    const double share = high > low ? std::clamp((numbers[i] - low) / (high - low), 0.0, 1.0) : 0;
    // The least that there is leaves a line on the ground.
    const long eighths =
        std::isnan(numbers[i]) ? 0 : std::max(1L, std::lround(share * 8 * static_cast<double>(rows)));
    for (std::size_t row = 0; row < rows; ++row) {
      const long here = eighths - 8 * static_cast<long>(rows - 1 - row);
      const auto level = static_cast<std::size_t>(std::clamp(here, 0L, 8L));
      out[row] += utf8 ? kUtf8[level] : kPlain[level];
    }
  }
  return out;
}

}  // namespace substrata::tool
