// The eventsets beneath a set of metrics: one of each substrate, started, read
// and stopped together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "metrics/evaluation.hpp"
#include "metrics/library.hpp"

namespace substrata::metric {

// Thread-compatible.
class Parts {
 public:
  Parts() = default;
  ~Parts() { release(); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // The whole new list; not ok: it stays without any.
  Status program(std::vector<metrics::Bound> bound);
  Status start();
  Status stop();
  Status reset();
  // Of each metric. `time_ns`: in the middle of the reads.
  Status read(std::vector<metrics::Number>* out, int64_t* time_ns);

 private:
  struct Set {
    int component;
    int handle;
    std::vector<uint32_t> codes;
    std::vector<ValueDetail> details = {};
  };
  struct Place {
    size_t set;
    size_t position;
  };
  Status add(const std::string& event, Place* place);
  Status add_all();
  void release();
  metrics::Number number_of(const Place& place, double factor) const;

  std::vector<metrics::Bound> bound_;
  std::vector<Set> sets_;
  std::vector<std::vector<std::vector<Place>>> places_;  // by metric, term, event
  uint64_t epoch_ = 0;                                   // of the library, in which the handles are ours
  int64_t begun_ns_ = 0;
  int64_t ended_ns_ = 0;  // 0: running
};

}  // namespace substrata::metric
