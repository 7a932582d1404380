// Page faults with addresses, from the kernel's software event with a sample at every fault.
#include <linux/perf_event.h>
#include <substrata/feed.h>
#include <substrata/pages.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "feed/failure.hpp"
#include "perf_buffer.hpp"

using substrata::feed::fail;
using substrata::feed::guarded;
using substrata::feed::kInvalid;
using substrata::feed::kSystem;
using substrata::pages::Buffer;
using substrata::pages::Sample;
using substrata::pages::threads_of;

namespace {

constexpr uint32_t kDefaultRingPages = 64;
constexpr uint32_t kMostRingPages = 1u << 16;

int refuse(int error, pid_t process) {
  const char* cure =
      error == EACCES || error == EPERM    ? "the process is another user's, or "
                                             "/proc/sys/kernel/perf_event_paranoid is above 2, or a container "
                                             "forbids perf_event_open; become root or have it allowed"
      : error == EMFILE || error == ENFILE ? "too many files are open; raise the limit (ulimit -n)"
      : error == ENOSYS || error == ENOENT ? "this kernel has no perf events"
                                           : "ask for a smaller buffer or another process";
  return fail(kSystem, "page faults of process %d cannot be observed: %s; %s", static_cast<int>(process),
              std::strerror(error), cure);
}

}  // namespace

struct substrata_page_faults {
  std::vector<Buffer> buffers;  // one a processor
  std::vector<Sample> samples;
  substrata_publisher* publisher = nullptr;
  uint64_t lost = 0;

  ~substrata_page_faults() { substrata_publisher_close(publisher); }

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
    probe.name = "os.page-faults";
    probe.text =
        "Page faults of an observed process; initiator the thread, target the processor, detail the process";
    probe.source = "os";
    uint32_t number = 0;
    if (const int refused = substrata_probe_add(&probe, &number)) return refused;
    return substrata_publisher_open(number, 1024, &publisher);
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
    const auto page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    for (const Sample& sample : samples) {
      substrata_transaction* const slot = substrata_reserve(publisher);
      if (slot == nullptr) return;
      *slot = {};
      slot->time = sample.time;
      slot->address = sample.address;
      slot->site = sample.instruction;
      slot->detail = sample.process;
      slot->initiator = sample.thread;
      slot->target = sample.processor;
      slot->size = page;
      slot->kind = SUBSTRATA_PAGE_FAULT;
      substrata_commit(publisher);
    }
  }
};

extern "C" {

int substrata_page_faults_start(const substrata_page_faults_options* options, substrata_page_faults** out) {
  return guarded([&] {
    if (out == nullptr) return fail(kInvalid, "substrata_page_faults_start needs a place for the handle");
    substrata_page_faults_options wanted{};
    if (options != nullptr)
      std::memcpy(static_cast<void*>(&wanted), options,
                  std::min<size_t>(options->struct_size, sizeof wanted));
    if (wanted.process < 0 || wanted.ring_pages > kMostRingPages)
      return fail(kInvalid, "page faults need a process number from 0 on and at most %u pages of buffer",
                  kMostRingPages);
    const pid_t process = wanted.process == 0 ? getpid() : wanted.process;
    size_t ring_pages = 1;
    while (ring_pages < (wanted.ring_pages == 0 ? kDefaultRingPages : wanted.ring_pages)) ring_pages *= 2;
    const size_t data_bytes = ring_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));

    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
    attributes.sample_period = 1;
    attributes.sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.exclude_hv = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC_RAW;
    attributes.enable_on_exec = (wanted.flags & SUBSTRATA_PAGE_FAULTS_FROM_EXEC) != 0 ? 1 : 0;

    auto faults = std::make_unique<substrata_page_faults>();
    if (const int refused = faults->open_publisher()) return refused;
    const std::vector<pid_t> threads = threads_of(process);
    if (threads.empty()) return fail(kInvalid, "there is no process %d", static_cast<int>(process));
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int processor = 0; processor < processors; ++processor) {
      Buffer buffer;
      for (const pid_t thread : threads) {
        int error = buffer.add(attributes, thread, processor, data_bytes);
        if ((error == EACCES || error == EPERM) && attributes.exclude_kernel == 0) {
          attributes.exclude_kernel = 1;  // faults on behalf of system calls are then not seen
          error = buffer.add(attributes, thread, processor, data_bytes);
        }
        if (error == ENODEV) continue;  // a processor that is off
        if (error != 0) return refuse(error, process);
      }
      if (!buffer.empty()) faults->buffers.push_back(std::move(buffer));
    }
    if (faults->buffers.empty()) return fail(kInvalid, "process %d has ended", static_cast<int>(process));
    if (attributes.enable_on_exec == 0)
      for (const Buffer& buffer : faults->buffers) buffer.enable();
    *out = faults.release();
    return 0;
  });
}

int substrata_page_faults_collect(substrata_page_faults* faults, uint64_t* lost) {
  return guarded([&] {
    if (faults == nullptr) return fail(kInvalid, "substrata_page_faults_collect needs a handle");
    faults->collect();
    if (lost != nullptr) *lost = faults->lost;
    return 0;
  });
}

void substrata_page_faults_stop(substrata_page_faults* faults) {
  if (faults == nullptr) return;
  for (const Buffer& buffer : faults->buffers) buffer.disable();
  guarded([&] {
    faults->collect();
    return 0;
  });
  delete faults;
}

}  // extern "C"
