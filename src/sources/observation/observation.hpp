// A process observed through samples of one of the kernel's events: what page faults and instructions share.
#pragma once

#include <substrata/feed.hpp>

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "sources/observation/perf_buffer.hpp"

namespace substrata::pages {

inline constexpr uint32_t kMostRingPages = 1u << 16;

// An event of which every sample holds instruction, thread, time, address and processor; off at first.
// `from_exec`: it begins by itself when the process executes a program.
perf_event_attr sampled_event(uint32_t type, uint64_t config, bool from_exec);

// Says that e.g. "page faults of process" (`what`) so-and-so cannot be "observed" (`cannot`), and the cure;
// keeps the message for substrata_feed_error, and gives the code.
int refuse_observation(int error, const char* what, pid_t process, const char* cannot);

// An event to observe. A kernel's unit may be on some processors only, and some events count in a group only.
struct Wanted {
  perf_event_attr event{};
  std::optional<perf_event_attr> leader{};
  std::vector<int> processors{};  // empty: all
  bool takes_exclusions = true;   // whether its unit can leave out what happens in the kernel
};

// Not thread-safe. What it counts goes to one probe point of the source "os".
class Observation {
 public:
  Observation() = default;
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  // 0, or as substrata_probe_add refuses.
  int open_probe(const char* name, const char* text);
  // Every thread that the process has now, on every processor, or none: 0 or errno. `ring_pages` of each
  // processor's buffer: 0 for the default, rounded up to a power of two.
  int open(Wanted wanted, const std::vector<pid_t>& threads, uint32_t ring_pages);
  // Nothing was opened: the threads have ended.
  bool empty() const { return buffers_.empty(); }
  void enable() const;
  void disable() const;
  // Publishes what came since the last time, by time. `fill` adds what the kind of event has beside time,
  // site, thread, processor and process; false: the sample is left out.
  void collect(bool (*fill)(const Sample&, substrata_transaction&));
  // Publishes samples in this order.
  void publish(const std::vector<Sample>& samples, bool (*fill)(const Sample&, substrata_transaction&));
  // Samples so far that did not fit.
  uint64_t lost() const { return lost_; }

 private:
  std::vector<Buffer> buffers_;  // one per processor
  std::vector<Sample> samples_;
  client::feed::Publisher publisher_;
  uint64_t lost_ = 0;
};

// What the calls on a handle of either kind do: it has an observation and collect(), which publishes what came.
template <class Observed>
int collect(Observed* observed, uint64_t* lost, const char* without_handle) {
  return guarded([&] {
    if (observed == nullptr) return fail(Code::kInvalid, "%s", without_handle);
    observed->collect();
    if (lost != nullptr) *lost = observed->observation.lost();
    return 0;
  });
}
template <class Observed>
void stop(Observed* observed) {
  if (observed == nullptr) return;
  observed->observation.disable();
  guarded([&] {
    observed->collect();
    return 0;
  });
  delete observed;
}

}  // namespace substrata::pages
