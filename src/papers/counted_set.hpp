// An eventset around a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::papers {

// Events of one substrate, "shrimp" for example, counted from start() to stop(). Every function throws
// std::runtime_error with the library's message. Thread-bound.
class CountedSet {
 public:
  CountedSet(const std::string& substrate, const std::vector<std::string>& events);
  ~CountedSet();
  CountedSet(const CountedSet&) = delete;
  CountedSet& operator=(const CountedSet&) = delete;
  int handle() const noexcept { return set_; }
  void start();
  std::vector<long long> stop();

 private:
  int set_;
};

// What a workload took on a modelled machine, in simulated seconds, and what its component's event counted.
struct CountedRun {
  double seconds = 0;
  long long count = 0;
};
// Runs it to its end, the first time that it is asked for: a model gives the same for the same. Throws
// std::runtime_error when it does not run or its result is wrong. `machine` is the component's name, too. Thread-bound.
CountedRun counted_run(const std::string& machine, const std::string& event, const std::string& workload,
                       std::uint32_t nodes, const std::string& parameters, std::uint64_t seed);

}  // namespace substrata::papers
