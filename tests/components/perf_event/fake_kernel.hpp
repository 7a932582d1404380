// A kernel of the test's own behind perf::Kernel: refuses, counts, rotates and wraps as the test says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "perf_events/encoder.hpp"
#include "perf_events/kernel.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::test {

// Thread-compatible.
class FakeKernel {
 public:
  struct Event {
    perf_event_attr attr;
    pid_t pid;
    int cpu;
    int group;
    uint64_t value = 0, enabled = 0, running = 0;
    bool on = false;
    int signal = 0;
    std::unique_ptr<perf_event_mmap_page> page;
    std::vector<uint64_t> ring;  // while mapped: a page, and samples behind it
  };

  FakeKernel();
  const perf::Kernel& kernel() const { return kernel_; }

  // An errno to refuse an open with, or 0. Default: everything opens.
  std::function<int(const perf_event_attr&, pid_t, int cpu, int group)> refuse;
  size_t hardware_counters = 4;           // the largest hardware group
  bool user_reads = false;                // mapped pages may be read
  uint32_t width = 48;                    // bits of a hardware counter
  bool lost = false;                      // reads end at once, as of a pinned group that found no counter
  int read_error = 0, control_error = 0;  // errno of every read, of every ioctl
  uint64_t registers = 0;                 // what every hardware counter register holds
  uint64_t tick = 0;
  bool sample_rings = false;  // samples may be mapped
  int rings = 0;              // mapped now

  std::map<int, Event> events;  // the open descriptors
  std::vector<perf_event_attr> opened;
  int opens = 0, reads = 0, controls = 0, counter_reads = 0;

  // Lets every enabled event count by `amount`, for `running` of `enabled` nanoseconds.
  void advance(uint64_t amount, uint64_t enabled = 100, uint64_t running = 100) {
    for (auto& [descriptor, event] : events) {
      if (!event.on) continue;
      event.value += amount;
      event.enabled += enabled;
      event.running += running;
    }
  }
  // Lets the enabled events with these codes count so much.
  void count(const std::map<uint64_t, uint64_t>& by_config) {
    for (auto& [descriptor, event] : events) {
      if (!event.on) continue;
      if (const auto found = by_config.find(event.attr.config); found != by_config.end())
        event.value += found->second;
      event.enabled += 100;
      event.running += 100;
    }
  }
  Event& of_type(uint32_t type);

  // Writes a record into an event's ring as the kernel does; false: it did not fit.
  bool put_record(Event* event, uint32_t type, uint16_t misc, const std::vector<uint64_t>& words);
  bool put_sample(Event* event, uint64_t instruction) {
    return put_record(event, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, {instruction});
  }

 private:
  perf::Kernel kernel_;
  int next_ = 1000;
};

// A table with the events of a PMU called "fake": INSTRUCTIONS_DONE, CYCLES_DONE and MASKED, which wants :ONE
// or :TWO.
std::unique_ptr<perf::Encoder> fake_encoder(bool present = true);

}  // namespace substrata::test
