// Opens, groups and reads the perf descriptors of one eventset.
#include "event_set.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "base/guard.hpp"
#include "note.hpp"

namespace substrata::perf {
namespace {

const void* this_thread() noexcept {
  static thread_local char mark;
  return &mark;
}

constexpr size_t kGroupHeader = 3;  // count, time enabled, time running
constexpr size_t kSingleWords = 3;  // value, time enabled, time running

Status read_failure(ssize_t got) noexcept {
  if (got >= 0)
    return {
        Code::kCountersLost, 0,
        "the kernel could not keep the set on the processor's counters; another user holds them (a profiler, "
        "the NMI watchdog): end it, count fewer events or multiplex"};
  return {Code::kSystem, static_cast<int32_t>(-got),
          "reading a perf descriptor failed; the set must be rebuilt"};
}

bool may_be_missing(int os_error) noexcept {
  return os_error == ENOENT || os_error == ENODEV || os_error == ENXIO || os_error == EOPNOTSUPP;
}

}  // namespace

Shared::Shared(const Host& the_host, const Kernel& the_kernel, std::unique_ptr<Encoder> encoder,
               PmuKind the_kind)
    : host(the_host),
      kernel(the_kernel),
      kind(the_kind),
      catalogue(the_host, the_kernel, std::move(encoder), the_kind) {
  void* const page =
      ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) {
    if (::madvise(page, 1, MADV_WIPEONFORK) == 0) {
      mark_page_ = page;
      mark_ = new (page) std::atomic<int>(1);
    } else {
      ::munmap(page, 1);
    }
  }
  const char* const asked =
      host.setting == nullptr ? nullptr : host.setting(host.context, "SUBSTRATA_USER_READS");
  // A page read in a forked child would touch memory that is not there: without the mark, system calls only.
  user_reads = mark_ != nullptr && kernel.counter != nullptr && kind == PmuKind::kCore &&
               !(asked != nullptr && std::strcmp(asked, "0") == 0);
  const std::string root = host.root == nullptr ? "" : host.root;
  user_read_bits = user_reads && read_line(root + "/proc/sys/kernel/perf_user_access").value_or("") == "1";
}

Shared::~Shared() {
  if (mark_page_ != nullptr) ::munmap(mark_page_, sizeof(std::atomic<int>));
}

uint32_t Shared::generation() noexcept {
  if (mark_ != nullptr && mark_->load(std::memory_order_relaxed) == 0 && mark_->exchange(1) == 0)
    ++generation_;
  return generation_.load(std::memory_order_relaxed);
}

int64_t Shared::now_ns() const noexcept {
  if (host.now_ns != nullptr) return host.now_ns(host.context);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

bool read_page(const perf_event_mmap_page* page, const Kernel& kernel, uint64_t* value) noexcept {
  uint32_t sequence = 0;
  uint64_t count = 0;
  do {
    sequence = __atomic_load_n(&page->lock, __ATOMIC_RELAXED);
    __atomic_signal_fence(
        __ATOMIC_SEQ_CST);  // the kernel writes on this processor: only the compiler may reorder
    const uint32_t index = __atomic_load_n(&page->index, __ATOMIC_RELAXED);
    if (index == 0 || !page->cap_user_rdpmc) return false;
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
  return static_cast<int64_t>(static_cast<Wide>(count) * enabled / running);
}

EventSet::~EventSet() {
  close_all(&opened_);
  if (holds_signal_) release_overflow_signal();
}

Status EventSet::list_items(const std::vector<uint32_t>& events, const Configuration& configuration,
                            std::vector<Item>* items, uint64_t* ticks_mask) {
  int pid = 0;
  std::vector<int> cpus{-1};
  if (configuration.target == Target::kThreadOrProcess) {
    pid = static_cast<int>(configuration.target_id);
  } else if (configuration.target == Target::kCpu) {
    pid = -1;
    cpus = {static_cast<int>(configuration.target_id)};
  } else if (configuration.granularity == kGranularitySystemCpu) {
    pid = -1;
    cpus = {std::max(0, ::sched_getcpu())};
  } else if (configuration.granularity == kGranularitySystem) {
    pid = -1;
    if (shared_.kind == PmuKind::kCore) {
      const std::string root = shared_.host.root == nullptr ? "" : shared_.host.root;
      cpus = parse_cpu_list(read_line(root + "/sys/devices/system/cpu/online").value_or("0"));
      if (cpus.empty()) cpus = {0};
    }
  }
  if (shared_.kind == PmuKind::kUncore) pid = -1;
  for (uint32_t position = 0; position < events.size(); ++position) {
    const Encoding* encoding = nullptr;
    if (const Status status = shared_.catalogue.encoding(events[position], &encoding); !status.ok())
      return status;
    if (encoding->ticks) *ticks_mask |= uint64_t{1} << position;
    for (const Leg& leg : encoding->legs) {
      // Bound to a processor, an uncore event counts on that one's socket; a name with cpu= has its own.
      if (shared_.kind == PmuKind::kUncore && configuration.target == Target::kCpu && !encoding->fixed_cpu) {
        const bool again = std::any_of(encoding->legs.data(), &leg,
                                       [&leg](const Leg& other) { return same_counter(other, leg); });
        if (!again) items->push_back({position, encoding, &leg, -1, cpus.front(), leg.pmu_class, false});
        continue;
      }
      const bool fixed = leg.cpu >= 0;  // the name or the PMU says the processor
      const std::vector<int> one{leg.cpu};
      for (const int cpu : fixed ? one : cpus)
        items->push_back({position, encoding, &leg, pid, pid == -1 && cpu < 0 ? 0 : cpu, leg.pmu_class,
                          encoding->legs.size() > 1});
    }
  }
  return kSuccess;
}

Status EventSet::open_group(const std::vector<Item>& items, const Configuration& configuration,
                            const std::vector<Sampling>& sampling, bool mappable, Opened* out) {
  Group group{static_cast<uint32_t>(out->counters.size()), 0, false};
  // Inherited counters cannot be read as a group; the kernel sums each over its children.
  group.together = items.size() > 1 && configuration.inherit == 0;
  int leader = -1;
  bool pinned = false;
  for (const Item& item : items) {
    perf_event_attr attr = item.leg->attr;
    attr.disabled = leader < 0;
    attr.inherit = configuration.inherit != 0 && item.pid != -1;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (group.together) attr.read_format |= PERF_FORMAT_GROUP;
    if (leader < 0 && configuration.multiplex == 0 && item.leg->pmu_class != kSoftwareClass &&
        shared_.kind == PmuKind::kCore)
      attr.pinned = 1;  // else the kernel would rotate it silently
    pinned = pinned || attr.pinned != 0;
    if (!item.encoding->explicit_domain) {
      attr.exclude_user = (configuration.domain & kDomainUser) == 0;
      attr.exclude_kernel = (configuration.domain & kDomainKernel) == 0 && !item.encoding->kernel_side;
      attr.exclude_hv = (configuration.domain & kDomainSupervisor) == 0;
      if (item.encoding->kernel_side) attr.exclude_user = 0;
    }
    if (const Sampling& sampled = sampling[item.position]; sampled.period != 0) {
      attr.freq = 0;
      attr.sample_period = sampled.period;
      attr.sample_type = PERF_SAMPLE_IP;
      attr.wakeup_events = 1;
    }
    const bool may_map = mappable && item.leg->pmu_class != kSoftwareClass;
    const uint64_t plain_config1 = attr.config1;
    if (may_map && shared_.user_read_bits) attr.config1 |= item.leg->user_access;
    const Kernel& kernel = shared_.kernel;
    int descriptor = kernel.open(kernel.context, &attr, item.pid, item.cpu, leader, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0 &&
        attr.config1 != plain_config1) {  // the driver grants user reads to some events only
      attr.config1 = plain_config1;
      descriptor = kernel.open(kernel.context, &attr, item.pid, item.cpu, leader, PERF_FLAG_FD_CLOEXEC);
    }
    if (descriptor < 0) {
      const int os_error = -descriptor;
      if (item.optional && may_be_missing(os_error)) continue;
      if (os_error == ESRCH) {
        return refuse(Code::kSystem, os_error, "attach: " + shared_.catalogue.explain(os_error));
      }
      if (leader >= 0 && (os_error == EINVAL || os_error == ENOSPC)) {
        attr.disabled = 1;
        attr.read_format &= ~uint64_t{PERF_FORMAT_GROUP};
        const int alone = kernel.open(kernel.context, &attr, item.pid, item.cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if (alone >= 0) {
          kernel.close(kernel.context, alone);
          return refuse(
              Code::kConflict, os_error,
              "the event counts alone but not with the set's others: the processor has no counter left "
              "for it; count fewer events at once or multiplex");
        }
      }
      Event described;
      std::string text = "the event";
      if (item.position < events_.size() && shared_.catalogue.at(events_[item.position], &described).ok())
        text = std::string("event '") + described.name + "'";
      text += ": " + shared_.catalogue.explain(os_error);
      if (item.encoding->kernel_side && (os_error == EACCES || os_error == EPERM))
        text += " (it happens in the kernel, so counting user mode only would always give 0)";
      return refuse(code_of_refusal(os_error), os_error, text);
    }
    if (leader < 0) leader = descriptor;
    Counter counter;
    counter.descriptor = descriptor;
    counter.position = item.position;
    counter.counts_time = std::none_of(out->counters.begin(), out->counters.end(), [&](const Counter& other) {
      return other.position == item.position && other.cpu == item.cpu;
    });
    counter.cpu = item.cpu;
    if (may_map) {
      void* const page = kernel.map(kernel.context, descriptor);
      if (page != nullptr && static_cast<const perf_event_mmap_page*>(page)->cap_user_rdpmc)
        counter.page = page;
      else if (page != nullptr)
        kernel.unmap(kernel.context, page);
    }
    if (counter.page == nullptr) out->all_mapped = false;
    out->counters.push_back(counter);
    ++group.count;
  }
  if (group.count == 0) return kSuccess;
  out->groups.push_back(group);
  return pinned && configuration.target == Target::kSelf && configuration.inherit == 0 ? try_group(group, out)
                                                                                       : kSuccess;
}

// Whether the processor has the counters for a pinned group of this thread: some kernels (arm64) look at a
// group without its leader when it is opened. It counts for a moment, at whose end its base is taken.
Status EventSet::try_group(const Group& group, Opened* out) noexcept {
  const Kernel& kernel = shared_.kernel;
  Counter* const counters = &out->counters[group.first];
  const int leader = counters->descriptor;
  uint64_t words[kGroupHeader + kMaxEvents];
  const size_t size = (group.together ? kGroupHeader + group.count : kSingleWords) * sizeof(uint64_t);
  if (const int failed = kernel.control(kernel.context, leader, PERF_EVENT_IOC_ENABLE, 0); failed != 0)
    return {Code::kSystem, -failed, "the kernel refused to enable a perf descriptor"};
  kernel.control(kernel.context, leader, PERF_EVENT_IOC_DISABLE, 0);
  const ssize_t got = read_words(kernel, leader, words, size);
  if (got == 0)
    return {
        Code::kConflict, 0,
        "the processor has not enough counters for the set, or another user holds them (a profiler, the NMI "
        "watchdog): count fewer events at once or multiplex"};
  if (got != static_cast<ssize_t>(size)) return read_failure(got);
  for (uint32_t i = 0; i < group.count; ++i) {
    counters[i].base = group.together ? words[kGroupHeader + i] : words[0];
    counters[i].base_enabled = words[1];
    counters[i].base_running = words[2];
  }
  return kSuccess;
}

Status EventSet::open_all(const std::vector<uint32_t>& events, const Configuration& configuration,
                          const std::vector<Sampling>& sampling, Opened* out) {
  std::vector<Item> items;
  if (const Status status = list_items(events, configuration, &items, &out->ticks_mask); !status.ok())
    return status;
  out->generation = shared_.generation();
  out->scales = configuration.multiplex != 0 || shared_.kind == PmuKind::kUncore;
  const bool mappable = shared_.user_reads && configuration.target == Target::kSelf &&
                        configuration.inherit == 0 && configuration.multiplex == 0 &&
                        configuration.granularity == kGranularityThread;
  out->all_mapped = mappable;

  // Groups in the order of their first event; software joins the first hardware group on the same processor.
  std::vector<std::pair<std::pair<int, uint32_t>, std::vector<Item>>> groups;
  const auto group_of = [&groups](int cpu, uint32_t pmu_class) -> std::vector<Item>& {
    for (auto& [key, members] : groups)
      if (key == std::pair{cpu, pmu_class}) return members;
    groups.push_back({{cpu, pmu_class}, {}});
    return groups.back().second;
  };
  if (configuration.multiplex != 0) {
    // Software events always count: they stay together, read by one call.
    for (const Item& item : items) {
      if (item.group_class == kSoftwareClass)
        group_of(item.cpu, kSoftwareClass).push_back(item);
      else
        groups.push_back({{item.cpu, item.group_class}, {item}});
    }
  } else {
    for (const Item& item : items)
      if (item.group_class != kSoftwareClass) group_of(item.cpu, item.group_class).push_back(item);
    for (const Item& item : items) {
      if (item.group_class != kSoftwareClass) continue;
      const auto hardware = std::find_if(
          groups.begin(), groups.end(), [&item](const auto& group) { return group.first.first == item.cpu; });
      (hardware != groups.end() ? hardware->second : group_of(item.cpu, kSoftwareClass)).push_back(item);
    }
  }
  Status status = kSuccess;
  for (const auto& [key, members] : groups) {
    status = open_group(members, configuration, sampling, mappable, out);
    if (!status.ok()) break;
  }
  for (uint32_t position = 0; status.ok() && position < events.size(); ++position) {
    const bool counted =
        (out->ticks_mask >> position & 1) != 0 ||
        std::any_of(out->counters.begin(), out->counters.end(),
                    [position](const Counter& counter) { return counter.position == position; });
    if (!counted)
      status = refuse(Code::kNoEvent, ENOENT, "an event of the set: " + shared_.catalogue.explain(ENOENT));
  }
  if (out->counters.empty()) out->all_mapped = false;
  out->plain = status.ok() && out->groups.size() == 1 && out->counters.size() == events.size() &&
               !out->scales && out->ticks_mask == 0 && (events.size() == 1 || out->groups.front().together);
  if (!status.ok()) close_all(out);
  return status;
}

void EventSet::close_all(Opened* opened) noexcept {
  const Kernel& kernel = shared_.kernel;
  const bool mine = opened->generation == shared_.generation();
  // Members first: a closed leader would leave them counting alone for a moment.
  for (auto counter = opened->counters.rbegin(); counter != opened->counters.rend(); ++counter) {
    if (holds_signal_) remove_route(counter->descriptor);
    if (counter->page != nullptr && mine) kernel.unmap(kernel.context, counter->page);
    kernel.close(kernel.context, counter->descriptor);
  }
  opened->counters.clear();
  opened->groups.clear();
}

Status EventSet::route_samples(const Opened& opened, const std::vector<Sampling>& sampling) noexcept {
  const int signal = hold_overflow_signal();
  if (signal < 0)
    return {Code::kConflict, -signal,
            "no realtime signal is free for overflows; the program handles them all"};
  int failure = 0;
  for (const Counter& counter : opened.counters) {
    const Sampling& sampled = sampling[counter.position];
    if (sampled.period == 0 || failure != 0) continue;
    const Kernel& kernel = shared_.kernel;
    if (!add_route(counter.descriptor, sampled.sink, uint64_t{1} << counter.position))
      failure = ENOSPC;
    else
      failure = -kernel.deliver(kernel.context, counter.descriptor, signal, ::gettid());
  }
  if (failure != 0) {
    for (const Counter& counter : opened.counters) remove_route(counter.descriptor);
    release_overflow_signal();
    return {Code::kSystem, failure, "the kernel refused to send overflow signals for a perf descriptor"};
  }
  return kSuccess;
}

// The one way a set changes: the new set is opened beside the old one, and only then the old one is closed.
Status EventSet::replace(std::vector<uint32_t> events, const Configuration& configuration,
                         std::vector<Sampling> sampling) {
  if (running_) return {Code::kRunning, 0, "the set is counting; stop it before changing it"};
  if (events.size() > kMaxEvents)
    return {Code::kTooMany, 0, "a set of this substrate holds at most 64 events; use a second set"};
  Opened opened;
  events.swap(events_);  // messages name the new events
  const Status status = open_all(events_, configuration, sampling, &opened);
  if (!status.ok()) {
    events.swap(events_);
    return status;
  }
  const bool samples =
      std::any_of(sampling.begin(), sampling.end(), [](const Sampling& s) { return s.period != 0; });
  if (samples) {
    if (const Status routed = route_samples(opened, sampling); !routed.ok()) {
      close_all(&opened);
      events.swap(events_);
      return routed;
    }
  }
  close_all(&opened_);
  if (holds_signal_) release_overflow_signal();
  holds_signal_ = samples;
  opened_ = std::move(opened);
  configuration_ = configuration;
  sampling_ = std::move(sampling);
  owner_ = this_thread();
  unread_ = false;
  std::fill(std::begin(last_), std::end(last_), 0);
  std::fill(std::begin(last_total_), std::end(last_total_), Total{});
  return kSuccess;
}

Status EventSet::program(const uint32_t* events, uint32_t count) {
  std::vector<uint32_t> wanted(events, events + count);
  std::vector<Sampling> sampling(count);
  for (uint32_t i = 0; i < count; ++i)  // an armed event stays armed wherever it moves to
    for (size_t old = 0; old < events_.size(); ++old)
      if (events_[old] == wanted[i]) sampling[i] = sampling_[old];
  return replace(std::move(wanted), configuration_, std::move(sampling));
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
      return refuse(
          os_error == ESRCH || os_error == EINVAL ? Code::kSystem : code_of_refusal(os_error), os_error,
          std::string(cpu ? "binding to the processor: " : "attach: ") + shared_.catalogue.explain(os_error));
    }
    kernel.close(kernel.context, descriptor);
  }
  return replace(events_, wanted, sampling_);
}

int64_t EventSet::ticks_now() const noexcept {
  return opened_.ticks_mask == 0 ? 0 : static_cast<int64_t>(shared_.kernel.ticks(shared_.kernel.context));
}

Status EventSet::start() noexcept {
  if (running_) return {Code::kRunning, 0, "the set is already counting"};
  // A forked child counts itself, not its parent; counters that were lost are opened anew.
  if (!events_.empty() && (stale() || unread_)) {
    const Status again = guarded([&] { return replace(events_, configuration_, sampling_); });
    if (!again.ok()) return again;
  }
  const Kernel& kernel = shared_.kernel;
  ticks_base_ = ticks_now();
  for (size_t i = 0; i < opened_.groups.size(); ++i) {
    const int leader = opened_.counters[opened_.groups[i].first].descriptor;
    const int failed = kernel.control(kernel.context, leader, PERF_EVENT_IOC_ENABLE, 0);
    if (failed == 0) continue;
    for (size_t done = 0; done < i; ++done)
      kernel.control(kernel.context, opened_.counters[opened_.groups[done].first].descriptor,
                     PERF_EVENT_IOC_DISABLE, 0);
    return {Code::kSystem, -failed, "the kernel refused to enable a perf descriptor"};
  }
  running_ = true;
  return kSuccess;
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
  if (!stale())
    for (const Group& group : opened_.groups)
      kernel.control(kernel.context, opened_.counters[group.first].descriptor, PERF_EVENT_IOC_DISABLE, 0);
  Total totals[kMaxEvents];
  const Status status = take_totals(totals, true);
  unread_ = !status.ok();
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

Status EventSet::read(int64_t* values) noexcept {
  const size_t count = events_.size();
  if (!running_) {
    std::copy_n(last_, count, values);
    return kSuccess;
  }
  if (opened_.all_mapped && owner_ == this_thread() && !stale() && read_pages(values)) return kSuccess;
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

Status EventSet::read_details(ValueDetail* details) noexcept {
  Total totals[kMaxEvents];
  if (running_) {
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
  }
  return kSuccess;
}

Status EventSet::reset() noexcept {
  if (running_) {
    Total ignored[kMaxEvents];
    return take_totals(ignored, true);
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

Status EventSet::arm(uint32_t position, int64_t threshold, const SampleSink& sink) {
  if (position >= events_.size() || threshold <= 0 || sink.call == nullptr)
    return {Code::kInvalid, 0, "an overflow needs an event of the set, a positive threshold and a sink"};
  if (opened_.ticks_mask >> position & 1)
    return {Code::kComponent, 0, "the tick counter raises no overflow; use a timer"};
  std::vector<Sampling> sampling = sampling_;
  sampling[position] = {static_cast<uint64_t>(threshold), sink};
  return replace(events_, configuration_, std::move(sampling));
}

Status EventSet::disarm(uint32_t position) {
  if (position >= events_.size() || sampling_[position].period == 0)
    return {Code::kInvalid, 0, "the event has no overflow to take away"};
  std::vector<Sampling> sampling = sampling_;
  sampling[position] = Sampling{};
  return replace(events_, configuration_, std::move(sampling));
}

}  // namespace substrata::perf
