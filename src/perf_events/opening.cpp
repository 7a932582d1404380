// Opens, groups and closes the perf descriptors of one eventset.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "base/parse.hpp"
#include "perf_events/event_set.hpp"
#include "perf_events/note.hpp"
#include "perf_events/read_format.hpp"

namespace substrata::perf {
namespace {

constexpr uint64_t kUsualSampleRate = 100'000;  // the kernel's perf_event_max_sample_rate where not set

bool may_be_missing(int os_error) noexcept {
  return os_error == ENOENT || os_error == ENODEV || os_error == ENXIO || os_error == EOPNOTSUPP;
}

}  // namespace

Status EventSet::list_items(const std::vector<uint32_t>& events, const Configuration& configuration,
                            std::vector<Item>* items, uint64_t* ticks_mask) {
  int pid = 0;
  int cpu_of_all = -1;
  std::vector<int> online;
  if (configuration.target == Target::kThreadOrProcess) {
    pid = static_cast<int>(configuration.target_id);
  } else if (configuration.target == Target::kCpu) {
    pid = -1;
    cpu_of_all = static_cast<int>(configuration.target_id);
  } else if (configuration.granularity == kGranularitySystemCpu) {
    pid = -1;
    cpu_of_all = std::max(0, ::sched_getcpu());
  } else if (configuration.granularity == kGranularitySystem) {
    pid = -1;
    if (shared_.kind == PmuKind::kCore) {
      const std::string root = shared_.host.root == nullptr ? "" : shared_.host.root;
      online = parse_cpu_list(read_line(root + "/sys/devices/system/cpu/online").value_or("0"));
      if (online.empty()) online = {0};
    }
  }
  const std::span<const int> cpus =
      online.empty() ? std::span<const int>(&cpu_of_all, 1) : std::span<const int>(online);
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
      for (const int cpu : fixed ? std::span<const int>(&leg.cpu, 1) : cpus)
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
  out->counters.reserve(out->counters.size() + items.size());  // what is open must be listed
  out->groups.reserve(out->groups.size() + 1);
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
      if (sampled.by_data_address) attr.sample_type |= PERF_SAMPLE_ADDR;
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
    map_counter(&counter, may_map, sampling[item.position].period != 0);
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
  std::vector<Item>& items = items_;
  items.clear();
  if (const Status status = list_items(events, configuration, &items, &out->ticks_mask); !status.ok())
    return status;
  out->generation = shared_.generation();
  out->scales = configuration.multiplex != 0 || shared_.kind == PmuKind::kUncore;
  const bool mappable = shared_.user_reads && configuration.target == Target::kSelf &&
                        configuration.inherit == 0 && configuration.multiplex == 0 &&
                        configuration.granularity == kGranularityThread;
  out->all_mapped = mappable;

  Status status = kSuccess;
  const bool alike = std::all_of(items.begin(), items.end(), [&](const Item& item) {
    return item.cpu == items.front().cpu && item.group_class == items.front().group_class;
  });
  // Groups in the order of their first event; software joins the first hardware group on the same processor.
  std::vector<std::pair<std::pair<int, uint32_t>, std::vector<Item>>> groups;
  const auto group_of = [&groups](int cpu, uint32_t pmu_class) -> std::vector<Item>& {
    for (auto& [key, members] : groups)
      if (key == std::pair{cpu, pmu_class}) return members;
    groups.push_back({{cpu, pmu_class}, {}});
    return groups.back().second;
  };
  if (alike && !items.empty() && configuration.multiplex == 0) {
    status = open_group(items, configuration, sampling, mappable, out);
  } else if (configuration.multiplex != 0) {
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
  const bool here = out->plain && !out->all_mapped && shared_.kernel.running_kernel;
  out->here = here ? static_cast<uint32_t>(events.size()) : 0;
  out->stays_on = out->plain && configuration.target == Target::kSelf && configuration.inherit == 0 &&
                  configuration.granularity == kGranularityThread &&
                  std::all_of(items.begin(), items.end(), [&](const Item& item) {
                    return item.leg->attr.type == PERF_TYPE_SOFTWARE && sampling[item.position].period == 0;
                  });
  return status;
}

// Where the ring is refused (locked memory is limited, and inherited counters have none), samples carry the program
// counter that the signal interrupted.
void EventSet::map_counter(Counter* counter, bool readable, bool sampled) const noexcept {
  const Kernel& kernel = shared_.kernel;
  if (sampled) counter->ring = kernel.map(kernel.context, counter->descriptor, kRingPages);
  // Kernels before 4.1 do not say where the samples are.
  if (counter->ring != nullptr && static_cast<perf_event_mmap_page*>(counter->ring)->data_size == 0) {
    kernel.unmap(kernel.context, counter->ring, kRingPages);
    counter->ring = nullptr;
  }
  void* const page = counter->ring != nullptr || !readable
                         ? counter->ring
                         : kernel.map(kernel.context, counter->descriptor, 0);
  if (page == nullptr) return;
  if (readable && static_cast<const perf_event_mmap_page*>(page)->cap_user_rdpmc)
    counter->page = page;
  else if (counter->ring == nullptr)
    kernel.unmap(kernel.context, page, 0);
}

void EventSet::unmap_counter(const Counter& counter) const noexcept {
  if (counter.ring != nullptr)
    shared_.kernel.unmap(shared_.kernel.context, counter.ring, kRingPages);
  else if (counter.page != nullptr)
    shared_.kernel.unmap(shared_.kernel.context, counter.page, 0);
}

void EventSet::close_all(Opened* opened) noexcept {
  const Kernel& kernel = shared_.kernel;
  const bool mine = opened->generation == shared_.generation();
  // Members first: a closed leader would leave them counting alone for a moment. A handler may still read a ring.
  for (auto counter = opened->counters.rbegin(); counter != opened->counters.rend(); ++counter) {
    if (holds_signal_) remove_route(counter->descriptor, mine);
    if (mine) unmap_counter(*counter);
    kernel.close(kernel.context, counter->descriptor);
  }
  opened->counters.clear();
  opened->groups.clear();
}

Status EventSet::route_samples(const Opened& opened, const std::vector<Sampling>& sampling) {
  const std::string root = shared_.host.root == nullptr ? "" : shared_.host.root;
  uint64_t most_each_second = kUsualSampleRate;
  parse_number(read_line(root + "/proc/sys/kernel/perf_event_max_sample_rate").value_or(""),
               &most_each_second);
  const int signal = hold_overflow_signal();
  if (signal < 0)
    return {Code::kConflict, -signal,
            "no realtime signal is free for overflows; the program handles them all"};
  int failure = 0;
  for (const Counter& counter : opened.counters) {
    const Sampling& sampled = sampling[counter.position];
    if (sampled.period == 0 || failure != 0) continue;
    const Kernel& kernel = shared_.kernel;
    if (!add_route({counter.descriptor, sampled.sink, uint64_t{1} << counter.position, most_each_second,
                    static_cast<perf_event_mmap_page*>(counter.ring), sampled.by_data_address}))
      failure = ENOSPC;
    else
      failure = -kernel.deliver(kernel.context, counter.descriptor, signal, ::gettid());
  }
  if (failure != 0) {
    for (const Counter& counter : opened.counters) remove_route(counter.descriptor, true);
    release_overflow_signal();
    return {Code::kSystem, failure, "the kernel refused to send overflow signals for a perf descriptor"};
  }
  return kSuccess;
}

}  // namespace substrata::perf
