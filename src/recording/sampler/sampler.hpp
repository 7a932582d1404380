// The events of a recorded command: counters that follow its processes, and everything else of the node, read
// in one row.
#pragma once

#include <substrata/extensions.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recording/writer.hpp"

namespace substrata::sampler {

// CLOCK_MONOTONIC_RAW, the clock of every recording.
std::int64_t raw_now_ns();

// An event that is not counted, and why.
struct Refused {
  std::string name;
  std::string why;
};

// How long an event was to count, and how long it did; 0 where that is not known.
struct Counting {
  double enabled_ns = 0;
  double running_ns = 0;
};

// Events of any substrates. Those of a substrate that can follow processes are attached to the command and
// inherited by its children; the others are sampled as they are, for the node. Thread-bound.
class Sampler {
 public:
  // `command`: the process to follow, which has not begun yet. Without `follow` only events of the node are
  // taken.
  Sampler(pid_t command, bool follow, bool node);
  // Events that can follow processes count whatever one processor does, for as long as the sampler lives;
  // no others are taken.
  struct OfProcessor {
    int number;
  };
  explicit Sampler(OfProcessor processor);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Adds an event; the reason when it cannot be counted, else empty.
  std::string try_add(const std::string& name);
  std::size_t events() const noexcept { return events_; }
  // -1: it follows a process.
  int processor() const noexcept { return processor_; }
  // What a person should know about how events are counted, one line each.
  const std::vector<std::string>& notes() const noexcept { return notes_; }

  // Starts all events; the reason of a substrate that refuses goes to notes(), its events are left out.
  void start();
  // The series in their order, with two of the recorder itself; after start().
  std::vector<recording::SeriesInfo> series() const;
  // Of the last sample, in the order of series(), without the recorder's own.
  std::vector<Counting> counting() const;
  // Models that have been given nothing to count so far.
  std::vector<std::string> unobserved() const;
  // Reads everything into one row of `set`.
  void sample(recording::Sink& sink, std::uint32_t set);

 private:
  // What an event has of a model, which has nothing to count before it is given something.
  enum class Model : std::uint8_t { kNone, kCount, kLevel };
  struct Set {
    int component = -1;
    int handle = -1;
    bool follows = false;
    bool user_only = false;
    bool multiplexed = false;
    std::vector<int> codes;
    std::vector<std::string> names;
    std::vector<substrata_value> values;
    std::vector<Model> models;
    int status = 0;
    bool counted_something() const;
  };
  bool has_observed(const Set& set, std::size_t i) const;
  void begin_to_observe(recording::Sink& sink, std::uint32_t set);
  std::string open(Set& set);
  std::string add(Set& set, int code, const std::string& name);
  void release(Set& set);

  pid_t command_ = 0;
  bool follow_;
  bool node_;
  int processor_ = -1;
  std::vector<Set> sets_;
  std::size_t events_ = 0;
  std::vector<std::string> notes_;
  std::vector<std::int64_t> row_;
  std::vector<std::uint8_t> flags_;
  std::int64_t last_cost_ns_ = 0;
  std::int64_t cpu_at_start_ns_ = -1;  // at the first row
  bool observed_ = false;              // something was put on the feed of this process
  std::uint64_t delivered_at_start_ = 0;
  std::int64_t time_ = 0;  // of the row before
  std::int64_t skew_ = 0;
};

// Adds an event by its name; the reason when it cannot be counted, else empty.
using TryAdd = std::function<std::string(const std::string&)>;

// What a TryAdd answers that does not want an event.
inline constexpr const char* kLeftOut = "left out";

// What is recorded by default: processor, memory faults, scheduling (where the kernel
// refuses performance events, by its accounts of processes), temperature, energy,
// network. Only events that open here.
// Gives what a person should know of those that do not, and adds them to *refused.
std::vector<std::string> add_usual_events(const TryAdd& try_add, std::vector<Refused>* refused = nullptr);

}  // namespace substrata::sampler
