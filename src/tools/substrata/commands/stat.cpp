// substrata stat: what a command counted in all, as a table or JSON.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "arguments/arguments.hpp"
#include "base/whole_file.hpp"
#include "recording/base_unit.hpp"
#include "recording/memory_sink.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"
#include "sampler/run.hpp"
#include "substrata_tool/command_line.hpp"
#include "substrata_tool/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr const char* kUsage =
    "Runs a command and prints event totals: sums of counts, levels of gauges.\n\n"
    "  substrata stat -- make -j4\n"
    "  substrata stat -e perf::TASK-CLOCK,'net:::lo:*' --json -o totals.json -- ./program\n\n"
    "Processor and software events follow the command and its children; all other events are those of the "
    "whole node. The table goes to standard error; the exit status is the command's.";

// Between letting the command go and its end.
double elapsed(const recording::Timeline& timeline) {
  const std::string text{
      recording::property(timeline.recording->writers.front().end_properties, "command.elapsed_s")};
  return text.empty() ? timeline.seconds : std::strtod(text.c_str(), nullptr);
}

std::string exact(double number, recording::Type type) {
  char text[40];
  std::snprintf(text, sizeof text, type == recording::Type::kDouble ? "%.6g" : "%.0f", number);
  return text;
}

void write_table(std::ostream& out, const recording::Timeline& timeline) {
  const recording::Writer& writer = timeline.recording->writers.front();
  const double seconds = elapsed(timeline);
  std::size_t width = 5;
  for (const recording::Trace& trace : timeline.traces) width = std::max(width, trace.series->name.size());
  out << "\n"
      << recording::property(writer.properties, "command") << ": "
      << recording::property(writer.end_properties, "exit") << "\n\n";
  for (const recording::Trace& trace : timeline.traces) {
    const recording::Series& about = *trace.series;
    if (about.scope == "recorder" || recording::rank_of_scope(about.scope) >= 0) continue;
    const recording::Summary all = recording::summarize(trace);
    const bool gauge = about.kind == recording::Kind::kGauge;
    const recording::BaseUnit base = recording::base_unit(about.unit);
    const std::string_view by_second = recording::rate_unit(base.unit);
    char line[512];
    if (all.samples == 0)
      std::snprintf(line, sizeof line, "%20s %-10s", "no value", "");
    else if (const double value = gauge ? all.level.mean : all.total; base.unit == "s")
      std::snprintf(line, sizeof line, "%20.3f %-10s", 1e3 * base.factor * value, "ms");
    else
      std::snprintf(
          line, sizeof line, "%20s %-10s",
          (base.factor == 1 ? exact(value, about.type) : recording::compact(base.factor * value)).c_str(),
          std::string(base.unit).c_str());
    out << line << ' ' << about.name << std::string(width - about.name.size(), ' ') << "  ";
    if (all.samples != 0 && gauge)
      out << "mean; " << recording::compact(base.factor * all.level.min) << " to "
          << recording::compact(base.factor * all.level.max);
    else if (all.samples != 0 && seconds > 0)
      out << recording::compact(base.factor * all.total / seconds)
          << (by_second.empty() ? std::string("/s") : " " + std::string(by_second));
    out << "  (" << about.scope << ", " << recording::origin_name(about)
        << ((trace.flags_seen & recording::kScaled) != 0 ? ", scaled" : "")
        << ((trace.flags_seen & recording::kAbsent) != 0 ? ", with gaps" : "") << ")\n";
  }
  out << "\n";
  char line[200];
  std::snprintf(line, sizeof line, "%20.6f s elapsed, %s s user, %s s system\n", seconds,
                std::string(recording::property(writer.end_properties, "command.user_s")).c_str(),
                std::string(recording::property(writer.end_properties, "command.system_s")).c_str());
  out << line;
  for (const recording::Properties* properties : {&writer.properties, &writer.end_properties})
    for (const auto& [name, value] : *properties) {
      if (name.rfind("note", 0) == 0) out << "note: " << value << "\n";
      if (name == "refused") out << "refused: " << value << "\n";
    }
}

nlohmann::json as_json(const recording::Timeline& timeline) {
  const recording::Writer& writer = timeline.recording->writers.front();
  nlohmann::json report = {{"command", recording::property(writer.properties, "command")},
                           {"seconds", elapsed(timeline)},
                           {"exit_status", recording::property_number(writer.end_properties, "exit_status")},
                           {"machine", nlohmann::json::object()},
                           {"events", nlohmann::json::array()}};
  for (const auto& [name, value] : writer.properties) report["machine"][name] = value;
  for (const recording::Trace& trace : timeline.traces) {
    const recording::Series& about = *trace.series;
    if (about.scope == "recorder") continue;
    const recording::Summary all = recording::summarize(trace);
    nlohmann::json entry = {{"name", about.name},
                            {"unit", about.unit},
                            {"kind", recording::kind_name(about.kind)},
                            {"scope", about.scope},
                            {"component", about.component},
                            {"modelled", about.modelled},
                            {"scaled", (trace.flags_seen & recording::kScaled) != 0},
                            {"value", nullptr}};
    if (all.samples != 0 && about.kind == recording::Kind::kGauge) {
      entry["value"] = all.level.mean;
      entry["min"] = all.level.min;
      entry["max"] = all.level.max;
    } else if (all.samples != 0) {
      // The last value itself: a double would lose the low bits of large counts.
      std::size_t last = about.values.size() - 1;
      while (!about.present_at(last)) --last;
      if (about.type == recording::Type::kDouble)
        entry["value"] = about.value_at(last);
      else if (about.type == recording::Type::kUint64)
        entry["value"] = static_cast<std::uint64_t>(about.values[last]);
      else
        entry["value"] = about.values[last];
    }
    report["events"].push_back(std::move(entry));
  }
  return report;
}

}  // namespace

int stat(int argc, char** argv) {
  std::string out, interval = "100ms";
  std::vector<std::string> event_specs;
  bool json = false;
  Arguments arguments("substrata stat", kUsage);
  arguments.words("-e,--events", event_specs,
                  "events, separated by commas; '*' and '?' are wildcards (default: a standard set)",
                  Arguments::Value::kEvents);
  arguments.word("-i,--interval", interval, "time between samples of gauges (default 100ms)",
                 Arguments::Value::kDuration);
  arguments.word("-o,--output", out, "file to write instead of standard error", Arguments::Value::kFile);
  arguments.flag("--json", json, "print JSON");
  std::vector<std::string> command;
  if (const auto status = parse_before_command(arguments, argc, argv, &command)) return *status;
  if (command.empty()) {
    std::fprintf(stderr, "substrata stat: no command is named; for example: substrata stat sleep 1\n");
    return 2;
  }

  Plan plan;
  plan.command = plan.shown = command;
  plan.event_specs = event_specs;
  if (event_specs.empty() && is_mpi_launcher(command.front())) try {
      plan.command = with_shim(command);
      plan.mpi = true;
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "substrata stat: messages are not counted: %s\n", error.what());
    }
  plan.interval_ns = parse_duration(interval);
  recording::MemorySink* memory = nullptr;
  std::unique_ptr<recording::MemorySink> kept;
  Destination destination;
  destination.open = [&](const recording::Properties& properties) -> std::unique_ptr<recording::Sink> {
    auto made = std::make_unique<recording::MemorySink>(properties);
    memory = made.get();
    return made;
  };
  destination.flush = [] {};
  recording::Recording result;
  destination.end = [&](const Outcome& outcome, const recording::Properties& properties) {
    memory->end(outcome.end, properties);
    result = memory->recording();
  };
  const Outcome outcome = run_sampled(plan, destination);
  if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
  const recording::Timeline timeline = recording::lay_out(result);
  std::ostringstream text;
  if (json)
    text << as_json(timeline).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  else
    write_table(text, timeline);
  if (out.empty()) {
    std::cerr << text.str();
    return outcome.status;
  }
  write_whole(out, [&](std::ostream& to) { to << text.str(); });
  return outcome.status;
}

}  // namespace substrata::tool
