// Opens the kernel's records of switches, which need no right to see the kernel.
#include "sources/one_liner/switches.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace substrata::one_liner {
namespace {

constexpr size_t kPages = 32;  // of each processor: 4,096 switches between two calls of collect()

perf_event_attr wanted() {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_DUMMY;
  event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  event.sample_id_all = 1;
  event.context_switch = 1;
  event.inherit = 1;
  event.disabled = 1;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC_RAW;
  return event;
}

std::string reason(int error) {
  return std::strerror(error) +
         std::string(
             error == EACCES || error == EPERM
                 ? "; /proc/sys/kernel/perf_event_paranoid is above 2, or a container forbids perf_event_open"
             : error == EINVAL ? "; this kernel has no records of switches (Linux 4.3)"
                               : "");
}

}  // namespace

std::string Switches::open() {
  constexpr client::feed::Source kSystem{"os", "Events of the operating system, as the kernel samples them"};
  if (kSystem.try_publisher(
          "os.switches",
          "Times that a thread was off its processor; initiator the thread, target the processor on "
          "which it went on, detail 1 where it was preempted",
          256, &publisher_) != 0)
    return substrata_feed_error();
  const size_t bytes = kPages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<pages::Buffer> opened;
  for (int processor = 0; processor < sysconf(_SC_NPROCESSORS_CONF); ++processor) {
    pages::Buffer buffer;
    int error = 0;
    for (const pid_t thread : pages::threads_of(getpid())) {
      perf_event_attr event = wanted();
      error = buffer.add(event, nullptr, thread, processor, bytes);
      if (error != 0) break;
    }
    if (error == ENODEV && processor > 0) continue;  // it is off
    if (error != 0) return reason(error);
    if (!buffer.empty()) opened.push_back(std::move(buffer));
  }
  for (const pages::Buffer& each : opened) each.enable();
  buffers_ = std::move(opened);
  return {};
}

void Switches::collect() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  records_.clear();
  for (pages::Buffer& each : buffers_) each.drain(records_);
  std::erase_if(records_, [this](const pages::Sample& each) { return each.thread == ignored_; });
  waits_.take(records_,
              static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec),
              [&](const substrata_transaction& wait) { publisher_.publish(wait); });
}

uint64_t Switches::lost() const {
  uint64_t sum = 0;
  for (const pages::Buffer& each : buffers_) sum += each.lost();
  return sum;
}

}  // namespace substrata::one_liner
