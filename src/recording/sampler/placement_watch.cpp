// Reads /proc/PID/task: where a task is, how long it ran and waited, how often it moved.
#include "recording/sampler/placement_watch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "recording/sampler/descriptor.hpp"
#include "recording/sampler/sampler.hpp"
#include "recording/topology/machine.hpp"

namespace substrata::sampler {
namespace {

constexpr std::size_t kMostTasks = 4096;

// A file of /proc by as few system calls as it takes: what is shorter than half a page is there with the first read.
std::string text_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char bytes[8192];
  for (ssize_t got = 0; file.get() >= 0 && (got = read(file.get(), bytes, sizeof bytes)) > 0;) {
    out.append(bytes, static_cast<std::size_t>(got));
    if (got < 2048) break;
  }
  return out;
}

std::int64_t rank_from_environment(pid_t pid) {
  const std::string all = '\0' + contents_of("/proc/" + std::to_string(pid) + "/environ");
  for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="}) {
    const std::size_t at = all.find('\0' + std::string(name));
    std::int64_t rank = -1;
    if (at != std::string::npos &&
        parse_integer(all.substr(at + 1 + std::string(name).size()).c_str(), &rank) && rank >= 0)
      return rank;
  }
  return -1;
}

std::vector<pid_t> tasks_of(const std::string& folder) {
  std::vector<pid_t> out;
  std::error_code gone;
  for (auto at = std::filesystem::directory_iterator(folder, gone);
       !gone && at != std::filesystem::directory_iterator(); at.increment(gone)) {
    pid_t tid = 0;
    if (parse_number(at->path().filename().string(), &tid)) out.push_back(tid);
  }
  return out;
}

bool power_of_two(std::uint64_t number) { return (number & (number - 1)) == 0; }

// What looking takes from others: not the time for which it waits for a processor.
std::int64_t own_time_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// What /proc/PID/task/TID/stat says.
struct PlacementWatch::Stat {
  std::string name;
  int processor = -1;
  int threads = 0;

  static std::optional<Stat> of(pid_t pid, pid_t tid) {
    const std::string text =
        text_of("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/stat");
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos) return std::nullopt;  // it has gone
    const std::vector<std::string> fields = split_list(std::string_view(text).substr(close + 1), " \n");
    // proc(5) counts from 1, and two fields stand before these.
    constexpr std::size_t kThreads = 20 - 3, kProcessor = 39 - 3;
    Stat out{text.substr(open + 1, close - open - 1)};
    if (fields.size() <= kProcessor || !parse_number(fields[kProcessor], &out.processor) ||
        !parse_number(fields[kThreads], &out.threads))
      return std::nullopt;
    return out;
  }
};

PlacementWatch::PlacementWatch(pid_t command, const Pace& pace, std::int64_t rank)
    : pace_(pace), rank_(rank), begin_ns_(raw_now_ns()), processes_{command} {}

void PlacementWatch::look() {
  const std::int64_t now = raw_now_ns();
  if (now < next_ns_) return;
  const std::int64_t before = own_time_ns();
  ++looks_;
  last_ns_ = now;
  std::int64_t tasks = 0;
  // A copy: children that are found are looked at in the same pass.
  std::vector<pid_t> open(processes_.begin(), processes_.end());
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    const std::optional<Stat> first = Stat::of(pid, pid);
    const std::vector<pid_t> tids = first && first->threads == 1 ? std::vector<pid_t>{pid} : tasks_of(folder);
    if (tids.empty()) {
      processes_.erase(pid);
      continue;
    }
    for (const pid_t tid : tids) {
      ++tasks;
      if (const std::optional<Stat> stat = tid == pid ? first : Stat::of(pid, tid))
        look_at_task(pid, tid, *stat);
      for (const std::string& child :
           split_list(text_of(folder + "/" + std::to_string(tid) + "/children"), " ")) {
        pid_t number = 0;
        if (parse_number(child, &number) && processes_.insert(number).second) open.push_back(number);
      }
    }
  }
  next_ns_ = now + pace_.wait_ns(own_time_ns() - before, looks_, tasks);
}

void PlacementWatch::look_at_task(pid_t pid, pid_t tid, const Stat& stat) {
  const auto key = std::pair(pid, tid);
  if (tasks_.size() >= kMostTasks && tasks_.count(key) == 0) {
    left_out_.insert(tid);
    return;
  }
  const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid);
  std::int64_t ran = 0, waited = 0;
  std::istringstream(text_of(folder + "/schedstat")) >> ran >> waited;

  Watched& one = tasks_[key];
  one.task.pid = pid;
  one.task.tid = tid;
  one.task.name = stat.name;
  one.task.ran[stat.processor] += 1e-9 * static_cast<double>(std::max<std::int64_t>(0, ran - one.ran_ns));
  one.ran_ns = ran;
  one.task.ran_s = 1e-9 * static_cast<double>(ran);
  one.task.waited_s = 1e-9 * static_cast<double>(waited);
  std::int64_t moves = 0;
  one.task.moves_counted =
      parse_integer(value_of_key(text_of(folder + "/sched"), "se.nr_migrations"), &moves);
  if (one.task.moves_counted)
    one.task.moves = moves;
  else
    one.task.moves += one.processor >= 0 && one.processor != stat.processor;
  one.processor = stat.processor;
  // What changes rarely is read more and more rarely.
  if (power_of_two(++one.looks)) {
    one.task.allowed =
        recording::numbers_from_text(value_of_key(contents_of(folder + "/status"), "Cpus_allowed_list"));
    if (one.task.rank < 0) one.task.rank = rank_ >= 0 ? rank_ : rank_from_environment(pid);
  }
}

recording::Placement PlacementWatch::result() const {
  recording::Placement out;
  out.seconds = 1e-9 * static_cast<double>(last_ns_ - begin_ns_);
  out.interval = looks_ > 1 ? out.seconds / static_cast<double>(looks_ - 1) : out.seconds;
  out.left_out = left_out_.size();
  for (const auto& [key, one] : tasks_) out.tasks.push_back(one.task);
  try {
    out.processors = topology::load({}, topology::Devices::kWithout).processors;
  } catch (const std::runtime_error&) {
    // Without hwloc's answer the processors stand for themselves, and the rules for places find nothing.
  }
  return out;
}

}  // namespace substrata::sampler
