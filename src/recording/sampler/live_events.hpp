// Events as they stand now: of the whole machine, of a running process, or of a command that is about to
// begin.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recording/recording.hpp"
#include "recording/sampler/sampler.hpp"

namespace substrata::sampler {

// Whose activity events count that can follow processes; all others are the node's.
struct LiveTarget {
  enum class Kind {
    kMachine,  // whatever any processor does
    kProcess,  // a running process, its threads and descendants as they stand, and what these start from now
               // on
    kCommand,  // a process that has not begun yet, and what it starts
  };
  Kind kind = Kind::kMachine;
  pid_t pid = 0;
  std::vector<int> processors = {};    // of kMachine: whose activity counts; none: of all that are online
  bool usual = true;                   // where no events are named: the usual ones
  std::vector<std::string> also = {};  // events of which those that refuse are left out, and reported
  bool apart = false;                  // one series an event and processor, of the scope "cpu 3"
};
// Those that are online.
std::vector<int> online_processors();
// "0-3,8" as the kernel writes lists; throws std::runtime_error with the reason.
std::vector<int> parse_processors(const std::string& text);

// One value per event, summed over processors or threads. Counts grow from 0 at the start. Thread-bound.
class LiveEvents {
 public:
  // Starts the library and the events. Throws std::runtime_error if an event that was named does not exist, the
  // process cannot be looked at, or no event can be counted.
  LiveEvents(const LiveTarget& target, const std::vector<std::string>& event_specs);
  ~LiveEvents();
  LiveEvents(const LiveEvents&) = delete;
  LiveEvents& operator=(const LiveEvents&) = delete;

  // Reads everything. A value that could not be read is absent, and of all it was a sum of.
  void sample();
  // In the order in which they were asked for by substrate; each has one row, of the last sample(). The last
  // is the processor time of this process; of the whole machine without named events, the first is how long
  // its processors were busy.
  const std::vector<recording::Series>& series() const noexcept { return series_; }
  // For how long the first of these counted, up to the last sample(); sums over processors or threads. Zeros where that
  // is not known.
  std::vector<Counting> counting() const;
  // CLOCK_MONOTONIC_RAW of the last sample().
  std::int64_t time() const noexcept { return time_; }
  // CLOCK_MONOTONIC_RAW when counts were 0.
  std::int64_t started() const noexcept { return started_; }
  // What a person should know about how events are counted, one line each; refusals too.
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  // Of the events that were named, else of the usual ones; the reasons of the former are notes too.
  const std::vector<Refused>& refused() const noexcept { return refused_; }

 private:
  class Row;
  std::vector<std::unique_ptr<Sampler>> parts_;  // one per processor or thread, with the same events
  std::unique_ptr<Sampler> tree_;                // of a process or command as a whole
  std::unique_ptr<Sampler> node_;                // where the parts do not take the events of the node
  std::unique_ptr<Row> row_;
  std::vector<recording::Series> series_;
  std::vector<std::string> notes_;
  std::vector<Refused> refused_;
  bool apart_ = false;
  std::vector<int> processors_;  // some of the machine's
  std::int64_t time_ = 0;
  std::int64_t started_ = 0;
  std::int64_t busy_at_start_ns_ = -1;  // of the whole machine, where that is shown
};

}  // namespace substrata::sampler
