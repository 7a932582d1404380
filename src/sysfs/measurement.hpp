// The state of one eventset over sampled numbers: when it counts, what it has counted, and what was last
// seen.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {

// What samplers of levels only have in common.
struct LevelSampler {
  bool counts(uint32_t) const noexcept { return false; }
  Status growth(uint32_t, int64_t, int64_t, int64_t*) const noexcept {
    return {Code::kBug, 0, "a level does not grow"};
  }
};

// What a Sampler must have (all noexcept, none of them allocating):
//   uint32_t size() const;              how many events were selected
//   bool counts(uint32_t i) const;      a growing count (its growth is reported) or a level
//   Status sample(int64_t* raw);        the numbers as the source shows them now; all or none
//   Status growth(uint32_t i, int64_t from, int64_t to, int64_t* out);  how far a count went, wrap included
//
// and may have
//   Status begin(int64_t* raw);  as sample, when the run or a reset begins: what is a mean over time begins anew
//   void end();                  the run has ended
//
// A sampler of nothing but levels inherits counts and growth from LevelSampler.
//
// Gauges read before the first start give the level of that moment; counts give 0. After stop both keep the
// values of the stop. A stop always ends the run; if the source failed just then, later reads return that
// error until the next start or reset. Thread-compatible.
template <typename Sampler>
class Measurement {
 public:
  explicit Measurement(const Host* host) noexcept : host_(host) {}

  // Values not older than this many nanoseconds are handed out again; 0: every read asks the source.
  void set_refresh(int64_t refresh_ns) noexcept { refresh_ns_ = refresh_ns; }
  void set_value_flags(uint32_t flags) noexcept { value_flags_ = flags; }

  // Takes over a complete sampler; may allocate.
  void program(Sampler sampler) {
    const uint32_t size = sampler.size();
    std::vector<int64_t> raw(size), fresh(size), total(size), sum(size);
    sampler_ = std::move(sampler);
    raw_ = std::move(raw);
    fresh_ = std::move(fresh);
    total_ = std::move(total);
    sum_ = std::move(sum);
    phase_ = Phase::kIdle;
    kept_ = kSuccess;
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(raw_.size()); }
  bool running() const noexcept { return phase_ == Phase::kRunning; }
  Sampler& sampler() noexcept { return sampler_; }

  Status start() noexcept {
    const Status status = begin();
    if (!status.ok()) return status;
    raw_.swap(fresh_);
    for (int64_t& count : total_) count = 0;
    sampled_at_ns_ = started_at_ns_ = now();
    ran_ns_ = 0;
    kept_ = kSuccess;
    phase_ = Phase::kRunning;
    return kSuccess;
  }

  // The same with a fresh sampler of the same events, for sources that have gone and come back; nothing changes if
  // it cannot sample either.
  Status start(Sampler fresh) noexcept {
    std::swap(sampler_, fresh);
    const Status status = start();
    if (!status.ok()) std::swap(sampler_, fresh);
    return status;
  }

  Status stop() noexcept {
    if (phase_ != Phase::kRunning) return {Code::kNotRunning, 0, "the set is not running"};
    kept_ = take();
    if (!kept_.ok()) {
      kept_.note =
          "the source failed when the set was stopped, so there is no last value; start the set again";
    }
    if constexpr (requires(Sampler & sampler) { sampler.end(); }) sampler_.end();
    ran_ns_ = now() - started_at_ns_;
    phase_ = Phase::kStopped;
    return kSuccess;
  }

  Status read(int64_t* values) noexcept {
    const Status status = refresh();
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < size(); ++i) values[i] = value(i);
    return kSuccess;
  }

  Status read_details(ValueDetail* details) noexcept {
    const Status status = refresh();
    if (!status.ok()) return status;
    const int64_t at = now();
    const int64_t ran = phase_ == Phase::kRunning ? at - started_at_ns_ : ran_ns_;
    for (uint32_t i = 0; i < size(); ++i) {
      details[i] = ValueDetail{};
      details[i].value = value(i);
      details[i].time_ns = sampled_at_ns_;
      details[i].age_ns = at - sampled_at_ns_;
      details[i].enabled_ns = ran;
      details[i].running_ns = ran;
      details[i].flags = value_flags_;
    }
    return kSuccess;
  }

  Status reset() noexcept {
    if (phase_ == Phase::kRunning) {
      const Status status = begin();
      if (!status.ok()) return status;
      raw_.swap(fresh_);
      sampled_at_ns_ = now();
    }
    for (int64_t& count : total_) count = 0;
    return kSuccess;
  }

 private:
  enum class Phase { kIdle, kRunning, kStopped };

  int64_t now() const noexcept { return now_ns(*host_); }
  int64_t value(uint32_t i) const noexcept { return sampler_.counts(i) ? total_[i] : raw_[i]; }

  Status begin() noexcept {
    if constexpr (requires(Sampler & sampler, int64_t * raw) { sampler.begin(raw); }) {
      return sampler_.begin(fresh_.data());
    } else {
      return sampler_.sample(fresh_.data());
    }
  }

  Status refresh() noexcept {
    switch (phase_) {
      case Phase::kRunning:
        if (refresh_ns_ > 0 && now() - sampled_at_ns_ < refresh_ns_) return kSuccess;
        return take();
      case Phase::kIdle: {
        const Status status = sampler_.sample(fresh_.data());
        if (!status.ok()) return status;
        raw_.swap(fresh_);
        sampled_at_ns_ = now();
        return kSuccess;
      }
      case Phase::kStopped:
        break;
    }
    return kept_;
  }

  // One more sample; nothing changes unless every event has its number.
  Status take() noexcept {
    Status status = sampler_.sample(fresh_.data());
    if (!status.ok()) return status;
    for (uint32_t i = 0; i < size(); ++i) {
      sum_[i] = total_[i];
      if (!sampler_.counts(i)) continue;
      int64_t grown = 0;
      status = sampler_.growth(i, raw_[i], fresh_[i], &grown);
      if (!status.ok()) return status;
      sum_[i] += grown;
    }
    raw_.swap(fresh_);
    total_.swap(sum_);
    sampled_at_ns_ = now();
    return kSuccess;
  }

  const Host* host_;
  Sampler sampler_{};
  std::vector<int64_t> raw_, fresh_, total_, sum_;
  Phase phase_ = Phase::kIdle;
  Status kept_ = kSuccess;
  int64_t refresh_ns_ = 0;
  int64_t sampled_at_ns_ = 0;
  int64_t started_at_ns_ = 0;
  int64_t ran_ns_ = 0;
  uint32_t value_flags_ = 0;
};

}  // namespace substrata::sysfs
