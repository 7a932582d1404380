// The kernel's buffer of samples of one processor: opened for threads, emptied in whole records.
#pragma once

#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/parse.hpp"
#include "base/sample_ring.hpp"
#include "sources/observation/raw_samples.hpp"

namespace substrata::pages {

// What the kernel writes for PERF_SAMPLE_IP | TID | TIME | ADDR | CPU, in its order, and DATA_SRC where it is asked
// for.
struct Sample {
  perf_event_header header;
  uint64_t instruction;
  uint32_t process;
  uint32_t thread;
  uint64_t time;
  uint64_t address;
  uint32_t processor;
  uint32_t reserved;
  uint64_t data_source;  // union perf_mem_data_src; 0 where it was not asked for
};
inline constexpr size_t kLeastSample = offsetof(Sample, data_source);
// PERF_RECORD_SWITCH with PERF_SAMPLE_TID | TIME | CPU behind it.
using SwitchRecord = RecordHead;

// One processor's events, all writing into the first one's buffer.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : descriptors_(std::move(other.descriptors_)),
        leaders_(std::move(other.leaders_)),
        memory_(std::exchange(other.memory_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        lost_in_records_(other.lost_in_records_),
        counts_lost_(other.counts_lost_) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    for (const int descriptor : descriptors_) close(descriptor);
    for (const int descriptor : leaders_) close(descriptor);
  }

  // 0 or errno. A thread that is gone is not a failure. `leader`: an event that must count in its group, or null.
  int add(perf_event_attr& attributes, perf_event_attr* leader, pid_t thread, int processor,
          size_t data_bytes) {
    if (leader == nullptr) return add(attributes, thread, processor, data_bytes, -1);
    const int group = open_event(leader, thread, processor, -1);
    if (group < 0) return errno == ESRCH ? 0 : errno;
    const int error = add(attributes, thread, processor, data_bytes, group);
    if (error == 0)
      leaders_.push_back(group);
    else
      close(group);
    return error;
  }
  void enable() const { control(PERF_EVENT_IOC_ENABLE); }
  void disable() const { control(PERF_EVENT_IOC_DISABLE); }
  bool empty() const { return descriptors_.empty(); }

  // Samples so far that did not fit.
  uint64_t lost() const {
    if (!counts_lost_) return lost_in_records_;
    uint64_t sum = 0;
    for (const int descriptor : descriptors_) {
      uint64_t words[2] = {};  // the event's count, and what was lost
      if (read(descriptor, words, sizeof words) == static_cast<ssize_t>(sizeof words)) sum += words[1];
    }
    return sum;
  }

  // Takes everything out.
  void drain(std::vector<Sample>& to) {
    if (memory_ == nullptr) return;
    auto* const page = static_cast<perf_event_mmap_page*>(memory_);
    take_records({page, static_cast<const unsigned char*>(memory_) + page->data_offset}, to,
                 lost_in_records_);
  }

  // Takes everything out; `take` is given each record, its first `Record` bytes, and its size.
  template <typename Record, typename Take>
  void drain_as(const Take& take) {
    if (memory_ == nullptr) return;
    const SampleRing ring = SampleRing::of(static_cast<perf_event_mmap_page*>(memory_));
    const uint64_t head = ring.head();
    union {
      Record record;
      LostSamples lost;
    } each;
    while (const size_t size = ring.take(head, &each, sizeof each)) {
      if (each.lost.header.type == PERF_RECORD_LOST && size >= sizeof(LostSamples))
        lost_in_records_ += each.lost.lost;
      else
        take(each.record, size);
    }
    ring.give_back(head);
  }

  // Takes the records out of a ring; what follows a record that cannot be one is left out.
  static void take_records(const SampleRing& ring, std::vector<Sample>& to, uint64_t& lost) {
    union {
      Sample sample;
      LostSamples lost;
      SwitchRecord change;
    } record;
    const uint64_t head = ring.head();
    while (const size_t size = ring.take(head, &record, sizeof record)) {
      if (record.sample.header.type == PERF_RECORD_SAMPLE && size >= kLeastSample) {
        if (size < sizeof(Sample)) record.sample.data_source = 0;
        to.push_back(record.sample);
      }
      if (record.sample.header.type == PERF_RECORD_SWITCH && size >= sizeof(SwitchRecord)) {
        const SwitchRecord change = record.change;
        to.push_back(
            {change.header, 0, change.process, change.thread, change.time, 0, change.processor, 0, 0});
      }
      if (record.sample.header.type == PERF_RECORD_LOST && size >= sizeof(LostSamples))
        lost += record.lost.lost;
    }
    ring.give_back(head);
  }

 private:
  static int open_event(perf_event_attr* event, pid_t thread, int processor, int group) {
    return static_cast<int>(
        syscall(SYS_perf_event_open, event, thread, processor, group, PERF_FLAG_FD_CLOEXEC));
  }

  int add(perf_event_attr& attributes, pid_t thread, int processor, size_t data_bytes, int group) {
    const auto opened = [&] { return open_event(&attributes, thread, processor, group); };
    // Since Linux 6.0 an event counts its samples that did not fit; before, only records in the
    // buffer do, and one is written only with the next sample that fits.
    if (descriptors_.empty()) attributes.read_format = PERF_FORMAT_LOST;
    int descriptor = opened();
    if (descriptor < 0 && errno == EINVAL && attributes.read_format != 0) {
      attributes.read_format = 0;
      descriptor = opened();
    }
    if (descriptor < 0) return errno == ESRCH ? 0 : errno;
    counts_lost_ = attributes.read_format != 0;
    if (memory_ == nullptr) {
      const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
      void* memory = mmap(nullptr, page + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      if (memory == MAP_FAILED) {
        const int error = errno;
        close(descriptor);
        return error;
      }
      memory_ = memory;
      bytes_ = page + data_bytes;
    } else if (ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, descriptors_[0]) != 0) {
      const int error = errno;
      close(descriptor);
      return error;
    }
    descriptors_.push_back(descriptor);
    return 0;
  }

  void control(unsigned long request) const {
    for (const int descriptor : descriptors_) ioctl(descriptor, request, 0);
    for (const int descriptor : leaders_) ioctl(descriptor, request, 0);
  }

  std::vector<int> descriptors_;
  std::vector<int> leaders_;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  uint64_t lost_in_records_ = 0;
  bool counts_lost_ = false;
};

// The threads that a process has now; empty: there is no such process.
inline std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> out;
  const std::string path = "/proc/" + std::to_string(process) + "/task";
  if (DIR* folder = opendir(path.c_str())) {
    while (const dirent* entry = readdir(folder))
      if (pid_t thread = 0; parse_number(entry->d_name, &thread)) out.push_back(thread);
    closedir(folder);
  }
  return out;
}

}  // namespace substrata::pages
