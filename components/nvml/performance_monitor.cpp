// Takes samples of a GPU's performance monitor and what lies between two of them.
#include "nvml/performance_monitor.hpp"

#include <cerrno>
#include <cmath>
#include <ctime>
#include <utility>

namespace substrata::nvml {
PerformanceMonitor::PerformanceMonitor(const Library* library, const Gpu* gpu)
    : library_(library), gpu_(gpu) {}

PerformanceMonitor::~PerformanceMonitor() {
  if (older_ != nullptr) Library::call(library_->gpm_free, older_);
  if (newer_ != nullptr) Library::call(library_->gpm_free, newer_);
}

void PerformanceMonitor::wait(int64_t ns) noexcept {
  timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

uint32_t PerformanceMonitor::add(const Metric* metric) {
  chosen_.push_back(metric);
  return static_cast<uint32_t>(chosen_.size() - 1);
}

int PerformanceMonitor::prepare() {
  asked_ = std::make_unique<GpmMetrics>();
  int answer = Library::call(library_->gpm_allocate, &older_);
  if (answer == kDone) answer = Library::call(library_->gpm_allocate, &newer_);
  return answer;
}

int PerformanceMonitor::take(GpmSample into) noexcept {
  return gpu_->whole == nullptr ? Library::call(library_->gpm_take, gpu_->handle, into)
                                : Library::call(library_->gpm_take_mig, gpu_->whole, gpu_->instance, into);
}

int PerformanceMonitor::begin(int64_t now_ns) noexcept {
  const int answer = take(newer_);
  if (answer != kDone) return answer;
  std::swap(older_, newer_);
  older_ns_ = now_ns;
  begun_ = true;
  has_values_ = false;
  return kDone;
}

int PerformanceMonitor::advance(int64_t now_ns) noexcept {
  int answer = begun_ ? kDone : begin(now_ns);
  if (answer != kDone) return answer;
  const int64_t left_ns = kShortest_ns - (now_ns - older_ns_);
  if (left_ns > 0) {
    if (has_values_) return kDone;
    wait(left_ns);
    now_ns += left_ns;
  }
  answer = take(newer_);
  if (answer != kDone) return answer;
  asked_->version = 1;
  asked_->count = static_cast<unsigned>(chosen_.size());
  asked_->older = older_;
  asked_->newer = newer_;
  for (size_t i = 0; i < chosen_.size(); ++i) {
    asked_->metrics[i] = GpmMetric{};
    asked_->metrics[i].id = chosen_[i]->id;
  }
  answer = Library::call(library_->gpm_compute, asked_.get());
  if (answer != kDone) {
    has_values_ = false;
    return answer;
  }
  std::swap(older_, newer_);
  older_ns_ = now_ns;
  has_values_ = true;
  return kDone;
}

int PerformanceMonitor::value(uint32_t number, int64_t* value) const noexcept {
  const GpmMetric& got = asked_->metrics[number];
  if (got.answer != kDone) return got.answer;
  const double scaled = got.value * chosen_[number]->factor;
  if (!(std::fabs(scaled) < 9.2e18))
    return kUnsupported;  // the library's way of saying that it has no number
  *value = std::llround(scaled);
  return kDone;
}

}  // namespace substrata::nvml
