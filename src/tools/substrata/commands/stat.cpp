// substrata stat: what a command counted in all, as a table, as fields or as JSON.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "recording/placement.hpp"
#include "recording/sampler/live_events.hpp"
#include "recording/sampler/run.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/command_line.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/stat/counts.hpp"
#include "tools/substrata/stat/measure.hpp"
#include "tools/substrata/stat/metrics.hpp"
#include "tools/substrata/stat/printing.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr const char* kUsage =
    "Runs a command and prints event totals: sums of counts, levels of gauges, and beside them rates.\n\n"
    "  substrata stat -- make -j4\n"
    "  substrata stat -r 5 -- ./program                 mean of five runs, and its standard error\n"
    "  substrata stat -I 1s -x, -- ./program            a line an event and second, for a spreadsheet\n"
    "  substrata stat -e perf::TASK-CLOCK,'net:::lo:*' --json -o totals.json -- ./program\n"
    "  substrata stat -g MEM_DP -- ./program            a group of metrics; -g list shows them\n"
    "  substrata stat -a --per-core -- sleep 10         what every core does meanwhile\n\n"
    "Processor and software events follow the command and its children; all other events are those of the "
    "whole node. The table goes to standard error; the exit status is the command's.";

// Where the text goes: standard error or a file, which lies there whole or not at all unless it grows as one looks.
class Output {
 public:
  Output(const std::string& path, bool grows) : path_(path), grows_(grows) {
    if (path.empty()) return;
    must_be_writable(path);
    if (!grows) return;
    file_.open(path);
    check();
  }
  void write(const std::string& text) {
    if (path_.empty()) {
      std::cerr << text << std::flush;
      return;
    }
    if (!grows_) return write_whole(path_, [&](std::ostream& to) { to << text; });
    file_ << text << std::flush;
    check();
  }

 private:
  void check() const {
    if (!file_) throw std::runtime_error("'" + path_ + "' cannot be written");
  }
  std::string path_;
  bool grows_;
  std::ofstream file_;
};

struct Form {
  bool json = false;
  std::string separator;
  Apart apart = Apart::kTogether;
};

// One run, or one interval of it.
class Printing {
 public:
  Printing(const Form& form, std::unique_ptr<Metrics>& metrics) : form_(form), metrics_(metrics) {}

  // Metrics, and what stands beside events. Not before the library may start.
  void complete(Counts* counts) const {
    if (metrics_ == nullptr) metrics_ = std::make_unique<Metrics>();
    metrics_->add_to(counts);
    for (Counts& region : counts->regions) metrics_->add_to(&region);
  }

  // Of one or several runs, with their metrics.
  std::string whole(const Counts& counts) const {
    std::ostringstream text;
    const std::vector<Counts> parts = parts_of(counts);
    if (form_.json)
      text << as_json(parts).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    else if (!form_.separator.empty())
      write_fields(text, parts, form_.separator, "");
    else
      write_table(text, parts);
    return text.str();
  }

  // Of JSON an object a line.
  std::string interval(Counts counts, double at_seconds, bool first) const {
    complete(&counts);
    std::ostringstream text;
    char at[40];
    std::snprintf(at, sizeof at, "%.9f", at_seconds);
    const std::vector<Counts> parts = parts_of(counts);
    if (form_.json) {
      const nlohmann::json all = as_json(parts);
      const nlohmann::json one = {
          {"interval", at_seconds}, {"events", all.at("events")}, {"metrics", all.at("metrics")}};
      text << one.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    } else if (!form_.separator.empty()) {
      write_fields(text, parts, form_.separator, at + form_.separator);
    } else {
      write_interval(text, parts, at_seconds, first);
    }
    return text.str();
  }

 private:
  // Of places the metrics that have a number there.
  std::vector<Counts> parts_of(const Counts& counts) const {
    std::vector<Counts> parts = split(counts, form_.apart);
    if (parts.size() == 1) return parts;
    for (Counts& part : parts) {
      complete(&part);
      std::erase_if(part.metrics, [](const MetricLine& metric) { return !metric.present; });
    }
    return parts;
  }

  const Form& form_;
  std::unique_ptr<Metrics>& metrics_;
};

// The command line.
struct Request {
  std::vector<std::string> event_specs, groups;
  std::vector<std::string> command;
  std::string out, interval = "100ms", every, process, processors;
  std::uint64_t runs = 1;
  bool all_processors = false;
  bool top_down = false;
  bool of_processors[3] = {};  // each, cores, packages
  bool of_ranks = false;
  Form form;

  bool live() const { return all_processors || !process.empty() || !processors.empty(); }
};

void declare(Arguments& arguments, Request& request) {
  arguments.words("-e,--events", request.event_specs,
                  "events, separated by commas; '*' and '?' are wildcards (default: a standard set)",
                  Arguments::Value::kEvents);
  arguments.words(
      "-g,--group", request.groups,
      "groups of metrics or single ones, separated by commas, and the events that they need; or a file of "
      "metrics: ours, a group of LIKWID (.txt), a vendor's (.json); list: all groups and their metrics",
      Arguments::Value::kGroup);
  arguments.flag("--topdown", request.top_down, "where the slots of the pipeline went: the group TMA");
  arguments.number("-r,--repeat", request.runs,
                   "runs of the command: prints means, with the standard error of each in per cent");
  arguments.flag("-a,--all-cpus", request.all_processors,
                 "count what every processor does, while the command runs or until Ctrl-C");
  arguments.word("-C,--cpu", request.processors,
                 "count what these processors do, for example 0-3,8, while the command runs or until Ctrl-C");
  arguments.word(
      "-p,--pid", request.process,
      "count a running process, its threads and children, until it ends, while the command runs or "
      "until Ctrl-C",
      Arguments::Value::kProcess);
  arguments.flag("-A,--no-aggr", request.of_processors[0], "of -a or -C: each processor apart");
  arguments.flag("--per-core", request.of_processors[1], "of -a or -C: each core apart");
  arguments.flag("--per-socket", request.of_processors[2], "of -a or -C: each package apart");
  arguments.flag("--per-rank", request.of_ranks, "of an MPI program: each rank apart");
  arguments.word("-I,--interval-print", request.every,
                 "also print what was counted in each interval of this length, while the command runs",
                 Arguments::Value::kDuration);
  arguments.word(
      "-x,--field-separator", request.form.separator,
      "print fields with this between them, in the order of perf stat: (time,) (place, processors,) "
      "value, unit, event, (error of several runs,) time that it counted in ns, share of the wanted "
      "time, what stands beside it, its unit");
  arguments.word("-i,--interval", request.interval, "time between samples of gauges (default 100ms)",
                 Arguments::Value::kDuration);
  arguments.word("-o,--output", request.out, "file to write instead of standard error",
                 Arguments::Value::kFile);
  arguments.flag("-j,--json", request.form.json, "print JSON; of intervals an object a line");
}

// What is wrong with the request; empty: nothing.
std::string fault(const Request& request) {
  const int apart = request.of_processors[0] + request.of_processors[1] + request.of_processors[2];
  const bool listing =
      std::find(request.groups.begin(), request.groups.end(), "list") != request.groups.end();
  if (request.command.empty() && !request.live() && !listing)
    return "no command is named; for example: substrata stat sleep 1";
  if (request.runs == 0) return "-r needs at least one run";
  if (request.runs > 1 && request.command.empty()) return "-r needs a command to run again";
  if (request.form.json && !request.form.separator.empty()) return "choose --json or -x";
  if (!request.process.empty() && (request.all_processors || !request.processors.empty()))
    return "choose processors (-a, -C) or a process (-p)";
  if (apart + (request.of_ranks ? 1 : 0) > 1)
    return "choose one of -A, --per-core, --per-socket and --per-rank";
  if (apart != 0 && (!request.live() || !request.process.empty()))
    return "-A, --per-core and --per-socket need processors: -a or -C";
  return {};
}

bool for_ranks(const Request& request) {
  return request.event_specs.empty() && !request.command.empty() && is_mpi_launcher(request.command.front());
}

Plan plan_of_command(const Request& request, const std::vector<std::string>& also) {
  Plan plan;
  plan.command = plan.shown = request.command;
  plan.event_specs = request.event_specs;
  plan.also = also;
  plan.usual = also.empty();
  if (for_ranks(request)) try {
      plan.command = with_shim(request.command);
      plan.mpi = true;
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "substrata stat: messages are not counted: %s\n", error.what());
    }
  plan.interval_ns = parse_duration(request.every.empty() ? request.interval : request.every);
  return plan;
}

// Throws std::runtime_error where one of them is not there.
std::vector<int> processors_of(const std::string& text) {
  const std::vector<int> online = online_processors();
  std::vector<int> out = parse_processors(text);
  for (const int one : out)
    if (std::find(online.begin(), online.end(), one) == online.end())
      throw std::runtime_error("-C " + text + ": there is no processor " + std::to_string(one) +
                               " online here; these are: " + recording::numbers_text(online));
  return out;
}

bool has_ranks(const Counts& counts) {
  return std::any_of(counts.lines.begin(), counts.lines.end(),
                     [](const Line& line) { return recording::rank_of_scope(line.scope) >= 0; });
}

LivePlan plan_of_live(const Request& request, const std::vector<std::string>& also) {
  LivePlan plan;
  plan.target.also = also;
  plan.target.usual = also.empty();
  plan.command = request.command;
  plan.event_specs = request.event_specs;
  plan.interval_ns = parse_duration(request.every.empty() ? request.interval : request.every);
  plan.target.apart = request.form.apart != Apart::kTogether;
  if (!request.processors.empty()) plan.target.processors = processors_of(request.processors);
  if (!request.process.empty()) {
    plan.target.kind = LiveTarget::Kind::kProcess;
    if (!parse_number(request.process, &plan.target.pid) || plan.target.pid <= 0)
      throw std::runtime_error("'" + request.process + "' is not the number of a process");
  }
  return plan;
}

}  // namespace

int stat(int argc, char** argv) {
  Request request;
  Arguments arguments("substrata stat", kUsage);
  declare(arguments, request);
  if (const auto status = parse_before_command(arguments, argc, argv, &request.command)) return *status;
  if (const std::string wrong = fault(request); !wrong.empty()) {
    std::fprintf(stderr, "substrata stat: %s\n", wrong.c_str());
    return 2;
  }
  Form& form = request.form;
  constexpr Apart kApart[] = {Apart::kProcessors, Apart::kCores, Apart::kPackages};
  for (std::size_t i = 0; i < 3; ++i)
    if (request.of_processors[i]) form.apart = kApart[i];
  if (request.of_ranks) form.apart = Apart::kRanks;

  if (request.top_down) request.groups.emplace_back("TMA");
  std::unique_ptr<Metrics> metrics;  // not before it is needed: it starts the library
  for (const std::string& item : request.groups)
    for (const std::string& name : split_list(item, ",")) {
      if (metrics == nullptr) metrics = std::make_unique<Metrics>();
      if (name == "list") {
        std::fputs(metrics->listing().c_str(), stdout);
        return 0;
      }
      metrics->choose(name, for_ranks(request));
    }
  const std::vector<std::string> also = metrics != nullptr ? metrics->events() : std::vector<std::string>();

  Output output(request.out, !request.every.empty());
  const Printing printing(form, metrics);
  bool first = true;
  OnInterval on_interval;
  if (!request.every.empty())
    on_interval = [&](const Counts& counts, double at_seconds) {
      output.write(printing.interval(counts, at_seconds, std::exchange(first, false)));
    };
  std::vector<Counts> all;
  int end_requested = 0;
  for (std::uint64_t run = 0; run < request.runs; ++run) {
    first = true;
    all.push_back(request.live() ? measure_live(plan_of_live(request, also), on_interval)
                                 : measure_command(plan_of_command(request, also), on_interval));
    printing.complete(&all.back());
    if (!all.back().end_requested) continue;
    end_requested = all.back().status;
    if (all.size() > 1) all.pop_back();  // cut short: not one of those that a mean is taken of
    break;
  }
  Counts counts = mean_of(all);
  if (request.of_ranks && !has_ranks(counts))
    counts.notes.emplace_back(
        "--per-rank: no rank of an MPI program was seen; name its launcher: substrata stat --per-rank -- "
        "mpirun "
        "-n 4 ./program");
  for (const std::string& fault : metrics->faults()) counts.notes.push_back("left out: " + fault);
  // After intervals as fields or JSON nothing more: their readers want lines of one form.
  if (request.every.empty() || (form.separator.empty() && !form.json)) output.write(printing.whole(counts));
  return end_requested != 0 ? end_requested : counts.status;
}

}  // namespace substrata::tool
