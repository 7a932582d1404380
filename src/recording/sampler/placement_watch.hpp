// Looks from time to time where the tasks of a command run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "recording/placement.hpp"

namespace substrata::sampler {

// The threads of a process and of all its descendants, from /proc. A task that begins and ends between two looks is
// not seen. Thread-bound.
class PlacementWatch {
 public:
  // `least_ns`: between looks; and at least so many `times` what a look takes. `rank`: of all tasks; -1: what each
  // process's environment says.
  PlacementWatch(pid_t command, std::int64_t least_ns, std::int64_t times, std::int64_t rank = -1);
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
  void look_at_task(pid_t pid, pid_t tid);

  std::int64_t least_ns_;
  std::int64_t times_;
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
