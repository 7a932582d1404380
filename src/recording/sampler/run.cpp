// The loop: attach, let go, sample at every tick, take marks, end with the command.
#include "recording/sampler/run.hpp"
#include "recording/sampler/descriptor.hpp"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "base/environment.hpp"
#include "base/parse.hpp"
#include "recording/memory_sink.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/event_spec.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/mark_file.hpp"
#include "recording/sampler/measuring.hpp"
#include "recording/sampler/mpi_launching.hpp"
#include "recording/sampler/mpi_sampler.hpp"
#include "recording/sampler/placement_watch.hpp"
#include "recording/sampler/region_file.hpp"
#include "recording/sampler/sampler.hpp"

namespace substrata::sampler {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// A word as a shell would take it back.
std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && std::string("_-./:=,+@%").find(c) != std::string::npos);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 != 0 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

// By how much ratios differ from 1: their median, and between which of them the true median lies with 95 %
// confidence, whatever their distribution (order statistics); of fewer than six
// ratios, or more than a thousand, their range.
std::string change_text(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const std::size_t count = ratios.size();
  // The largest number of ratios that may be left out at each end.
  std::size_t out = 0;
  double term = count <= 1000 ? std::pow(0.5, static_cast<double>(count)) : 1, below = term;
  while (below <= 0.025) {
    ++out;
    term *= static_cast<double>(count - out + 1) / static_cast<double>(out);
    below += term;
  }
  const std::size_t from = out == 0 ? 0 : out - 1;
  char text[120];
  std::snprintf(text, sizeof text, "%+.2f %% (median; %+.2f to %+.2f%s)", 100 * (median(ratios) - 1),
                100 * (ratios[from] - 1), 100 * (ratios[count - 1 - from] - 1),
                out == 0 ? "" : " with 95 % confidence");
  return text;
}

std::string seconds_text(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", seconds);
  return text;
}

}  // namespace

Outcome run_sampled(const Plan& plan, const Destination& destination) {
  const ModelSetting model(plan.event_specs);
  MarkFile marks(plan.rank);
  std::vector<std::pair<std::string, std::string>> environment = plan.environment;
  model.keep_from(&environment);
  if (!marks.path().empty()) environment.emplace_back("SUBSTRATA_MARKS", marks.path());
  RegionFile regions(marks.path().empty() ? std::string() : marks.path() + ".regions");
  if (!regions.path().empty()) environment.emplace_back("SUBSTRATA_REGIONS", regions.path());
  const std::unique_ptr<MpiSampler> live = plan.mpi ? std::make_unique<MpiSampler>(plan.rank >= 0) : nullptr;
  const std::string summary = marks.path().empty() ? std::string() : marks.path() + ".mpi";
  if (live != nullptr) {
    environment.emplace_back("SUBSTRATA_MPI_LIVE", live->path());
    if (!summary.empty() && plan.rank <= 0) environment.emplace_back("SUBSTRATA_MPI_SUMMARY", summary);
  }
  if (!plan.preload.empty()) {
    const char* others = substrata::environment("LD_PRELOAD");
    environment.emplace_back(
        "LD_PRELOAD",
        plan.preload + (others != nullptr && others[0] != '\0' ? std::string(":") + others : std::string()));
  }
  start_library();
  rusage own{};
  getrusage(RUSAGE_SELF, &own);  // what the kernel counts of the command begins with this program's memory
  Child child(plan.command, environment, plan.silent);

  Sampler sampler(child.pid(), true, plan.node);
  // Half a percent of a processor at most, and later a fiftieth of a percent for each task: it must not disturb what is
  // recorded.
  constexpr Pace kPace{.least_ns = 50'000'000, .times = 200, .task_times = 5000};
  std::optional<PlacementWatch> placement;
  if (plan.placement) placement.emplace(child.pid(), kPace, plan.rank);
  const TryAdd try_add = [&](const std::string& name) { return sampler.try_add(name); };
  std::vector<std::string> refused, notes;
  Outcome outcome;
  if (!plan.event_specs.empty())
    refused = add_event_specs(plan.event_specs, try_add, &outcome.refused);
  else if (plan.usual)
    notes = add_usual_events(try_add, &outcome.refused);
  if (!plan.event_specs.empty())
    for (const Refused& one : outcome.refused) notes.push_back(one.why);
  add_willing_events(plan.also, try_add, &outcome.refused);
  if (sampler.events() == 0 && plan.node) {
    std::vector<std::string> reasons = refused;
    if (!plan.event_specs.empty()) reasons.insert(reasons.begin(), notes.begin(), notes.end());
    throw std::runtime_error(
        "none of the events can be counted here" +
        (reasons.empty() ? std::string("; `substrata doctor` says why") : ": " + reasons[0]));
  }
  sampler.start();

  recording::Properties properties = machine_properties();
  std::vector<std::string> words;
  for (const std::string& word : plan.shown.empty() ? plan.command : plan.shown)
    words.push_back(shell_word(word));
  properties.emplace_back("command", joined(words, " "));
  properties.emplace_back("interval_ns", std::to_string(plan.interval_ns));
  properties.emplace_back("pid", std::to_string(child.pid()));
  if (!refused.empty()) properties.emplace_back("refused", joined(refused, "; "));
  notes.insert(notes.end(), sampler.notes().begin(), sampler.notes().end());
  for (std::size_t i = 0; i < notes.size(); ++i)
    properties.emplace_back("note." + std::to_string(i + 1), notes[i]);
  const std::unique_ptr<recording::Sink> sink = destination.open(properties);
  const std::uint32_t set = sink->declare(sampler.series());

  const Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (timer.get() < 0) throw std::system_error(errno, std::generic_category(), "no timer");
  outcome.events = sampler.events();
  std::int64_t flushed = raw_now_ns();
  const auto recording = [&](auto&& work) {  // a full disk must not disturb the command
    if (!outcome.failure.empty()) return;
    try {
      work();
    } catch (const std::exception& error) {
      outcome.failure = error.what();
    }
  };
  const auto row = [&] {
    recording([&] {
      sampler.sample(*sink, set);
      if (live != nullptr) live->sample(*sink, raw_now_ns());
      regions.take(*sink);
      if (placement) placement->look();
      ++outcome.rows;
    });
  };
  row();
  recording([&] { destination.flush(); });
  outcome.begin = raw_now_ns();
  child.go();
  destination.begun();
  itimerspec ticks{};
  ticks.it_interval.tv_sec = plan.interval_ns / 1'000'000'000;
  ticks.it_interval.tv_nsec = plan.interval_ns % 1'000'000'000;
  ticks.it_value = ticks.it_interval;
  timerfd_settime(timer.get(), 0, &ticks, nullptr);

  pollfd events[3] = {{child.signals(), POLLIN, 0}, {timer.get(), POLLIN, 0}, {marks.watch(), POLLIN, 0}};
  for (bool ended = false; !ended;) {
    if (poll(events, 3, -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waiting for the command");
    const std::int64_t now = raw_now_ns();
    if ((events[0].revents & POLLIN) != 0) ended = child.take_signals();
    if ((events[2].revents & POLLIN) != 0) recording([&] { marks.take(*sink, now); });
    std::uint64_t due = 0;
    if (!ended && read(timer.get(), &due, sizeof due) == static_cast<ssize_t>(sizeof due)) {
      outcome.missed += due - 1;
      row();
      if (now - flushed >= plan.flush_ns || plan.interval_ns >= plan.flush_ns) {
        recording([&] { destination.flush(); });
        flushed = now;
      }
    }
  }
  outcome.end = raw_now_ns();
  const double elapsed = 1e-9 * static_cast<double>(outcome.end - outcome.begin);
  recording([&] { marks.take(*sink, outcome.end); });
  row();
  outcome.counting = sampler.counting();
  rusage used{};
  outcome.status = child.reap(&used);
  outcome.how = child.how_it_ended();
  outcome.end_requested = child.end_requested();
  outcome.end = std::max(outcome.end, raw_now_ns());
  recording::Properties end_properties = {{"exit", outcome.how},
                                          {"exit_status", std::to_string(outcome.status)},
                                          {"rows", std::to_string(outcome.rows)},
                                          {"missed_ticks", std::to_string(outcome.missed)},
                                          {"command.elapsed_s", seconds_text(elapsed)},
                                          {"command.user_s", seconds_text(seconds_of(used.ru_utime))},
                                          {"command.system_s", seconds_text(seconds_of(used.ru_stime))},
                                          {"command.max_resident_kib", std::to_string(used.ru_maxrss)},
                                          {"command.max_resident_floor_kib", std::to_string(own.ru_maxrss)}};
  for (const std::string& one : sampler.unobserved())
    end_properties.emplace_back(
        "note." + one,
        "nothing was observed by " + one +
            ": a model counts what is put on the feed of its own process, and the command is another one. "
            "Give it the command's accesses or messages as a trace (substrata-cc, substrata mpirun --trace) "
            "and `substrata replay -m " +
            one + " TRACE`");
  if (regions.full())
    end_properties.emplace_back("note.regions",
                                "a process had more than 100,000 begins and ends of high-level regions; the "
                                "later ones are not in the recording");
  if (regions.left_out() != 0)
    end_properties.emplace_back("note.threads", std::to_string(regions.left_out()) +
                                                    " high-level regions that threads opened while another "
                                                    "thread of their rank had one open are left out");
  if (live != nullptr && !summary.empty()) {
    std::ifstream file(summary, std::ios::binary);
    outcome.mpi_summary.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    unlink(summary.c_str());
  }
  outcome.user_and_system_s = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  if (placement) outcome.placement = recording::placement_as_json(placement->result());
  recording([&] { destination.end(outcome, end_properties); });
  return outcome;
}

bool is_mpi_launcher(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  return name.rfind("mpirun", 0) == 0 || name.rfind("mpiexec", 0) == 0;
}

std::vector<std::string> with_shim(const std::vector<std::string>& command) {
  if (!is_mpi_launcher(command.front()))
    throw std::runtime_error("--mpi needs a command that begins with mpirun or mpiexec, not '" +
                             command.front() + "'");
  preloading_command(command.front(), {command.begin() + 1, command.end()});  // throws what would refuse
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
  if (length <= 0)
    throw std::system_error(errno, std::generic_category(), "this program does not find itself");
  std::vector<std::string> out = {std::string(self, static_cast<std::size_t>(length)), "mpirun",
                                  "--launcher"};
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

recording::Properties measure_overhead(const Plan& plan, std::uint64_t pairs) {
  const auto bare = [&] {
    // As the user would run it: without the shim.
    Child child(plan.shown.empty() ? plan.command : plan.shown, {}, true);
    const std::int64_t begin = raw_now_ns();
    child.go();
    pollfd end{child.signals(), POLLIN, 0};
    while (!child.take_signals()) poll(&end, 1, -1);
    rusage used{};
    child.reap(&used);
    return std::pair(seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                     1e-9 * static_cast<double>(raw_now_ns() - begin));
  };
  const auto sampled = [&] {
    Plan silent = plan;
    silent.silent = true;
    Destination nowhere;
    nowhere.open = [](const recording::Properties& properties) -> std::unique_ptr<recording::Sink> {
      return std::make_unique<recording::MemorySink>(properties);
    };
    nowhere.flush = [] {};
    nowhere.end = [](const Outcome&, const recording::Properties&) {};
    const Outcome outcome = run_sampled(silent, nowhere);
    return std::pair(outcome.user_and_system_s, 1e-9 * static_cast<double>(outcome.end - outcome.begin));
  };
  bare();
  std::vector<double> processor, elapsed;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    // Alternately, and every second pair the other way round, so that a drift of the machine falls on both.
    const bool first = i % 2 == 0;
    const auto one = first ? bare() : sampled();
    const auto other = first ? sampled() : bare();
    const auto& without = first ? one : other;
    const auto& with = first ? other : one;
    if (without.first > 0) processor.push_back(with.first / without.first);
    if (without.second > 0) elapsed.push_back(with.second / without.second);
  }
  if (processor.empty() || elapsed.empty()) return {};
  return {
      {"overhead.pairs", std::to_string(pairs)},
      {"overhead.sentence", std::to_string(pairs) +
                                " interleaved pairs of runs with and without recording: processor time of "
                                "the command " +
                                change_text(processor) + ", elapsed time " + change_text(elapsed)}};
}

std::int64_t parse_duration(const std::string& text) {
  double number = 0;
  const std::size_t length = leading_number(text, &number);
  const std::string unit = text.substr(length);
  double scale = 0;
  if (unit == "s")
    scale = 1e9;
  else if (unit == "ms" || unit.empty())
    scale = 1e6;
  else if (unit == "us")
    scale = 1e3;
  const double ns = number * scale;
  if (length == 0 || scale == 0 || !(ns >= 1e5) || !(ns <= 3.6e12))
    throw std::runtime_error("'" + text +
                             "' is not an interval between 100us and 3600s; write for example 100ms or 1s");
  return static_cast<std::int64_t>(std::llround(ns));
}

std::optional<SplitLine> split_at_dashes(int argc, char** argv) {
  SplitLine out;
  int at = 0;
  for (; at < argc && std::string(argv[at]) != "--"; ++at) out.before.push_back(argv[at]);
  for (++at; at < argc; ++at) out.command.emplace_back(argv[at]);
  const bool help = std::any_of(out.before.begin(), out.before.end(), [](const char* word) {
    return std::string(word) == "--help" || std::string(word) == "-h";
  });
  if (out.command.empty() && !help) return std::nullopt;
  return out;
}

}  // namespace substrata::sampler
