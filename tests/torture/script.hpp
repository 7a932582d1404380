// A program of one pass over the C interface, the high-level one and libsde, for runs in which something fails.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace substrata::torture {

struct Call {
  const char* name;
  int code;  // what it returned; 0 or 1 for a pointer that was null or not
};

// Initialises, makes each call once and more, and shuts down. Goes on whatever a call answers. What is left of its
// eventsets is kept for put_right(). Thread-bound.
class Script {
 public:
  Script() { space_.reserve(kSpace); }
  std::vector<Call> pass();
  // After a pass in which calls failed: every eventset that is left must know its state and can be stopped, emptied
  // and destroyed, and the library can be shut down. What could not, "" if nothing.
  std::string put_right();

 private:
  static constexpr std::size_t kSpace = 1024;
  std::vector<Call> space_;  // for the next pass's answers: this program's own allocation is not to fail
  static constexpr std::size_t kBuckets = 64;
  unsigned short buckets_[kBuckets] = {};
  int set_ = -1, other_ = -1, software_ = -1, profiled_ = -1;
  void* sde_ = nullptr;
};

// "" when the pass answered as a pass before it; the first difference otherwise.
std::string difference(const std::vector<Call>& expected, const std::vector<Call>& found);
// "" when every answer is either the expected one or an error number of the interface.
std::string not_an_answer(const std::vector<Call>& expected, const std::vector<Call>& found);

}  // namespace substrata::torture
