// The substrate `topdown`: which part of its issue slots the processor uses, and what becomes of the others, under
// PAPI's names, from one group of counters of the calling thread.
#include "topdown/topdown.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "perf_events/note.hpp"
#include "sysfs/sampled_slots.hpp"
#include "topdown/methods.hpp"

namespace {

using namespace substrata;
using perf::Kernel;
using topdown::Method;
using topdown::Share;

constexpr uint32_t kMostCounters = topdown::kMostCounters;

// The counters that one set needs, in one group so that they count together, of the thread that starts it.
class Group : public sysfs::LevelSampler {
 public:
  Group() noexcept = default;
  Group(const Method* method, const Kernel* kernel) noexcept : method_(method), kernel_(kernel) {}
  Group(Group&& other) noexcept { *this = std::move(other); }
  Group& operator=(Group&& other) noexcept {
    std::swap(method_, other.method_);
    std::swap(kernel_, other.kernel_);
    std::swap(shares_, other.shares_);
    std::swap(counters_, other.counters_);
    std::swap(files_, other.files_);
    std::swap(opened_, other.opened_);
    std::swap(thread_, other.thread_);
    std::swap(base_, other.base_);
    std::swap(runs_, other.runs_);
    return *this;
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { close(); }

  void add(const Share* share) {
    shares_.push_back(share);
    counters_ |= 1 | share->needs;
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(shares_.size()); }

  Status begin(int64_t* raw) noexcept {
    if (const int error = open(); error != 0) return refused(error);
    if (!runs_ && size() > 0)
      if (const int error = control(PERF_EVENT_IOC_ENABLE); error != 0) return refused(error);
    runs_ = true;
    if (const Status status = take(&base_); !status.ok()) return status;
    for (uint32_t i = 0; i < size(); ++i) raw[i] = std::bit_cast<int64_t>(0.0);
    return kSuccess;
  }

  Status sample(int64_t* raw) noexcept {
    std::array<double, kMostCounters> grown{};
    if (runs_) {
      std::array<uint64_t, kMostCounters> now{};
      if (const Status status = take(&now); !status.ok()) return status;
      for (uint32_t i = 0; i < kMostCounters; ++i) grown[i] = static_cast<double>(now[i] - base_[i]);
    }
    for (uint32_t i = 0; i < size(); ++i) {
      double value = 0;
      if (!shares_[i]->percent(grown.data(), method_->width, &value)) value = 0;  // no slot yet
      raw[i] = std::bit_cast<int64_t>(value);
    }
    return kSuccess;
  }

  void end() noexcept {
    if (runs_ && size() > 0) control(PERF_EVENT_IOC_DISABLE);
    runs_ = false;
  }

  // Opens the counters for the calling thread, if that is not done. 0, or errno.
  int open() noexcept {
    if (opened_ > 0 && thread_ == gettid()) return 0;
    close();
    for (uint32_t i = 0; i < method_->counters.size(); ++i) {
      if ((counters_ & (1u << i)) == 0) continue;
      perf_event_attr attr = method_->counters[i];
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      attr.disabled = opened_ == 0 ? 1 : 0;
      const int leader = opened_ == 0 ? -1 : files_[0];
      const int file = kernel_->open(kernel_->context, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
      if (file < 0) {
        close();
        return -file;
      }
      files_[opened_++] = file;
    }
    thread_ = gettid();
    return 0;
  }

 private:
  void close() noexcept {
    while (opened_ > 0) kernel_->close(kernel_->context, files_[--opened_]);
    runs_ = false;
  }

  int control(unsigned long what) noexcept {
    return -kernel_->control(kernel_->context, files_[0], what, PERF_IOC_FLAG_GROUP);
  }

  Status refused(int error) const noexcept {
    return guarded([&] {
      return refuse(perf::code_of_refusal(error), error,
                    "the counters of top-down analysis: " + perf::explain_refusal("", error, true));
    });
  }

  // The counters by their numbers, in one call.
  Status take(std::array<uint64_t, kMostCounters>* values) noexcept {
    if (size() == 0) return kSuccess;
    std::array<uint64_t, 3 + kMostCounters> words{};
    const ssize_t got = perf::read_words(*kernel_, files_[0], words.data(), sizeof words);
    if (got < 0) return refused(static_cast<int>(-got));
    if (got < static_cast<ssize_t>((3 + opened_) * sizeof words[0]) || (words[1] != 0 && words[2] == 0)) {
      return {Code::kCountersLost, 0,
              "the group of top-down analysis found no counters: others use them (a profiler, the NMI "
              "watchdog), or "
              "the thread ran on an efficiency core, which has none"};
    }
    uint32_t next = 3;
    for (uint32_t i = 0; i < kMostCounters; ++i)
      if ((counters_ & (1u << i)) != 0) (*values)[i] = words[next++];
    return kSuccess;
  }

  const Method* method_ = nullptr;
  const Kernel* kernel_ = nullptr;
  std::vector<const Share*> shares_;
  uint32_t counters_ = 0;  // bit i: counter i of the method
  std::array<int, kMostCounters> files_{};
  uint32_t opened_ = 0;
  pid_t thread_ = 0;  // whose counters are open
  std::array<uint64_t, kMostCounters> base_{};
  bool runs_ = false;
};

class Processor : public sysfs::SampledDevice {
 public:
  Processor(const Host& host, const Kernel& kernel) noexcept : SampledDevice(host), kernel_(kernel) {}
  explicit Processor(const Host& host) noexcept : Processor(host, perf::kernel_of(host.root)) {}

  Status scan() {
    std::string why;
    method_ = topdown::find_method(host_.root, &why);
    if (method_.shares.empty()) return refuse(Code::kNoSupport, 0, why);
    for (const Share& share : method_.shares) {
      sysfs::CatalogueEntry entry;
      entry.name = share.name;
      entry.text = std::string(share.text) + ", by " + method_.source;
      entry.unit = "%";
      entry.type = ValueType::kDouble;
      entry.flags = kEventScopeThread;
      Group group(&method_, &kernel_);
      group.add(&share);
      if (const int error = group.open(); error != 0) {
        entry.flags |= kEventUnavailable;
        entry.refusal = perf::code_of_refusal(error);
        entry.why = perf::explain_refusal(host_.root, error, true);
      }
      catalogue_.add(std::move(entry));
    }
    return kSuccess;
  }

  Status select(const uint32_t* events, uint32_t count, Group* out) const {
    Group group(&method_, &kernel_);
    for (uint32_t i = 0; i < count; ++i) group.add(&method_.shares[events[i]]);
    *out = std::move(group);
    return kSuccess;
  }

 private:
  const Kernel& kernel_;
  Method method_;
};

using Slots = sysfs::SampledSlots<Processor, Group>;

Status detect(const Host* host) noexcept {
  return guarded([&]() -> Status {
    std::string why;
    if (!topdown::find_method(host->root, &why).shares.empty()) return kSuccess;
    return refuse(Code::kNoSupport, 0, why);
  });
}

constexpr SubstrateTable kTable = Slots::table({
    .name = "topdown",
    .summary = "Top-down analysis: what becomes of the processor's issue slots, in percent",
    .version = "1.0",
    .default_domain = kDomainUser,
    .domains = kDomainUser,
    .default_granularity = kGranularityThread,
    .granularities = kGranularityThread,
    .detect = detect,
    .event_names = "TOPDOWN_*_PERC",
});

}  // namespace

Status substrata::topdown::open_over(const Host* host, const perf::Kernel& kernel, Device** out) noexcept {
  return make_scanned<Processor>(out, *host, kernel);
}

SUBSTRATA_PUBLISH(topdown, kTable);
