// Samples of a process's instructions, from a counter of cycles or else from the kernel's clock.
#include <substrata/feed.h>
#include <substrata/samples.h>

#include <ctime>
#include <memory>

#include "feed/failure.hpp"
#include "perf_buffer.hpp"

using substrata::feed::fail;
using substrata::feed::guarded;
using substrata::feed::kInvalid;
using substrata::feed::kSystem;
using substrata::pages::Buffer;
using substrata::pages::Sample;
using substrata::pages::threads_of;

struct substrata_samples {
  std::vector<Buffer> buffers;  // one a processor
  std::vector<Sample> samples;
  substrata_publisher* publisher = nullptr;
  uint64_t lost = 0;
  int by = 0;

  ~substrata_samples() { substrata_publisher_close(publisher); }

  int open_publisher() {
    substrata_source_info source{};
    source.struct_size = sizeof source;
    source.kind = SUBSTRATA_SOURCE_LIVE;
    source.name = "os";
    source.summary = "Events of the operating system, as the kernel samples them";
    source.time_base = SUBSTRATA_TIME_REAL;
    source.ticks_per_second = 1'000'000'000;
    if (const int refused = substrata_source_add(&source)) return refused;
    substrata_probe_info probe{};
    probe.struct_size = sizeof probe;
    probe.name = "os.processor-samples";
    probe.text =
        "Instructions at which an observed process is met; initiator the thread, target the processor, "
        "detail "
        "the process";
    probe.source = "os";
    uint32_t number = 0;
    if (const int refused = substrata_probe_add(&probe, &number)) return refused;
    return substrata_publisher_open(number, 1024, &publisher);
  }

  // 0 or errno. Either every thread is sampled or none.
  int open(perf_event_attr attributes, const std::vector<pid_t>& threads, size_t data_bytes) {
    std::vector<Buffer> opened;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int processor = 0; processor < processors; ++processor) {
      Buffer buffer;
      bool off = false;
      for (const pid_t thread : threads) {
        int error = buffer.add(attributes, thread, processor, data_bytes);
        if ((error == EACCES || error == EPERM) && attributes.exclude_kernel == 0) {
          attributes.exclude_kernel = 1;  // time in system calls is then not seen
          error = buffer.add(attributes, thread, processor, data_bytes);
        }
        off = error == ENODEV && processor > 0;
        if (off) break;
        if (error != 0) return error;
      }
      if (!off && !buffer.empty()) opened.push_back(std::move(buffer));
    }
    buffers = std::move(opened);
    return 0;
  }

  void collect() {
    samples.clear();
    lost = 0;
    for (Buffer& buffer : buffers) {
      buffer.drain(samples);
      lost += buffer.lost();
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time < b.time; });
    for (const Sample& sample : samples) {
      substrata_transaction* const slot = substrata_reserve(publisher);
      if (slot == nullptr) return;
      *slot = {};
      slot->time = sample.time;
      slot->site = sample.instruction;
      slot->detail = sample.process;
      slot->initiator = sample.thread;
      slot->target = sample.processor;
      slot->kind = SUBSTRATA_SAMPLE;
      substrata_commit(publisher);
    }
  }
};

namespace {

constexpr uint32_t kDefaultFrequency = 1000;
constexpr uint32_t kMostFrequency = 100'000;
constexpr uint32_t kDefaultRingPages = 64;
constexpr uint32_t kMostRingPages = 1u << 16;

int refuse(int error, pid_t process) {
  const char* cure =
      error == EACCES || error == EPERM    ? "the process is another user's, or "
                                             "/proc/sys/kernel/perf_event_paranoid is above 2, or a container "
                                             "forbids perf_event_open; become root or have it allowed"
      : error == EMFILE || error == ENFILE ? "too many files are open; raise the limit (ulimit -n)"
      : error == EINVAL ? "the frequency is above /proc/sys/kernel/perf_event_max_sample_rate; ask for less"
      : error == ENOSYS || error == ENOENT ? "this kernel has no perf events"
                                           : "ask for a smaller buffer or another process";
  return fail(kSystem, "process %d cannot be sampled: %s; %s", static_cast<int>(process),
              std::strerror(error), cure);
}

}  // namespace

extern "C" {

int substrata_samples_start(const substrata_samples_options* options, substrata_samples** out) {
  return guarded([&] {
    if (out == nullptr) return fail(kInvalid, "substrata_samples_start needs a place for the handle");
    substrata_samples_options wanted{};
    if (options != nullptr)
      std::memcpy(static_cast<void*>(&wanted), options,
                  std::min<size_t>(options->struct_size, sizeof wanted));
    if (wanted.process < 0 || wanted.ring_pages > kMostRingPages || wanted.frequency > kMostFrequency) {
      return fail(kInvalid,
                  "samples need a process number from 0 on, at most %u samples a second and at most %u pages "
                  "of buffer",
                  kMostFrequency, kMostRingPages);
    }
    const pid_t process = wanted.process == 0 ? getpid() : wanted.process;
    size_t ring_pages = 1;
    while (ring_pages < (wanted.ring_pages == 0 ? kDefaultRingPages : wanted.ring_pages)) ring_pages *= 2;
    const size_t data_bytes = ring_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));

    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.freq = 1;
    attributes.sample_freq = wanted.frequency == 0 ? kDefaultFrequency : wanted.frequency;
    attributes.sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.exclude_hv = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC_RAW;
    attributes.enable_on_exec = (wanted.flags & SUBSTRATA_SAMPLES_FROM_EXEC) != 0 ? 1 : 0;

    auto samples = std::make_unique<substrata_samples>();
    if (const int refused = samples->open_publisher()) return refused;
    const std::vector<pid_t> threads = threads_of(process);
    if (threads.empty()) return fail(kInvalid, "there is no process %d", static_cast<int>(process));
    int error = (wanted.flags & SUBSTRATA_SAMPLES_BY_CLOCK) != 0
                    ? ENOENT
                    : samples->open(attributes, threads, data_bytes);
    samples->by = SUBSTRATA_SAMPLES_CYCLES;
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
      attributes.type = PERF_TYPE_SOFTWARE;
      attributes.config = PERF_COUNT_SW_TASK_CLOCK;
      samples->by = SUBSTRATA_SAMPLES_TASK_CLOCK;
      error = samples->open(attributes, threads, data_bytes);
    }
    if (error != 0) return refuse(error, process);
    if (samples->buffers.empty()) return fail(kInvalid, "process %d has ended", static_cast<int>(process));
    if (attributes.enable_on_exec == 0)
      for (const Buffer& buffer : samples->buffers) buffer.enable();
    *out = samples.release();
    return 0;
  });
}

int substrata_samples_by(const substrata_samples* samples) {
  return guarded([&] {
    if (samples == nullptr) return fail(kInvalid, "substrata_samples_by needs a handle");
    return samples->by;
  });
}

int substrata_samples_collect(substrata_samples* samples, uint64_t* lost) {
  return guarded([&] {
    if (samples == nullptr) return fail(kInvalid, "substrata_samples_collect needs a handle");
    samples->collect();
    if (lost != nullptr) *lost = samples->lost;
    return 0;
  });
}

void substrata_samples_stop(substrata_samples* samples) {
  if (samples == nullptr) return;
  for (const Buffer& buffer : samples->buffers) buffer.disable();
  guarded([&] {
    samples->collect();
    return 0;
  });
  delete samples;
}

}  // extern "C"
