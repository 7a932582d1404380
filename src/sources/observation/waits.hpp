// From the kernel's records of switches to the times that threads spent off their processors.
#pragma once

#include <substrata/feed.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "sources/observation/perf_buffer.hpp"

namespace substrata::pages {

// Not thread-safe.
class Waits {
 public:
  // Of one process: those of its children are left out.
  explicit Waits(uint32_t process) : process_(process) {}

  // Takes the records up to `horizon`, of all processors, in any order; later ones wait for the next call, since one of
  // another processor may belong before them. publish(transaction) for each wait that ended.
  template <typename Publish>
  void take(const std::vector<Sample>& records, uint64_t horizon, const Publish& publish) {
    kept_.insert(kept_.end(), records.begin(), records.end());
    const auto later = std::stable_partition(kept_.begin(), kept_.end(),
                                             [&](const Sample& each) { return each.time <= horizon; });
    std::stable_sort(kept_.begin(), later, [](const Sample& a, const Sample& b) { return a.time < b.time; });
    for (auto at = kept_.begin(); at != later; ++at) {
      if (at->header.type != PERF_RECORD_SWITCH || at->process != process_) continue;
      if ((at->header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
        left_[at->thread] = {at->time, (at->header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
        continue;
      }
      const auto left = left_.find(at->thread);
      if (left == left_.end()) continue;
      substrata_transaction wait{};
      wait.time = at->time;
      wait.start = left->second.time;
      wait.kind = SUBSTRATA_WAIT;
      wait.initiator = at->thread;
      wait.target = at->processor;
      wait.detail = left->second.preempted ? 1 : 0;
      publish(wait);
      left_.erase(left);
    }
    kept_.erase(kept_.begin(), later);
  }

 private:
  struct Left {
    uint64_t time;
    bool preempted;
  };
  const uint32_t process_;
  std::vector<Sample> kept_;
  std::map<uint32_t, Left> left_;  // by thread
};

}  // namespace substrata::pages
