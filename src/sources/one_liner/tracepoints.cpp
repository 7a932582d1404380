// Opens tracepoints by their numbers in the kernel's tracing file system.
#include "sources/one_liner/tracepoints.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

#include "base/glob.hpp"
#include "base/parse.hpp"
#include "base/whole_file.hpp"

namespace substrata::one_liner {
namespace {

constexpr client::feed::Source kSystem{"os", "Events of the operating system, as the kernel samples them"};
// Of each processor's buffer: the first that the system allows.
constexpr size_t kPages[] = {1024, 128, 32, 8};

std::string events_folder() {
  for (const char* const folder : {"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"})
    if (::access((std::string(folder) + "/raw_syscalls").c_str(), R_OK | X_OK) == 0) return folder;
  throw std::runtime_error(
      "the kernel's tracepoints cannot be read: as root, mount -t tracefs none /sys/kernel/tracing, and let "
      "this user "
      "read it");
}

std::string reason(int error) {
  return std::strerror(error) +
         std::string(error == EACCES || error == EPERM
                         ? "; tracepoints need CAP_PERFMON, or /proc/sys/kernel/perf_event_paranoid of -1"
                         : "");
}

perf_event_attr wanted(uint64_t id) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = PERF_TYPE_TRACEPOINT;
  event.config = id;
  event.sample_period = 1;
  event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
  event.inherit = 1;
  event.disabled = 1;
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC_RAW;
  return event;
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

std::string Tracepoints::open(const std::string& patterns) {
  try {
    if (any_glob(patterns, "os.system-calls")) {
      add("raw_syscalls", "sys_enter", What::kCallBegin);
      add("raw_syscalls", "sys_exit", What::kCallEnd);
      open_publisher(
          "os.system-calls",
          "System calls; initiator the thread, detail the call's number, address its first argument, size "
          "what it returned where that is positive, target the error's number");
    }
    for (const std::string& pattern : split(patterns, ',')) {
      constexpr std::string_view kBegin = "tracepoint.";
      const size_t dot = pattern.find('.', kBegin.size());
      if (!pattern.starts_with(kBegin)) continue;
      if (dot == std::string::npos || pattern.find_first_of("*?") != std::string::npos)
        throw std::runtime_error(
            "a tracepoint is named tracepoint.CATEGORY.NAME, as tracepoint.sched.sched_switch");
      add(pattern.substr(kBegin.size(), dot - kBegin.size()), pattern.substr(dot + 1), What::kOther);
      open_publisher(pattern.c_str(),
                     "A tracepoint of the kernel; initiator the thread, target the processor, size, "
                     "detail and address its first integers");
    }
    if (!points_.empty()) open_buffers();
  } catch (const std::runtime_error& error) {
    points_.clear();
    return error.what();
  }
  return {};
}

void Tracepoints::add(const std::string& category, const std::string& name, What what) {
  const std::string folder = events_folder() + "/" + category + "/" + name;
  uint64_t id = 0;
  if (!parse_number(std::string(trimmed(contents_of(folder + "/id"))), &id) || id > UINT16_MAX)
    throw std::runtime_error("there is no tracepoint " + category + ":" + name +
                             " here; /sys/kernel/tracing/available_events lists those of this kernel");
  points_.push_back({static_cast<uint16_t>(id), what, pages::RawFields::of(contents_of(folder + "/format")),
                     publishers_.size()});
}

void Tracepoints::open_publisher(const char* probe, const char* text) {
  client::feed::Publisher publisher;
  if (kSystem.try_publisher(probe, text, 0, &publisher) != 0)
    throw std::runtime_error(substrata_feed_error());
  publishers_.push_back(std::move(publisher));
}

void Tracepoints::open_buffers() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  int error = 0;
  for (const size_t pages : kPages) {
    std::vector<pages::Buffer> opened;
    error = 0;
    for (int processor = 0; processor < sysconf(_SC_NPROCESSORS_CONF) && error == 0; ++processor) {
      pages::Buffer buffer;
      for (const Point& point : points_) {
        for (const pid_t thread : pages::threads_of(getpid())) {
          perf_event_attr event = wanted(point.id);
          if (error == 0) error = buffer.add(event, nullptr, thread, processor, pages * page);
        }
      }
      if (error == ENODEV && processor > 0) error = 0;  // it is off
      if (!buffer.empty()) opened.push_back(std::move(buffer));
    }
    if (error == 0) {
      buffers_ = std::move(opened);
      return;
    }
  }
  throw std::runtime_error(reason(error));
}

void Tracepoints::collect() {
  const uint64_t horizon = now_ns();
  for (pages::Buffer& each : buffers_) {
    each.drain_as<pages::RawSample>([&](const pages::RawSample& sample, size_t size) {
      // A process that it starts is observed by itself.
      if (sample.head.header.type == PERF_RECORD_SAMPLE && sample.head.process == process_ &&
          sample.head.thread != ignored_)
        kept_.push_back({sample, sample.bytes(size)});
    });
  }
  const auto later = std::stable_partition(
      kept_.begin(), kept_.end(), [&](const Record& each) { return each.sample.head.time <= horizon; });
  std::stable_sort(kept_.begin(), later,
                   [](const Record& a, const Record& b) { return a.sample.head.time < b.sample.head.time; });
  std::for_each(kept_.begin(), later, [this](const Record& each) { publish(each); });
  kept_.erase(kept_.begin(), later);
}

void Tracepoints::publish(const Record& record) {
  const pages::RawSample& sample = record.sample;
  uint16_t id = 0;
  if (record.bytes < sizeof id) return;
  std::memcpy(&id, sample.raw, sizeof id);
  const auto point =
      std::find_if(points_.begin(), points_.end(), [&](const Point& each) { return each.id == id; });
  if (point == points_.end()) return;
  const client::feed::Publisher& publisher = publishers_[point->publisher];
  if (point->what == What::kCallBegin) {
    calls_.begin(sample, record.bytes);
  } else if (point->what == What::kCallEnd) {
    calls_.end(sample, record.bytes, [&](const substrata_transaction& call) { publisher.publish(call); });
  } else {
    substrata_transaction event{};
    event.time = sample.head.time;
    event.initiator = sample.head.thread;
    event.target = sample.head.processor;
    event.kind = SUBSTRATA_TRACEPOINT;
    event.detail = point->fields.detail.of(sample, record.bytes);
    event.address = point->fields.address.of(sample, record.bytes);
    event.size =
        static_cast<uint32_t>(std::min<uint64_t>(point->fields.size.of(sample, record.bytes), UINT32_MAX));
    publisher.publish(event);
  }
}

void Tracepoints::enable() const {
  for (const pages::Buffer& each : buffers_) each.enable();
}

void Tracepoints::disable() const {
  for (const pages::Buffer& each : buffers_) each.disable();
}

uint64_t Tracepoints::lost() const {
  uint64_t sum = 0;
  for (const pages::Buffer& each : buffers_) sum += each.lost();
  return sum;
}

}  // namespace substrata::one_liner
