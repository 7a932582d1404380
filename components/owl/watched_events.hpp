// Events of the layer, "PAPI_TOT_INS" or any other, that a recruiting rule reads while a program runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::owl {

// Counts of the thread that starts it, where the substrate counts by thread. Read from one thread at a time.
class WatchedEvents {
 public:
  WatchedEvents() = default;
  ~WatchedEvents();
  WatchedEvents(const WatchedEvents&) = delete;
  WatchedEvents& operator=(const WatchedEvents&) = delete;

  // 0 with the event's number, or negative with a message. Events that are computed from the feed are refused: they
  // would be read in the midst of a delivery.
  int add(const std::string& name, uint32_t* number);
  int start();
  // False: the values stay as they were.
  bool read();
  uint64_t value(uint32_t number) const noexcept;

 private:
  struct Set {
    int component;
    int handle;
    bool running = false;
    std::vector<uint32_t> codes = {};
    std::vector<int64_t> values = {};
  };
  struct Place {
    size_t set;
    size_t position;
  };
  std::vector<Set> sets_;
  std::vector<Place> places_;
  uint64_t epoch_ = 0;
};

}  // namespace substrata::owl
