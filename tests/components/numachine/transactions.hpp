// Single transactions on a machine of a few stations, whose cycles can be calculated by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine::test {

inline constexpr Time kCycle = Parameters::bus_ps;

// Two stations; page 0 (lines 0 to 63) is at home on station 0 with processors 0 to 3, page 1 on station 1.
class Transactions : public testing::Test {
 protected:
  struct Access {
    std::uint32_t cpu;
    std::uint64_t line;
    bool write;
    std::uint64_t begins;  // bus cycles; its request goes out a cycle later
  };

  static Parameters two_stations() {
    Parameters p;
    p.shape.stations = 2;
    return p;
  }
  void SetUp() override {
    Rack::instance().reset();
    begin(two_stations());
  }
  void TearDown() override {
    model_.reset();
    Rack::instance().on_interrupt(nullptr, nullptr);
    Rack::instance().reset();
  }
  // Retries after a time-out: what is refused once does not go again before.
  void begin_with_late_retries() {
    Parameters p = two_stations();
    p.retry_cycles = 5000;
    begin(p);
  }
  void begin(const Parameters& p) {
    model_.reset();
    model_ = std::make_unique<Model>(p, 0);
  }
  void count(std::uint32_t cpu, unsigned counter, CounterEvent event, bool transitions) {
    ProcessorCard& card = Rack::instance().processor(cpu);
    card.write(kCounterMode0 + counter, kCounterOn | static_cast<std::uint32_t>(event) << kEventShift |
                                            (transitions ? kTransitions : 0U));
    card.write(kCounterEnable, 1);
  }
  std::uint64_t counted(std::uint32_t cpu, unsigned counter) {
    std::uint32_t value = 0;
    Rack::instance().processor(cpu).read(kCounters + counter, &value);
    return value;
  }
  // In the order of time; gives when each was done, in bus cycles after its request.
  std::vector<std::uint64_t> run(const std::vector<Access>& accesses) {
    std::vector<Time> now;
    std::vector<std::uint64_t> before;
    std::vector<bool> done(accesses.size());
    for (const Access& one : accesses) {
      now.push_back((start_ + one.begins) * kCycle);
      before.push_back(miss_cycles(one.cpu));
    }
    for (std::size_t left = accesses.size(); left != 0;) {
      std::size_t next = accesses.size();
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        if (!done[i] && (next == accesses.size() || now[i] < now[next])) next = i;
      }
      const Access& one = accesses[next];
      done[next] = model_->step(one.cpu, one.line * 64, 8, one.write, false, 0, now[next]);
      left -= done[next] ? 1 : 0;
    }
    last_ = *std::max_element(now.begin(), now.end());
    start_ = last_ / kCycle + 1000;
    model_->settle(last_ + 500 * kCycle);
    std::vector<std::uint64_t> latencies;
    for (std::size_t i = 0; i < accesses.size(); ++i)
      latencies.push_back(miss_cycles(accesses[i].cpu) - before[i]);
    return latencies;
  }
  std::uint64_t latency(std::uint32_t cpu, std::uint64_t line, bool write) {
    return run({{cpu, line, write, 0}})[0];
  }
  std::uint64_t miss_cycles(std::uint32_t cpu) {
    const auto& all = model_->truth(cpu).miss_cycles;
    return std::accumulate(std::begin(all), std::end(all), std::uint64_t{0});
  }

  const Rack::Use use_{Rack::instance()};
  std::unique_ptr<Model> model_;
  std::uint64_t start_ = 0;  // of the next accesses
  Time last_ = 0;            // the end of the last ones
};

inline constexpr bool kRead = false;
inline constexpr bool kWrite = true;

}  // namespace substrata::numachine::test
