// Owl, section 4: a sampling profiler inside a capsule, beside the kernel's own samples of the same page faults.
#include <linux/perf_event.h>
#include <substrata/feed.h>
#include <substrata/pages.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <substrata/owl.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

#include "papers/claims.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

using owl_monitor::Capsule;
using owl_monitor::Packet;

constexpr uint64_t kPeriod = 7;
constexpr size_t kRound = 512;  // faults until the buffers are read
// Mutant.
constexpr char kOtherPeriod[] = "period=8";

// Instruction and data address of each sample.
using Samples = std::vector<std::pair<uint64_t, uint64_t>>;

// What the kernel samples of the calling thread's page faults, without this project's sources.
class KernelSamples {
 public:
  KernelSamples() {
    perf_event_attr wanted{};
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_SOFTWARE;
    wanted.config = PERF_COUNT_SW_PAGE_FAULTS;
    wanted.sample_period = kPeriod;
    wanted.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
    wanted.disabled = 1;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (file_ < 0) throw std::runtime_error(std::string("perf_event_open: ") + std::strerror(errno));
    void* const at = mmap(nullptr, page_ + kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) {
      const int error = errno;
      close(file_);
      throw std::runtime_error(std::string("mmap of the kernel's samples: ") + std::strerror(error));
    }
    head_ = static_cast<perf_event_mmap_page*>(at);
    buffer_ = static_cast<const unsigned char*>(at) + page_;
    end();
  }
  ~KernelSamples() {
    munmap(head_, page_ + kBytes);
    close(file_);
  }
  KernelSamples(const KernelSamples&) = delete;
  KernelSamples& operator=(const KernelSamples&) = delete;
  void begin() { ioctl(file_, PERF_EVENT_IOC_ENABLE, 0); }
  void end() { ioctl(file_, PERF_EVENT_IOC_DISABLE, 0); }
  void take(Samples& into) {
    const uint64_t until = __atomic_load_n(&head_->data_head, __ATOMIC_ACQUIRE);
    while (tail_ != until) {
      perf_event_header header{};
      copy(&header, tail_, sizeof header);
      if (header.type == PERF_RECORD_SAMPLE) {
        uint64_t words[2];
        copy(words, tail_ + sizeof header, sizeof words);
        into.emplace_back(words[0], words[1]);
      } else if (header.type == PERF_RECORD_LOST) {
        throw std::runtime_error("the kernel lost samples");
      }
      tail_ += header.size;
    }
    __atomic_store_n(&head_->data_tail, tail_, __ATOMIC_RELEASE);
  }

 private:
  static constexpr size_t kBytes = 8 * 4096;
  void copy(void* to, uint64_t from, size_t bytes) const {
    for (size_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(to)[i] = buffer_[(from + i) % kBytes];
  }
  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  int file_ = -1;
  perf_event_mmap_page* head_ = nullptr;
  const unsigned char* buffer_ = nullptr;
  uint64_t tail_ = 0;
};

// Pages that fault in once.
class Pages {
 public:
  explicit Pages(size_t count) : bytes_(count * 4096) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no memory for the pages");
    madvise(at, bytes_, MADV_NOHUGEPAGE);
    first_ = static_cast<volatile unsigned char*>(at);
  }
  ~Pages() { munmap(const_cast<unsigned char*>(first_), bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void touch(size_t page) { first_[page * 4096] = 1; }
  bool holds(uint64_t address) const { return address - reinterpret_cast<uint64_t>(first_) < bytes_; }

 private:
  const size_t bytes_;
  volatile unsigned char* first_ = nullptr;
};

struct PageFaults {
  PageFaults() {
    if (substrata_page_faults_start(nullptr, &faults) != 0) throw std::runtime_error(substrata_feed_error());
  }
  ~PageFaults() { substrata_page_faults_stop(faults); }
  PageFaults(const PageFaults&) = delete;
  PageFaults& operator=(const PageFaults&) = delete;
  void collect() {
    uint64_t lost = 0;
    if (substrata_page_faults_collect(faults, &lost) != 0) throw std::runtime_error(substrata_feed_error());
    if (lost != 0) throw std::runtime_error("page faults were lost");
    substrata_flush();
  }
  substrata_page_faults* faults = nullptr;
};

Samples of_pages(const Samples& all, const Pages& pages) {
  Samples kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept),
               [&](const auto& sample) { return pages.holds(sample.second); });
  std::sort(kept.begin(), kept.end());
  return kept;
}

// The capsule has counted the faults of the making: others until a period of it ends, where the kernel's begins.
void complete_period(const Capsule& capsule, PageFaults& faults) {
  constexpr size_t kMostRounds = 16;
  Pages spare(kMostRounds * kPeriod);
  size_t touched = 0;
  for (size_t round = 0; round < kMostRounds; ++round) {
    faults.collect();
    const uint64_t begun = capsule.metric("TRANSACTIONS") % kPeriod;
    if (begun == 0) return;
    for (uint64_t i = begun; i < kPeriod; ++i) spare.touch(touched++);
  }
  throw std::runtime_error("pages fault all the time");
}

// The first of two runs brings in what both need, so that in the second only the pages fault.
Reading differences(const Case& one) {
  Reading found{};
  for (int run = 0; run < 2; ++run) {
    std::mt19937_64 random(one.seed);
    std::vector<size_t> order(one.size.amount);
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    Pages pages(order.size());
    Samples by_kernel, by_capsule;
    by_kernel.reserve(order.size());
    by_capsule.reserve(order.size());
    PageFaults faults;
    const Capsule capsule("os.page-faults", "sampler",
                          one.setting == kOtherPeriod ? kOtherPeriod : "period=" + std::to_string(kPeriod),
                          uint64_t{1} << 24, "owl-profiler");
    auto reader = capsule.reader();
    KernelSamples kernel;
    complete_period(capsule, faults);
    kernel.begin();
    for (size_t i = 0; i < order.size(); ++i) {
      pages.touch(order[i]);
      if (i % kRound != kRound - 1) continue;
      kernel.take(by_kernel);
      faults.collect();
    }
    kernel.end();
    kernel.take(by_kernel);
    faults.collect();
    Packet packet;
    while (reader.next(packet)) {
      substrata_transaction t;
      if (packet.data.size() != sizeof t) throw std::runtime_error("a sample has another length");
      std::memcpy(&t, packet.data.data(), sizeof t);
      by_capsule.emplace_back(t.site, t.address);
    }
    const Samples ours = of_pages(by_capsule, pages), theirs = of_pages(by_kernel, pages);
    if (theirs.empty()) throw std::runtime_error("the kernel sampled no page fault");
    Samples apart;
    std::set_symmetric_difference(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                                  std::back_inserter(apart));
    found = {static_cast<double>(apart.size()), std::to_string(theirs.size()) + " samples of the kernel, " +
                                                    std::to_string(ours.size()) + " of the capsule"};
  }
  return found;
}

Readings measure(const Case& one) {
  start_library();
  Readings found;
  found["samples"] = differences(one);
  return found;
}

}  // namespace

extern const Reproduction owl_profiler = stated(
    "owl-profiler", "Schulz et al., section 4: a sampling profiler beside the kernel's samples", measure);

}  // namespace substrata::papers
