// Streams that nobody publishes unasked: page faults and samples that the kernel buffers, calls for data, and counters
// that are read from time to time.
#pragma once

#include <substrata/pages.h>
#include <substrata/samples.h>
#include <substrata/feed.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "sources/one_liner/switches.hpp"
#include "sources/one_liner/tracepoints.hpp"

namespace substrata::one_liner {

// What a query's patterns ask for, opened for this process. Thread-compatible.
class Streams {
 public:
  // `counters`: PAPI events, with commas. What cannot be opened is said in why_not().
  void open(const std::string& patterns, const std::string& counters);
  // The program begins, and is over: calls of this library's own are not taken.
  void program_begins() const { tracepoints_.enable(); }
  void program_ends() const { tracepoints_.disable(); }
  // The calling thread, which collects, is not one of the program's.
  void ignore_this_thread() {
    switches_.ignore(gettid());
    tracepoints_.ignore(gettid());
  }
  // Publishes what came since the last call.
  void collect();
  // Collects once more.
  void close();
  // Is collect() to be called from time to time?
  bool wanted() const {
    return faults_ != nullptr || samples_ != nullptr || memory_samples_ != nullptr || switches_.is_open() ||
           tracepoints_.is_open() || set_ >= 0;
  }
  const std::string& why_not() const { return why_not_; }
  uint64_t lost() const {
    return lost_faults_ + lost_samples_ + lost_memory_samples_ + switches_.lost() + tracepoints_.lost();
  }

 private:
  void open_counters(const std::string& names);
  void refuse(const std::string& what, const char* why);
  void read_counters();

  substrata_page_faults* faults_ = nullptr;
  substrata_samples* samples_ = nullptr;
  substrata_samples* memory_samples_ = nullptr;
  Switches switches_;
  Tracepoints tracepoints_;
  uint64_t lost_faults_ = 0;
  uint64_t lost_samples_ = 0;
  uint64_t lost_memory_samples_ = 0;
  int set_ = -1;
  struct Counter {
    client::feed::Publisher publisher;
    bool is_gauge = false;
    bool is_double = false;
    long long last = 0;
  };
  std::vector<Counter> counters_;
  uint64_t last_reading_ = 0;  // when
  std::string why_not_;
};

}  // namespace substrata::one_liner
