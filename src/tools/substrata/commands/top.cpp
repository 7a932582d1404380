// substrata top: current events, redrawn at every interval.
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "recording/base_unit.hpp"
#include "recording/exports.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/run.hpp"
#include "recording/sampler/target.hpp"
#include "recording/text_report.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/command_line.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/watching/machine_view.hpp"
#include "tools/terminal/screen.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr const char* kUsage =
    "Shows in the terminal how busy processors and memory are, and current events: rates of counts, levels "
    "of\n"
    "gauges, and their history. When a command ends, its totals are left.\n\n"
    "  substrata top                             the whole machine\n"
    "  substrata top -e 'coretemp:::*,net:::*' -i 500ms\n"
    "  substrata top -p 1234                     a running process, its threads and descendants\n"
    "  substrata top -- make -j4                 a command and its children, until it ends\n"
    "  substrata top --batch -n 3 > looks.txt    three tables, as plain text\n\n"
    "Keys: q quits and ends the command (twice: by force); up, down, page up, page down (or k, j) scroll; "
    "space updates at once. The command's output is discarded and its input is empty; with --batch it keeps "
    "both. Modelled and extrapolated values are labelled as such. A counter of energy that is still, as "
    "nothing "
    "runs on 0 W, has no value.";

// What is shown of one event.
struct Row {
  const recording::Series* series = nullptr;
  bool present = false;
  double now = NAN;  // a rate for counts, else the level
  double least = NAN, most = NAN;
  std::vector<double> history;
  double last = NAN;           // the count at the last look
  bool still = false;          // a counter of energy that has not moved since
  std::int64_t last_time = 0;  // of that look, or when the energy moved
};

constexpr std::size_t kHistory = 256;

class Looks {
 public:
  explicit Looks(LiveEvents& events) : events_(events) {
    for (const recording::Series& series : events.series()) {
      rows_.emplace_back();
      rows_.back().series = &series;
      width_ = std::max(width_, series.name.size());
    }
  }
  // Takes in what the events read last.
  void take() {
    seconds_ = last_time_ == 0 ? 0 : 1e-9 * static_cast<double>(events_.time() - last_time_);
    last_time_ = events_.time();
    for (Row& row : rows_) {
      const recording::Series& series = *row.series;
      const double value = series.value_at(0);
      row.present = series.present_at(0) && std::isfinite(value);
      if (series.kind == recording::Kind::kGauge) {
        row.now = row.present ? value : NAN;
      } else {
        row.still = row.present && value == row.last && recording::counts_energy(series);
        const double seconds = 1e-9 * static_cast<double>(events_.time() - row.last_time);
        row.now = row.present && !row.still && seconds > 0 ? (value - row.last) / seconds : NAN;
        row.last = row.present ? value : NAN;
        if (!row.still) row.last_time = events_.time();
      }
      row.least = std::fmin(row.least, row.now);
      row.most = std::fmax(row.most, row.now);
      if (row.series->kind != recording::Kind::kGauge && seconds_ == 0) continue;
      if (row.history.size() == kHistory) row.history.erase(row.history.begin());
      row.history.push_back(row.now);
    }
  }
  double seconds() const { return seconds_; }
  std::size_t size() const { return rows_.size(); }

  // The head of the table and its rows, each `columns` wide (0: as wide as it comes, without the course).
  std::string head(std::size_t columns, bool utf8) const {
    return line({"EVENT", "NOW", "UNIT", "LEAST", "MOST", "TOTAL", "ORIGIN"}, columns, utf8).front();
  }
  std::string row(std::size_t index) const { return row_lines(index, 0, 1, false, false).front(); }
  // The same with its history, which is so many lines tall.
  std::vector<std::string> row_lines(std::size_t index, std::size_t columns, std::size_t tall, bool utf8,
                                     bool colours) const {
    const Row& row = rows_[index];
    const recording::Series& about = *row.series;
    const bool gauge = about.kind == recording::Kind::kGauge;
    const recording::BaseUnit base = recording::base_unit(about.unit);
    const auto number = [&](double value) {
      return std::isnan(value) ? "-" : recording::compact(base.factor * value);
    };
    std::string origin = recording::origin_name(about);
    if ((about.flags[0] & recording::kScaled) != 0) origin += ", scaled";
    if ((about.flags[0] & recording::kStale) != 0) origin += ", stale";
    if (!row.present) origin += ", no value";
    if (row.still) origin = "still, " + origin;
    const std::string_view by_second = recording::rate_unit(base.unit);
    const std::string unit = gauge               ? std::string(base.unit)
                             : by_second.empty() ? std::string(base.unit) + "/s"
                                                 : std::string(by_second);
    const std::string total = gauge || !row.present ? ""
                              : base.factor == 1    ? recording::exact_value(about, 0)
                                                 : number(about.value_at(0)) + ' ' + std::string(base.unit);
    std::vector<std::string> lines =
        line({about.name, row.present && !row.still ? number(row.now) : "no value", unit, number(row.least),
              number(row.most), total, origin},
             columns, utf8, tall, &row);
    const bool idle = !row.present || row.still || row.now == 0;
    for (std::string& one : lines) one = coloured(one, about.modelled ? 33 : idle ? 2 : 36, colours);
    return lines;
  }
  // What is left when the command has ended.
  std::string summary() const {
    std::string out;
    for (const Row& row : rows_) {
      const recording::Series& about = *row.series;
      if (!row.present || about.scope == "recorder") continue;
      if (about.value_at(0) == 0 && recording::counts_energy(about)) {
        out += "  " + fitted(about.name, width_) + " no value: its counter stands still\n";
        continue;
      }
      const bool gauge = about.kind == recording::Kind::kGauge;
      const recording::BaseUnit base = recording::base_unit(about.unit);
      const std::string value = recording::compact(base.factor * (gauge ? row.now : about.value_at(0))) +
                                ' ' + std::string(base.unit);
      const std::string_view by_second = recording::rate_unit(base.unit);
      const std::string of_rates = by_second.empty() ? " a second" : " " + std::string(by_second);
      const std::string rest = std::isnan(row.most)
                                   ? ""
                                   : (gauge ? "at last; " : "in all; ") +
                                         recording::compact(base.factor * row.least) + " to " +
                                         recording::compact(base.factor * row.most) + (gauge ? "" : of_rates);
      out += "  " + fitted(about.name, width_) + ' ' + fitted(value, 18) + ' ' + rest +
             (about.modelled ? ", modelled" : "") + '\n';
    }
    return out;
  }

 private:
  struct Cells {
    std::string name, now, unit, least, most, total, origin;
  };
  // Noise is not shown as if it were everything: rates stand on 0, levels on a tenth of their size.
  static std::vector<std::string> history_of(const Row& row, std::size_t columns, std::size_t tall,
                                             bool utf8) {
    double low = NAN, high = NAN;
    for (const double one : row.history) {
      low = std::fmin(low, one);
      high = std::fmax(high, one);
    }
    if (row.series->kind != recording::Kind::kGauge) {
      low = std::fmin(0, low);
    } else {
      const double middle = (low + high) / 2, least = 0.05 * std::fabs(middle);
      low = std::fmin(low, middle - least);
      high = std::fmax(high, middle + least);
    }
    return bars(row.history, columns, tall, low, high, utf8);
  }
  // One line, and as many as the history is tall where there is a place for it.
  std::vector<std::string> line(const Cells& cells, std::size_t columns, bool utf8, std::size_t tall = 1,
                                const Row* row = nullptr) const {
    const auto right = [](const std::string& text, std::size_t width) {
      return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
    };
    std::string numbers = right(cells.now, 11) + ' ' + fitted(cells.unit, 8);
    const std::string more = right(cells.least, 11) + right(cells.most, 11) + right(cells.total, 21) + "  ";
    if (columns == 0) return {fitted(cells.name, width_) + ' ' + numbers + more + cells.origin};
    // What is narrow loses the limits and the total before names and the history, and then the tail of the line.
    constexpr std::size_t kLeastName = 24, kLeastHistory = 12;
    const std::size_t names = std::max(width_, kLeastName);
    const bool narrow = columns < names + numbers.size() + more.size() + 18 + kLeastHistory;
    numbers += narrow ? " " : more;
    const std::size_t origin = narrow ? 9 : 18;
    const std::size_t fixed = numbers.size() + origin + 1;
    const std::size_t left = columns > fixed + kLeastHistory ? columns - fixed - kLeastHistory : 0;
    const std::size_t name = std::clamp<std::size_t>(left, kLeastName, names);
    // The end of a name says what distinguishes it from its neighbours.
    const bool whole = cells.name.size() <= name;
    const std::string text =
        (whole ? fitted(cells.name, name) : ".." + cells.name.substr(cells.name.size() + 2 - name)) + ' ' +
        numbers + fitted(cells.origin, origin);
    const std::size_t used = name + fixed;
    if (columns <= used + 9 || row == nullptr) return {fitted(text, columns)};
    const std::size_t wide = columns - used - 1;
    std::vector<std::string> out = history_of(*row, wide, tall, utf8);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = (i + 1 == out.size() ? text : std::string(used, ' ')) + ' ' + out[i];
    return out;
  }

  LiveEvents& events_;
  std::vector<Row> rows_;
  std::size_t width_ = 5;
  std::int64_t last_time_ = 0;
  double seconds_ = 0;
};

std::string time_of_day(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[40];
  std::strftime(text, sizeof text, format, &parts);
  return text;
}

std::string title(const Target& target, const Looks& looks, const char* time_format, std::size_t columns) {
  char since[60] = "first look";
  if (looks.seconds() > 0) std::snprintf(since, sizeof since, "%.3f s since the last look", looks.seconds());
  const std::string what = "substrata top: " + host_name() + ": " + target.name();
  const std::string when = ", " + time_of_day(time_format) + ", " + since;
  // A long command leaves a place for the time.
  const std::size_t left = std::max<std::size_t>(columns > when.size() ? columns - when.size() : 0, 30);
  return (columns == 0 || what.size() <= left ? what : fitted(what, left)) + when;
}

// The text in lines of that many columns, broken between words.
std::vector<std::string> wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.size();
    if (end - at > columns) {
      end = text.rfind(' ', at + columns);
      if (end == std::string::npos || end <= at) end = at + columns;
    }
    out.push_back(fitted(text.substr(at, end - at), columns));
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return out;
}

void write_batch(const Target& target, const Looks& looks) {
  std::printf("%s\n%s\n", title(target, looks, "%Y-%m-%d %H:%M:%S", 0).c_str(), looks.head(0, false).c_str());
  for (std::size_t i = 0; i < looks.size(); ++i) std::printf("%s\n", looks.row(i).c_str());
  std::printf("\n");
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
}

// One page, beginning with row `*first`, which is corrected to what fits.
void draw(Screen& screen, Target& target, const Looks& looks, const std::string& state, std::size_t* first,
          const MachineView& machine, bool utf8, bool colours) {
  const Screen::Size size = screen.size();
  const std::vector<std::string>& notes = target.events().notes();
  std::vector<std::string> lines = {fitted(title(target, looks, "%H:%M:%S", size.columns), size.columns)};
  for (const std::string& note : notes)
    for (const std::string& line : wrapped("note: " + note, size.columns))
      if (lines.size() < 4 && size.rows > 12) lines.push_back(line);
  // Events come first: the machine takes no more than half of what they leave, or a third.
  const std::size_t left =
      size.rows > lines.size() + looks.size() + 3 ? size.rows - lines.size() - looks.size() - 3 : 0;
  const std::vector<std::string> above_events =
      machine.lines(size.columns, std::max(left / 2, size.rows > 15 ? size.rows / 5 : 0), utf8, colours);
  lines.insert(lines.end(), above_events.begin(), above_events.end());
  lines.push_back("\x1b[7m" + looks.head(size.columns, utf8) + "\x1b[0m");
  const std::size_t above = lines.size();
  const std::size_t rows = size.rows > above + 1 ? size.rows - above - 1 : 1;
  const std::size_t tall = std::clamp<std::size_t>(rows / std::max<std::size_t>(looks.size(), 1), 1, 4);
  *first = std::min(*first, looks.size() > rows ? looks.size() - rows : 0);
  for (std::size_t i = *first; i < std::min(looks.size(), *first + rows); ++i) {
    const std::vector<std::string> own = looks.row_lines(i, size.columns, tall, utf8, colours);
    lines.insert(lines.end(), own.begin(), own.end());
  }
  while (lines.size() + 1 < size.rows) lines.emplace_back();
  char place[100] = "";
  if (looks.size() > rows)
    std::snprintf(place, sizeof place, "events %zu to %zu of %zu; ", *first + 1,
                  std::min(looks.size(), *first + rows), looks.size());
  lines.push_back(fitted(place + state + "q: end, up and down: scroll, space: look now", size.columns));
  screen.show(lines);
}

class Ticks {
 public:
  explicit Ticks(std::int64_t interval_ns)
      : descriptor_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "no timer");
    itimerspec ticks{};
    ticks.it_interval = {interval_ns / 1'000'000'000, interval_ns % 1'000'000'000};
    ticks.it_value = ticks.it_interval;
    timerfd_settime(descriptor_, 0, &ticks, nullptr);
  }
  ~Ticks() { close(descriptor_); }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;
  int descriptor() const noexcept { return descriptor_; }
  bool take() {
    std::uint64_t due = 0;
    return read(descriptor_, &due, sizeof due) == static_cast<ssize_t>(sizeof due);
  }

 private:
  int descriptor_;
};

}  // namespace

int top(int argc, char** argv) {
  std::string interval = "1s";
  Target::What what;
  bool batch = false;
  constexpr std::uint64_t kForEver = ~std::uint64_t{0};
  std::uint64_t most_looks = kForEver;
  Arguments arguments("substrata top", kUsage);
  arguments.words("-e,--events", what.event_specs,
                  "events, separated by commas; '*' and '?' are wildcards (default: a standard set)",
                  Arguments::Value::kEvents);
  arguments.word("-i,--interval", interval, "time between updates: 500ms, 2s (default 1s)",
                 Arguments::Value::kDuration);
  arguments.word("-p,--pid", what.process, "a running process, its threads and descendants",
                 Arguments::Value::kProcess);
  arguments.flag("-b,--batch", batch, "write plain text, one table after the other");
  arguments.number("-n,--looks", most_looks, "end, with the command, after N updates (default: never)");
  if (const auto status = parse_before_command(arguments, argc, argv, &what.command)) return *status;
  if (!what.command.empty() && !what.process.empty()) {
    std::fprintf(stderr, "substrata top: a command or a process, not both\n");
    return 2;
  }
  if (most_looks == 0) {
    std::fprintf(stderr,
                 "substrata top: -n needs at least one update; without it the view goes on until q\n");
    return 2;
  }

  const std::int64_t interval_ns = parse_duration(interval);
  what.silent = !batch;
  Target target(what);
  // The signals of a command's end are its own; see Child.
  const std::unique_ptr<Signals> signals =
      target.is_command() ? std::make_unique<Signals>(std::initializer_list<int>{SIGWINCH, SIGTSTP})
                          : std::make_unique<Signals>(std::initializer_list<int>{SIGWINCH, SIGTSTP, SIGINT,
                                                                                 SIGTERM, SIGHUP, SIGQUIT});
  Looks looks(target.events());
  const bool utf8 = terminal_speaks_utf8();
  if (batch)
    for (const std::string& note : target.events().notes())
      std::fprintf(stderr, "substrata top: %s\n", note.c_str());
  std::unique_ptr<Screen> screen = batch ? nullptr : std::make_unique<Screen>();
  MachineView machine;
  const bool colours = wants_colours();
  target.go();
  looks.take();
  if (screen != nullptr) machine.take(machine_state());
  Ticks ticks(interval_ns);

  std::size_t first = 0;
  std::uint64_t looked = 0;
  std::string state;
  bool asked_to_end = false;
  const auto redraw = [&] {
    if (screen != nullptr) draw(*screen, target, looks, state, &first, machine, utf8, colours);
  };
  const auto look = [&] {
    target.events().sample();
    looks.take();
    if (screen != nullptr) machine.take(machine_state());
    ++looked;
    if (batch) write_batch(target, looks);
    redraw();
  };
  // True: nothing is left to wait for.
  const auto end = [&] {
    if (!target.is_command()) return true;
    target.send(asked_to_end ? SIGKILL : SIGTERM);
    asked_to_end = true;
    state = "waiting for the command to end; ";
    redraw();
    return false;
  };
  redraw();
  for (;;) {
    pollfd ready[] = {{ticks.descriptor(), POLLIN, 0},
                      {target.descriptor(), POLLIN, 0},
                      {signals->descriptor(), POLLIN, 0},
                      {screen != nullptr ? screen->keys() : -1, POLLIN, 0}};
    if (poll(ready, 4, -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waiting for the next look");
    if (ready[1].revents != 0 && target.ended()) {
      if (!asked_to_end) look();
      const int status = target.status();
      if (screen != nullptr) {
        screen.reset();
        std::printf("substrata top: %s has ended with status %d; its events:\n%s", target.name().c_str(),
                    status, looks.summary().c_str());
      }
      return status;
    }
    if (ready[2].revents != 0) {
      for (int signal = signals->take(); signal != 0; signal = signals->take()) {
        if (signal == SIGTSTP && screen != nullptr)
          screen->suspend();
        else if (signal == SIGTSTP)
          raise(SIGSTOP);
        else if (signal != SIGWINCH)
          return 0;
      }
      redraw();
    }
    if (ready[3].revents != 0) {
      const std::size_t page = std::max<std::size_t>(screen->size().rows, 4) - 3;
      for (Screen::Key key = screen->take_key(); key != Screen::Key::kNone; key = screen->take_key()) {
        if (key == Screen::Key::kQuit && end()) return 0;
        if (key == Screen::Key::kUp) first -= first != 0 ? 1 : 0;
        if (key == Screen::Key::kDown) ++first;
        if (key == Screen::Key::kPageUp) first -= std::min(first, page);
        if (key == Screen::Key::kPageDown) first += page;
        if (key == Screen::Key::kRefresh) look();
      }
      redraw();
    }
    if (ticks.take() && !asked_to_end) {
      look();
      if (looked >= most_looks && end()) return 0;
    }
  }
}

}  // namespace substrata::tool
