// Looks from time to time where the tasks of a command run.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "recording/placement.hpp"

namespace substrata::sampler {

// How often to look: not before `least_ns`, nor before so many `times` the processor time of a look; and when it has
// looked kDense times, not before `task_times` what a look takes for one task, so that a long command is looked at more
// rarely.
struct Pace {
  static constexpr std::uint64_t kDense = 8;
  std::int64_t least_ns = 0;
  std::int64_t times = 0;
  std::int64_t task_times = 0;
  // From a look that took so long, the `looks`th, to the next.
  std::int64_t wait_ns(std::int64_t took_ns, std::uint64_t looks, std::int64_t tasks) const {
    const std::int64_t share = looks < kDense || tasks == 0 ? 0 : task_times * (took_ns / tasks);
    return std::max({least_ns, times * took_ns, share});
  }
};

// The threads of a process and of all its descendants, from /proc. A task that begins and ends between two looks is
// not seen. Thread-bound.
class PlacementWatch {
 public:
  // `rank`: of all tasks; -1: what each process's environment says.
  PlacementWatch(pid_t command, const Pace& pace, std::int64_t rank = -1);
  // Looks, unless the last time was just before.
  void look();
  // What was seen so far, with the machine's processors.
  recording::Placement result() const;

 private:
  struct Watched {
    recording::Task task;
    std::int64_t ran_ns = 0;
    int processor = -1;
    std::uint64_t looks = 0;
  };
  struct Stat;
  void look_at_task(pid_t pid, pid_t tid, const Stat& stat);

  Pace pace_;
  std::int64_t rank_;
  std::int64_t begin_ns_;
  std::int64_t next_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t looks_ = 0;
  std::set<pid_t> processes_;
  std::map<std::pair<pid_t, pid_t>, Watched> tasks_;
  std::set<pid_t> left_out_;
};

}  // namespace substrata::sampler
