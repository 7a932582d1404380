// Counts the events of one eventset: opens descriptors, groups them, starts, stops, reads, resets, samples.
#pragma once

#include <substrata/substrate.h>

#include <atomic>
#include <memory>
#include <vector>

#include "perf_events/catalogue.hpp"
#include "perf_events/kernel.hpp"
#include "perf_events/overflow.hpp"

namespace substrata::perf {

// What all sets of one opened substrate share. Thread-compatible; constant after construction.
struct Shared {
  Shared(const Host& host, const Kernel& kernel, std::unique_ptr<Encoder> encoder, PmuKind kind);
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  // Changes with each fork, seen from the child: there the descriptors of older sets are still the parent's
  // and their mapped pages are gone. Signal-safe.
  uint32_t generation() noexcept;
  int64_t now_ns() const noexcept;

  const Host host;
  const Kernel& kernel;
  const PmuKind kind;
  Catalogue catalogue;
  bool user_reads = false;      // mapped pages may be tried
  bool user_read_bits = false;  // the kernel accepts the arm64 request bit

 private:
  void* mark_page_ = nullptr;         // fork wipes it in the child
  std::atomic<int>* mark_ = nullptr;  // 1 on that page, 0 after a fork
  std::atomic<uint32_t> generation_{1};
};

// The bit of perf_event_mmap_page::index - 1 that names a metric instead of a counter (INTEL_PMC_FIXED_RDPMC_METRICS
// in the kernel's arch/x86/include/asm/perf_event.h).
inline constexpr uint32_t kMetricRegister = 1u << 29;

// Reading a running counter through its mapped page (perf_event_mmap_page, Documentation in the kernel's
// include/uapi/linux/perf_event.h). False when the counter is not on the processor now or the page forbids
// it.
bool read_page(const perf_event_mmap_page* page, const Kernel& kernel, uint64_t* value) noexcept;

// The value of a counter that ran `running` of `enabled` nanoseconds, extrapolated to the whole.
int64_t scaled(uint64_t count, uint64_t enabled, uint64_t running) noexcept;

// Thread-bound where its counters follow a thread, else thread-compatible: calls on one set never overlap.
// Signal-safe: read, read_details, take, reset while running.
class EventSet {
 public:
  static constexpr uint32_t kMaxEvents = 64;
  // Of samples, for each armed counter: 512 records of 4096-byte pages. Locked memory, so no more than needed.
  static constexpr uint32_t kRingPages = 2;

  explicit EventSet(Shared& shared) noexcept : shared_(shared) {}
  ~EventSet();
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;

  Status program(const uint32_t* events, uint32_t count);
  Status configure(const Configuration& wanted);
  Status start() noexcept;
  Status stop() noexcept;
  Status read(int64_t* values) noexcept;
  Status read_details(ValueDetail* details) noexcept;
  Status take(int64_t* values) noexcept;
  Status reset() noexcept;
  Status write(const int64_t* values) noexcept;
  Status arm(uint32_t position, int64_t threshold, bool by_data_address, const SampleSink& sink);
  Status disarm(uint32_t position);

 private:
  struct Counter {  // one descriptor
    int descriptor = -1;
    uint32_t position = 0;  // which event of the set it adds to
    int cpu = -1;
    bool counts_time = false;  // its enabled time is the event's; others run beside it (hybrid core types)
    void* page = nullptr;      // for reads without a system call
    void* ring = nullptr;      // the same page with kRingPages of samples behind it
    uint64_t base = 0, base_enabled = 0, base_running = 0;  // what it stood at when counting began
    uint64_t seen = 0, seen_enabled = 0, seen_running = 0;  // the next base, until all counters were read
  };
  struct Group {  // read by one system call when `together`
    uint32_t first = 0, count = 0;
    bool together = false;
  };
  struct Opened {
    std::vector<Counter> counters;
    std::vector<Group> groups;
    bool all_mapped = false;
    bool scales = false;      // the kernel may rotate: values are extrapolated
    uint64_t ticks_mask = 0;  // bit i: event i is the processor's tick counter
    uint32_t generation = 0;
    uint32_t here = 0;   // events of a plain set of the running kernel, without pages to read them from
    bool plain = false;  // one group, one descriptor an event, nothing to extrapolate
    // The kernel's own counts of this thread, which cost nothing while nobody reads them: once started they are left
    // on, and a start or stop is one read.
    bool stays_on = false;

    // Nothing is open, as in a new one; the memory stays.
    void begin() noexcept {
      counters.clear();
      groups.clear();
      all_mapped = scales = plain = stays_on = false;
      ticks_mask = 0;
      generation = here = 0;
    }
  };
  struct Total {
    int64_t value;
    uint64_t enabled, running;
  };
  struct Sampling {
    uint64_t period = 0;  // 0: not armed
    bool by_data_address = false;
    SampleSink sink;
  };

  struct Item {  // a descriptor to be opened
    uint32_t position;
    const Encoding* encoding;
    const Leg* leg;
    int pid, cpu;
    uint32_t group_class;
    bool optional;  // another leg may stand in for it
  };

  Status open_all(const std::vector<uint32_t>& events, const Configuration& configuration,
                  const std::vector<Sampling>& sampling, Opened* out);
  Status list_items(const std::vector<uint32_t>& events, const Configuration& configuration,
                    std::vector<Item>* items, uint64_t* ticks_mask);
  Status open_group(const std::vector<Item>& items, const Configuration& configuration,
                    const std::vector<Sampling>& sampling, bool mappable, Opened* out);
  Status try_group(const Group& group, Opened* out) noexcept;
  void map_counter(Counter* counter, bool readable, bool sampled) const noexcept;
  void unmap_counter(const Counter& counter) const noexcept;
  void close_all(Opened* opened) noexcept;
  Status route_samples(const Opened& opened, const std::vector<Sampling>& sampling);
  void wish_as_it_is();
  Status replace(const Configuration& configuration);
  template <typename Use>
  Status for_each_value(Use use) noexcept;
  template <typename Use>
  Status rebase_plain(Use use) noexcept;
  Status take_totals(Total* totals, bool rebase) noexcept;
  bool pages_count_here() noexcept;
  bool read_pages(int64_t* values) const noexcept;
  bool rebase_by_pages(int64_t* values) noexcept;
  [[gnu::noinline]] Status read_together(int64_t* values) noexcept;
  [[gnu::noinline]] Status read_others(int64_t* values) noexcept;
  [[gnu::noinline]] Status read_totals(int64_t* values) noexcept;
  bool stale() noexcept { return opened_.generation != shared_.generation(); }
  int64_t value_of(const Total& total) const noexcept;
  int64_t ticks_now() const noexcept;
  bool misses_overflows(size_t position) const noexcept;

  Shared& shared_;
  std::vector<uint32_t> events_;
  std::vector<Sampling> sampling_;
  Configuration configuration_{};
  Opened opened_;
  // For the next change, with the memory of the last one: what is wanted, and what is opened for it.
  std::vector<uint32_t> wanted_events_;
  std::vector<Sampling> wanted_sampling_;
  std::vector<Item> items_;
  Opened fresh_;
  int64_t last_[kMaxEvents] = {};      // values of the stopped set
  Total last_total_[kMaxEvents] = {};  // the same with times
  int64_t ticks_base_ = 0;
  const void* owner_ = nullptr;  // the thread whose counters the mapped pages describe
  bool holds_signal_ = false;
  uint64_t lost_before_ = 0;  // overflows of the process, at the start
  bool running_ = false;
  bool left_on_ = false;  // stopped, while the kernel counts on
  bool unread_ = false;   // the last stop could not read, so the bases are of an earlier moment
  bool stopped_by_pages_ =
      false;  // the last stop read before it: the bases are of an earlier moment, and no times are known
};

}  // namespace substrata::perf
