// Counts with the perf descriptors of one eventset: starts, stops, reads, resets.
#include "perf_events/event_set.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/guard.hpp"
#include "perf_events/note.hpp"
#include "perf_events/read_format.hpp"

namespace substrata::perf {
namespace {

// Of the kernel's own events only faults have one; what a processor's event has shows in its samples.
bool has_data_address(const Leg& leg) noexcept {
  if (leg.attr.type != PERF_TYPE_SOFTWARE) return true;
  switch (leg.attr.config) {
    case PERF_COUNT_SW_PAGE_FAULTS:
    case PERF_COUNT_SW_PAGE_FAULTS_MIN:
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ:
    case PERF_COUNT_SW_ALIGNMENT_FAULTS:
    case PERF_COUNT_SW_EMULATION_FAULTS:
      return true;
    default:
      return false;
  }
}

const void* this_thread() noexcept {
  static thread_local char mark;
  return &mark;
}

}  // namespace

bool read_page(const perf_event_mmap_page* page, const Kernel& kernel, uint64_t* value) noexcept {
  uint32_t sequence = 0;
  uint64_t count = 0;
  do {
    sequence = __atomic_load_n(&page->lock, __ATOMIC_RELAXED);
    __atomic_signal_fence(
        __ATOMIC_SEQ_CST);  // the kernel writes on this processor: only the compiler may reorder
    const uint32_t index = __atomic_load_n(&page->index, __ATOMIC_RELAXED);
    // A metric (Intel's top-down events) is a fraction in a register of its own, which only the kernel turns into
    // a count.
    if (index == 0 || ((index - 1) & kMetricRegister) != 0 || !page->cap_user_rdpmc) return false;
    count = static_cast<uint64_t>(__atomic_load_n(&page->offset, __ATOMIC_RELAXED));
    const uint32_t width = page->pmc_width;
    if (width == 0 || width > 64) return false;
    // The register counts up to its own width only; as a signed difference to the kernel's offset it is right
    // across its wrap.
    const uint64_t counter = kernel.counter(kernel.context, index) << (64 - width);
    count += static_cast<uint64_t>(static_cast<int64_t>(counter) >> (64 - width));
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  } while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != sequence);
  *value = count;
  return true;
}

int64_t scaled(uint64_t count, uint64_t enabled, uint64_t running) noexcept {
  if (running == 0) return 0;
  if (running >= enabled) return static_cast<int64_t>(count);
  __extension__ using Wide = unsigned __int128;
  const Wide whole = static_cast<Wide>(count) * enabled / running;
  return static_cast<int64_t>(static_cast<uint64_t>(std::min<Wide>(whole, UINT64_MAX)));
}

EventSet::~EventSet() {
  close_all(&opened_);
  if (holds_signal_) release_overflow_signal();
}

// The one way a set changes: the new set, of the events that are wanted, is opened beside the old one, and only then
// the old one is closed.
Status EventSet::replace(const Configuration& configuration) {
  if (running_) return {Code::kRunning, 0, "the set is counting; stop it before changing it"};
  if (wanted_events_.size() > kMaxEvents)
    return {Code::kTooMany, 0, "a set of this substrate holds at most 64 events; use a second set"};
  fresh_.begin();
  wanted_events_.swap(events_);  // messages name the new events
  // Where anything fails, memory too, nothing stays open and the set is as it was.
  struct TakeBack {
    EventSet& set;
    bool due = true;
    ~TakeBack() {
      if (!due) return;
      set.close_all(&set.fresh_);
      set.wanted_events_.swap(set.events_);
    }
  } take_back{*this};
  if (const Status status = open_all(events_, configuration, wanted_sampling_, &fresh_); !status.ok())
    return status;
  const bool samples = std::any_of(wanted_sampling_.begin(), wanted_sampling_.end(),
                                   [](const Sampling& s) { return s.period != 0; });
  if (samples) {
    if (const Status routed = route_samples(fresh_, wanted_sampling_); !routed.ok()) return routed;
  }
  take_back.due = false;
  close_all(&opened_);
  if (holds_signal_) release_overflow_signal();
  holds_signal_ = samples;
  std::swap(opened_, fresh_);
  configuration_ = configuration;
  sampling_.swap(wanted_sampling_);
  owner_ = this_thread();
  unread_ = false;
  left_on_ = false;
  stopped_by_pages_ = false;
  std::fill_n(last_, events_.size(), 0);
  std::fill_n(last_total_, events_.size(), Total{});
  return kSuccess;
}

// The same events, sampled as before.
void EventSet::wish_as_it_is() {
  wanted_events_ = events_;
  wanted_sampling_ = sampling_;
}

Status EventSet::program(const uint32_t* events, uint32_t count) {
  wanted_events_.assign(events, events + count);
  wanted_sampling_.assign(count, Sampling{});
  for (uint32_t i = 0; i < count; ++i)  // an armed event stays armed wherever it moves to
    for (size_t old = 0; old < events_.size(); ++old)
      if (events_[old] == events[i]) wanted_sampling_[i] = sampling_[old];
  return replace(configuration_);
}

Status EventSet::configure(const Configuration& wanted) {
  if ((wanted.domain & kDomainAll) == 0 || (wanted.domain & ~kDomainAll) != 0)
    return {Code::kInvalidDomain, 0, "the domain is not one of user, kernel, other, supervisor"};
  if (wanted.granularity != kGranularityThread && wanted.granularity != kGranularitySystem &&
      wanted.granularity != kGranularitySystemCpu)
    return {Code::kInvalid, 0,
            "this substrate counts a thread, one processor or all processors; for a process, "
            "attach with inherit"};
  if (wanted.target != Target::kSelf && (wanted.target_id < 0 || wanted.target_id > INT32_MAX))
    return {Code::kInvalid, 0, "the target's number is out of range"};
  if (events_.empty() &&
      wanted.target != Target::kSelf) {  // nothing to open yet: ask with an event of no effect
    perf_event_attr attr = blank_attr();
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.disabled = 1;
    const bool cpu = wanted.target == Target::kCpu;
    const Kernel& kernel = shared_.kernel;
    const int target = static_cast<int>(wanted.target_id);
    const int descriptor =
        kernel.open(kernel.context, &attr, cpu ? -1 : target, cpu ? target : -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) {
      const int os_error = -descriptor;
      const bool absent = os_error == ESRCH || os_error == EINVAL;
      if (cpu && (absent || os_error == ENODEV || os_error == ENXIO))
        return refuse(Code::kSystem, os_error,
                      "binding to processor " + std::to_string(target) +
                          ": there is no such processor, or it is offline; choose one of "
                          "/sys/devices/system/cpu/online");
      return refuse(
          absent ? Code::kSystem : code_of_refusal(os_error), os_error,
          std::string(cpu ? "binding to the processor: " : "attach: ") + shared_.catalogue.explain(os_error));
    }
    kernel.close(kernel.context, descriptor);
  }
  wish_as_it_is();
  return replace(wanted);
}

int64_t EventSet::ticks_now() const noexcept {
  return opened_.ticks_mask == 0 ? 0 : static_cast<int64_t>(shared_.kernel.ticks(shared_.kernel.context));
}

Status EventSet::start() noexcept {
  if (running_) return {Code::kRunning, 0, "the set is already counting"};
  // A forked child counts itself, not its parent; counters that were lost are opened anew.
  if (!events_.empty() && (stale() || unread_)) {
    const Status again = guarded([&] {
      wish_as_it_is();
      return replace(configuration_);
    });
    if (!again.ok()) return again;
  }
  if (left_on_) {
    if (const Status read = rebase_plain([](size_t, const Total&) noexcept {}); !read.ok()) return read;
    left_on_ = false;
    running_ = true;
    return kSuccess;
  }
  const Kernel& kernel = shared_.kernel;
  if (holds_signal_) {
    lost_before_ = lost_overflows();
    for (const Counter& counter : opened_.counters) begin_route(counter.descriptor);
  }
  if (stopped_by_pages_ && !pages_count_here()) {
    Total ignored[kMaxEvents];
    if (const Status read = take_totals(ignored, true); !read.ok()) return read;
    stopped_by_pages_ = false;
  }
  ticks_base_ = ticks_now();
  for (size_t i = 0; i < opened_.groups.size(); ++i) {
    const int leader = opened_.counters[opened_.groups[i].first].descriptor;
    const int failed = kernel.control(kernel.context, leader, PERF_EVENT_IOC_ENABLE, 0);
    if (failed == 0) continue;
    for (size_t done = 0; done < i; ++done)
      kernel.control(kernel.context, opened_.counters[opened_.groups[done].first].descriptor,
                     PERF_EVENT_IOC_DISABLE, 0);
    return {failed == -EBUSY ? Code::kConflict : Code::kSystem, -failed,
            "the kernel refused to enable a perf descriptor"};
  }
  running_ = true;
  if (!stopped_by_pages_) return kSuccess;
  // What the counters stood at when they were stopped is not known: they count from here.
  stopped_by_pages_ = false;
  int64_t ignored[kMaxEvents];
  if (rebase_by_pages(ignored)) return kSuccess;
  Total totals[kMaxEvents];
  const Status read = take_totals(totals, true);
  if (!read.ok()) stop();
  return read;
}

template <typename Use>
Status EventSet::for_each_value(Use use) noexcept {
  const Kernel& kernel = shared_.kernel;
  uint64_t words[kGroupHeader + kMaxEvents];
  for (const Group& group : opened_.groups) {
    Counter* const counters = &opened_.counters[group.first];
    if (group.together) {
      const size_t size = (kGroupHeader + group.count) * sizeof(uint64_t);
      const ssize_t got = read_words(kernel, counters->descriptor, words, size);
      if (got != static_cast<ssize_t>(size)) return read_failure(got);
      for (uint32_t i = 0; i < group.count; ++i)
        use(counters[i], words[kGroupHeader + i], words[1], words[2]);
      continue;
    }
    for (uint32_t i = 0; i < group.count; ++i) {
      constexpr size_t kSize = kSingleWords * sizeof(uint64_t);
      const ssize_t got = read_words(kernel, counters[i].descriptor, words, kSize);
      if (got != static_cast<ssize_t>(kSize)) return read_failure(got);
      use(counters[i], words[0], words[1], words[2]);
    }
  }
  return kSuccess;
}

// As take_totals with `rebase`, of a plain set: one read. Gives each event's total to `use`.
template <typename Use>
Status EventSet::rebase_plain(Use use) noexcept {
  const size_t count = events_.size();
  const bool together = count != 1;
  uint64_t words[kGroupHeader + kMaxEvents];
  const size_t size = (together ? kGroupHeader + count : kSingleWords) * sizeof(uint64_t);
  Counter* const counters = opened_.counters.data();
  const ssize_t got = read_words(shared_.kernel, counters->descriptor, words, size);
  if (got != static_cast<ssize_t>(size)) return read_failure(got);
  for (size_t i = 0; i < count; ++i) {
    Counter& counter = counters[i];
    const uint64_t value = words[together ? kGroupHeader + i : 0];
    use(counter.position,
        Total{static_cast<int64_t>(value - counter.base),
              counter.counts_time ? words[1] - counter.base_enabled : 0, words[2] - counter.base_running});
    counter.base = value;
    counter.base_enabled = words[1];
    counter.base_running = words[2];
  }
  return kSuccess;
}

// Sums what the set counted since its base. With `rebase` this moment becomes the base, if all could be read.
Status EventSet::take_totals(Total* totals, bool rebase) noexcept {
  for (size_t i = 0; i < events_.size(); ++i) totals[i] = Total{};
  const int64_t ticks = ticks_now();
  const Status status =
      for_each_value([&](Counter& counter, uint64_t value, uint64_t enabled, uint64_t running) noexcept {
        Total& total = totals[counter.position];
        total.value += static_cast<int64_t>(value - counter.base);
        if (counter.counts_time) total.enabled += enabled - counter.base_enabled;
        total.running += running - counter.base_running;
        if (!rebase) return;
        counter.seen = value;
        counter.seen_enabled = enabled;
        counter.seen_running = running;
      });
  if (!status.ok()) return status;
  // A set that the kernel does not rotate, but whose counters others may have: without a moment of counting there is
  // nothing to extrapolate.
  if (opened_.scales && configuration_.multiplex == 0 &&
      std::any_of(totals, totals + events_.size(),
                  [](const Total& total) { return total.enabled != 0 && total.running == 0; }))
    return never_ran();
  for (size_t i = 0; i < events_.size(); ++i)
    if (opened_.ticks_mask >> i & 1) totals[i].value = ticks - ticks_base_;
  if (!rebase) return kSuccess;
  ticks_base_ = ticks;
  for (Counter& counter : opened_.counters) {
    counter.base = counter.seen;
    counter.base_enabled = counter.seen_enabled;
    counter.base_running = counter.seen_running;
  }
  return kSuccess;
}

int64_t EventSet::value_of(const Total& total) const noexcept {
  if (!opened_.scales || total.running >= total.enabled) return total.value;
  return scaled(static_cast<uint64_t>(total.value), total.enabled, total.running);
}

Status EventSet::stop() noexcept {
  if (!running_) return {Code::kNotRunning, 0, "the set is not counting"};
  const Kernel& kernel = shared_.kernel;
  running_ = false;
  // The last values are those of right before: one system call less, and none of what stopping costs is counted.
  stopped_by_pages_ = pages_count_here() && read_pages(last_);
  left_on_ = opened_.stays_on && !stale();
  if (!left_on_ && !stale())
    for (const Group& group : opened_.groups)
      kernel.control(kernel.context, opened_.counters[group.first].descriptor, PERF_EVENT_IOC_DISABLE, 0);
  unread_ = false;
  if (stopped_by_pages_) return kSuccess;
  if (opened_.plain) {
    const Status status = rebase_plain([&](size_t event, const Total& total) noexcept {
      last_total_[event] = total;
      last_[event] = total.value;
    });
    unread_ = !status.ok();
    return status;
  }
  Total totals[kMaxEvents];
  const Status status = take_totals(totals, true);
  unread_ = !status.ok();  // and opened anew by the next start
  if (unread_) return status;
  for (size_t i = 0; i < events_.size(); ++i) {
    last_total_[i] = totals[i];
    last_[i] = value_of(totals[i]);
  }
  return kSuccess;
}

bool EventSet::read_pages(int64_t* values) const noexcept {
  int64_t sums[kMaxEvents];
  const size_t count = events_.size();
  for (size_t i = 0; i < count; ++i) sums[i] = 0;
  for (const Counter& counter : opened_.counters) {
    uint64_t value = 0;
    if (!read_page(static_cast<const perf_event_mmap_page*>(counter.page), shared_.kernel, &value))
      return false;
    sums[counter.position] += static_cast<int64_t>(value - counter.base);
  }
  const int64_t ticks = ticks_now();
  for (size_t i = 0; i < count; ++i) values[i] = opened_.ticks_mask >> i & 1 ? ticks - ticks_base_ : sums[i];
  return true;
}

// Whether the mapped pages are there and describe the calling thread's counters.
bool EventSet::pages_count_here() noexcept {
  return opened_.all_mapped && owner_ == this_thread() && !stale();
}

// As read_pages; afterwards this moment is the base, if all pages could be read.
bool EventSet::rebase_by_pages(int64_t* values) noexcept {
  const int64_t ticks = ticks_now();
  const size_t count = events_.size();
  for (size_t i = 0; i < count; ++i) values[i] = opened_.ticks_mask >> i & 1 ? ticks - ticks_base_ : 0;
  for (Counter& counter : opened_.counters)
    if (!read_page(static_cast<const perf_event_mmap_page*>(counter.page), shared_.kernel, &counter.seen))
      return false;
  for (Counter& counter : opened_.counters) {
    const auto* const page = static_cast<const perf_event_mmap_page*>(counter.page);
    values[counter.position] += static_cast<int64_t>(counter.seen - counter.base);
    counter.base = counter.seen;
    counter.base_enabled = page->time_enabled;
    counter.base_running = page->time_running;
  }
  ticks_base_ = ticks;
  return true;
}

Status EventSet::take(int64_t* values) noexcept {
  if (!running_) {
    std::copy_n(last_, events_.size(), values);
    return reset();
  }
  if (pages_count_here() && rebase_by_pages(values)) return kSuccess;
  if (opened_.plain)
    return rebase_plain([&](size_t event, const Total& total) noexcept { values[event] = total.value; });
  Total totals[kMaxEvents];
  if (const Status status = take_totals(totals, true); !status.ok()) return status;
  for (size_t i = 0; i < events_.size(); ++i) values[i] = value_of(totals[i]);
  return kSuccess;
}

// The usual sets take the shortest way; what does not answer as usual is asked again.
Status EventSet::read(int64_t* values) noexcept {
  if (!running_ || opened_.here == 0) return read_others(values);
  if (opened_.here != 1) return read_together(values);
  const Counter& counter = *opened_.counters.data();
  uint64_t words[kSingleWords];
  if (read_here(counter.descriptor, words, sizeof words) != static_cast<ssize_t>(sizeof words)) [[unlikely]]
    return read_others(values);
  *values = static_cast<int64_t>(words[0] - counter.base);
  return kSuccess;
}

Status EventSet::read_together(int64_t* values) noexcept {
  const Counter* const counters = opened_.counters.data();
  const size_t count = opened_.here;
  uint64_t words[kGroupHeader + kMaxEvents];
  const size_t size = (kGroupHeader + count) * sizeof(uint64_t);
  if (read_here(counters->descriptor, words, size) != static_cast<ssize_t>(size)) [[unlikely]]
    return read_others(values);
  for (size_t i = 0; i < count; ++i)
    values[counters[i].position] = static_cast<int64_t>(words[kGroupHeader + i] - counters[i].base);
  return kSuccess;
}

Status EventSet::read_others(int64_t* values) noexcept {
  const size_t count = events_.size();
  if (!running_) {
    std::copy_n(last_, count, values);
    return kSuccess;
  }
  if (pages_count_here() && read_pages(values)) return kSuccess;
  if (opened_.plain) {
    uint64_t words[kGroupHeader + kMaxEvents];
    const size_t size = (count == 1 ? kSingleWords : kGroupHeader + count) * sizeof(uint64_t);
    const Counter* const counters = opened_.counters.data();
    const ssize_t got = read_words(shared_.kernel, counters->descriptor, words, size);
    if (got != static_cast<ssize_t>(size)) return read_failure(got);
    if (count == 1) {
      values[0] = static_cast<int64_t>(words[0] - counters->base);
      return kSuccess;
    }
    for (size_t i = 0; i < count; ++i)
      values[counters[i].position] = static_cast<int64_t>(words[kGroupHeader + i] - counters[i].base);
    return kSuccess;
  }
  return read_totals(values);
}

Status EventSet::read_totals(int64_t* values) noexcept {
  Total totals[kMaxEvents];
  if (const Status status = take_totals(totals, false); !status.ok()) return status;
  for (size_t i = 0; i < events_.size(); ++i) values[i] = value_of(totals[i]);
  return kSuccess;
}

bool EventSet::misses_overflows(size_t position) const noexcept {
  if (sampling_[position].period == 0) return false;
  return lost_overflows() != lost_before_ ||
         std::any_of(opened_.counters.begin(), opened_.counters.end(), [&](const Counter& counter) {
           return counter.position == position && misses_samples(counter.descriptor);
         });
}

Status EventSet::read_details(ValueDetail* details) noexcept {
  Total totals[kMaxEvents];
  if (running_) {
    if (const Status status = take_totals(totals, false); !status.ok()) return status;
  } else if (stopped_by_pages_) {
    // The times, which the pages did not have; the values stay.
    if (const Status status = take_totals(totals, false); !status.ok()) return status;
  } else {
    std::copy_n(last_total_, events_.size(), totals);
  }
  const int64_t now = shared_.now_ns();
  for (size_t i = 0; i < events_.size(); ++i) {
    ValueDetail& detail = details[i];
    detail = ValueDetail{};
    detail.value = running_ ? value_of(totals[i]) : last_[i];
    detail.time_ns = now;
    detail.enabled_ns = static_cast<int64_t>(totals[i].enabled);
    detail.running_ns = static_cast<int64_t>(totals[i].running);
    if (opened_.scales && totals[i].running < totals[i].enabled) detail.flags |= kValueScaled;
    if (misses_overflows(i)) detail.flags |= kValueIncomplete;
  }
  return kSuccess;
}

Status EventSet::reset() noexcept {
  if (running_) {
    int64_t ignored[kMaxEvents];
    return take(ignored);
  }
  std::fill(std::begin(last_), std::end(last_), 0);
  std::fill(std::begin(last_total_), std::end(last_total_), Total{});
  return kSuccess;
}

Status EventSet::write(const int64_t* values) noexcept {
  if (running_)
    return {Code::kNoSupport, 0, "the kernel's counters cannot be written while they count; stop first"};
  std::copy_n(values, events_.size(), last_);
  return kSuccess;
}

Status EventSet::arm(uint32_t position, int64_t threshold, bool by_data_address, const SampleSink& sink) {
  if (position >= events_.size() || threshold <= 0 || sink.call == nullptr)
    return {Code::kInvalid, 0, "an overflow needs an event of the set, a positive threshold and a sink"};
  if (opened_.ticks_mask >> position & 1)
    return {Code::kComponent, 0, "the tick counter raises no overflow; use a timer"};
  const Encoding* encoding = nullptr;
  if (by_data_address && shared_.catalogue.encoding(events_[position], &encoding).ok() &&
      std::none_of(encoding->legs.begin(), encoding->legs.end(), has_data_address))
    return {Code::kNoSupport, 0, "the kernel knows no data addresses of this event"};
  wish_as_it_is();
  wanted_sampling_[position] = {static_cast<uint64_t>(threshold), by_data_address, sink};
  return replace(configuration_);
}

Status EventSet::disarm(uint32_t position) {
  if (position >= events_.size() || sampling_[position].period == 0)
    return {Code::kInvalid, 0, "the event has no overflow to take away"};
  wish_as_it_is();
  wanted_sampling_[position] = Sampling{};
  return replace(configuration_);
}

}  // namespace substrata::perf
