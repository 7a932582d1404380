// The performance monitor of one GPU (GPM, Hopper and later) as one set reads it: means between two samples.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "nvml/numbers.hpp"

namespace substrata::nvml {

// Thread-compatible.
class PerformanceMonitor {
 public:
  // The library needs this much time between two samples.
  static constexpr int64_t kShortest_ns = 100'000'000;
  // For this long, whatever signals arrive.
  static void wait(int64_t ns) noexcept;

  PerformanceMonitor(const Library* library, const Gpu* gpu);
  PerformanceMonitor(const PerformanceMonitor&) = delete;
  PerformanceMonitor& operator=(const PerformanceMonitor&) = delete;
  ~PerformanceMonitor();

  const Gpu* gpu() const noexcept { return gpu_; }
  // Adds a metric; its number in `value`.
  uint32_t add(const Metric* metric);
  // Allocates the samples. kDone, or NVML's answer.
  int prepare();

  // The means begin anew. kDone, or NVML's answer; then nothing has changed.
  int begin(int64_t now_ns) noexcept;
  // Takes the means since the last sample. Where the shortest time is not over, the means of before stay; where there
  // are none yet, it waits for the rest of that time. kDone, or NVML's answer.
  int advance(int64_t now_ns) noexcept;
  // kDone, or NVML's answer for this metric.
  int value(uint32_t number, int64_t* value) const noexcept;

 private:
  int take(GpmSample into) noexcept;

  const Library* library_;
  const Gpu* gpu_;
  std::vector<const Metric*> chosen_;
  std::unique_ptr<GpmMetrics> asked_;
  GpmSample older_ = nullptr;
  GpmSample newer_ = nullptr;
  int64_t older_ns_ = 0;
  bool begun_ = false;
  bool has_values_ = false;
};

}  // namespace substrata::nvml
