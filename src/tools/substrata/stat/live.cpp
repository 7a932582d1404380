// The machine or a running process, sampled until its end or that of a command.
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "recording/memory_sink.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/descriptor.hpp"
#include "recording/sampler/event_spec.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/target.hpp"
#include "tools/substrata/stat/measure.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

std::string name_of(const LivePlan& plan) {
  std::string name = "whole machine";
  if (plan.target.kind == LiveTarget::Kind::kProcess) {
    std::string called;
    std::getline(std::ifstream("/proc/" + std::to_string(plan.target.pid) + "/comm"), called);
    name = "process " + std::to_string(plan.target.pid) + " (" + called + ")";
  } else if (!plan.target.processors.empty()) {
    name = "processors";
    for (const int one : plan.target.processors) name += " " + std::to_string(one);
  }
  if (!plan.command.empty()) name += " during";
  for (const std::string& word : plan.command) name += " " + word;
  return name;
}

// A row of all events as they stand.
void take_row(LiveEvents& events, recording::Sink& sink, std::uint32_t set) {
  events.sample();
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> flags;
  for (const recording::Series& series : events.series()) {
    values.push_back(series.values[0]);
    flags.push_back(series.flags[0]);
  }
  sink.sample(set, events.time(), 0, values.data(), flags.data());
}

}  // namespace

Counts measure_live(const LivePlan& plan, const OnInterval& on_interval) {
  const ModelSetting model(plan.event_specs);
  std::vector<std::pair<std::string, std::string>> environment;
  model.keep_from(&environment);
  const bool of_process = plan.target.kind == LiveTarget::Kind::kProcess;
  const Descriptor process(of_process ? static_cast<int>(syscall(SYS_pidfd_open, plan.target.pid, 0)) : -1);
  if (of_process && process.get() < 0)
    throw std::runtime_error("process " + std::to_string(plan.target.pid) +
                             " cannot be watched: " + std::strerror(errno));
  const std::unique_ptr<Child> child =
      plan.command.empty() ? nullptr : std::make_unique<Child>(plan.command, environment);
  std::optional<Signals> signals;
  if (child == nullptr) signals.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP});
  LiveEvents events(plan.target, plan.event_specs);

  recording::Properties properties = machine_properties();
  properties.emplace_back("command", name_of(plan));
  properties.emplace_back("interval_ns", std::to_string(plan.interval_ns));
  for (std::size_t i = 0; i < events.notes().size(); ++i)
    properties.emplace_back("note." + std::to_string(i + 1), events.notes()[i]);
  recording::MemorySink sink(properties);
  std::vector<recording::SeriesInfo> about(events.series().begin(), events.series().end());
  const std::uint32_t set = sink.declare(about);
  const Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (timer.get() < 0) throw std::system_error(errno, std::generic_category(), "no timer");
  take_row(events, sink, set);
  Intervals intervals;
  // The time to divide counts by is that in which they were counted, not that of the command.
  const std::int64_t begin = events.started();
  if (child != nullptr) child->go();
  intervals.begin(begin);
  itimerspec ticks{};
  ticks.it_interval.tv_sec = plan.interval_ns / 1'000'000'000;
  ticks.it_interval.tv_nsec = plan.interval_ns % 1'000'000'000;
  ticks.it_value = ticks.it_interval;
  timerfd_settime(timer.get(), 0, &ticks, nullptr);

  const auto row = [&] {
    take_row(events, sink, set);
    if (!on_interval) return;
    const Counts counts = intervals.next(sink.recording().writers.front());
    on_interval(counts, intervals.seconds());
  };
  std::string how;
  pollfd ends[3] = {{timer.get(), POLLIN, 0},
                    {child != nullptr ? child->signals() : signals->descriptor(), POLLIN, 0},
                    {process.get(), POLLIN, 0}};
  while (how.empty()) {
    if (poll(ends, 3, -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waiting for the end");
    if ((ends[1].revents & POLLIN) != 0) {
      if (child == nullptr)
        how = signals->take() != 0 ? "stopped by a signal" : "";
      else if (child->take_signals())
        how = "the command ended";
    }
    if ((ends[2].revents & POLLIN) != 0) how = "the process ended";
    std::uint64_t due = 0;
    if (how.empty() && read(timer.get(), &due, sizeof due) == static_cast<ssize_t>(sizeof due)) row();
  }
  row();
  const std::int64_t end = events.time();
  int status = 0;
  recording::Properties end_properties;
  if (child != nullptr) {
    status = child->reap(nullptr);
    how = child->how_it_ended();
  }
  end_properties.emplace_back("exit", how);
  end_properties.emplace_back("exit_status", std::to_string(status));
  end_properties.emplace_back("command.elapsed_s", std::to_string(1e-9 * static_cast<double>(end - begin)));
  sink.end(end, end_properties);
  Counts counts = counts_of(recording::lay_out(sink.recording()), events.counting(), events.refused());
  counts.end_requested = child != nullptr ? child->end_requested() : how == "stopped by a signal";
  return counts;
}

}  // namespace substrata::tool
