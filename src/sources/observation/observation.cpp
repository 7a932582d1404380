// Opens the kernel's events on every processor, and publishes their samples in the order of their times.
#include "sources/observation/observation.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <ctime>

#include "base/error.hpp"

namespace substrata::pages {
namespace {

constexpr uint32_t kDefaultRingPages = 64;

}  // namespace

perf_event_attr sampled_event(uint32_t type, uint64_t config, bool from_exec) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.sample_type =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC_RAW;
  attributes.enable_on_exec = from_exec ? 1 : 0;
  return attributes;
}

int refuse_observation(int error, const char* what, pid_t process, const char* cannot) {
  const char* cure =
      error == EACCES || error == EPERM    ? "the process is another user's, or "
                                             "/proc/sys/kernel/perf_event_paranoid is above 2, or a container "
                                             "forbids perf_event_open; become root or have it allowed"
      : error == EMFILE || error == ENFILE ? "too many files are open; raise the limit (ulimit -n)"
      : error == EINVAL ? "the frequency is above /proc/sys/kernel/perf_event_max_sample_rate; ask for less"
      : error == ENOSYS || error == ENOENT ? "this kernel has no perf events"
                                           : "ask for a smaller buffer or another process";
  return fail(Code::kSystem, "%s %d cannot be %s: %s; %s", what, static_cast<int>(process), cannot,
              std::strerror(error), cure);
}

int Observation::open_probe(const char* name, const char* text) {
  constexpr client::feed::Source kSystem{"os", "Events of the operating system, as the kernel samples them"};
  return kSystem.try_publisher(name, text, 1024, &publisher_);
}

int Observation::open(Wanted wanted, const std::vector<pid_t>& threads, uint32_t ring_pages) {
  size_t pages = 1;
  while (pages < (ring_pages == 0 ? kDefaultRingPages : ring_pages)) pages *= 2;
  const size_t data_bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<Buffer> opened;
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  perf_event_attr* const leader = wanted.leader ? &*wanted.leader : nullptr;
  for (int processor = 0; processor < processors; ++processor) {
    if (!wanted.processors.empty() &&
        std::find(wanted.processors.begin(), wanted.processors.end(), processor) == wanted.processors.end())
      continue;
    Buffer buffer;
    bool off = false;
    for (const pid_t thread : threads) {
      int error = buffer.add(wanted.event, leader, thread, processor, data_bytes);
      if ((error == EACCES || error == EPERM) && wanted.event.exclude_kernel == 0 &&
          wanted.takes_exclusions) {
        wanted.event.exclude_kernel = 1;  // what happens in system calls is then not seen
        if (leader != nullptr) leader->exclude_kernel = 1;
        error = buffer.add(wanted.event, leader, thread, processor, data_bytes);
      }
      off = error == ENODEV && processor > 0;
      if (off) break;
      if (error != 0) return error;
    }
    if (!off && !buffer.empty()) opened.push_back(std::move(buffer));
  }
  buffers_ = std::move(opened);
  return 0;
}

void Observation::enable() const {
  for (const Buffer& buffer : buffers_) buffer.enable();
}

void Observation::disable() const {
  for (const Buffer& buffer : buffers_) buffer.disable();
}

void Observation::collect(bool (*fill)(const Sample&, substrata_transaction&)) {
  samples_.clear();
  lost_ = 0;
  for (Buffer& buffer : buffers_) {
    buffer.drain(samples_);
    lost_ += buffer.lost();
  }
  std::stable_sort(samples_.begin(), samples_.end(),
                   [](const Sample& a, const Sample& b) { return a.time < b.time; });
  publish(samples_, fill);
}

void Observation::publish(const std::vector<Sample>& samples,
                          bool (*fill)(const Sample&, substrata_transaction&)) {
  for (const Sample& sample : samples) {
    substrata_transaction* const slot = publisher_.reserve();
    if (slot == nullptr) return;
    *slot = {};
    slot->time = sample.time;
    slot->site = sample.instruction;
    slot->detail = sample.process;
    slot->initiator = sample.thread;
    slot->target = sample.processor;
    if (fill(sample, *slot)) publisher_.commit();
  }
}

}  // namespace substrata::pages
