// An eventset around a run.
#pragma once

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

}  // namespace substrata::papers
