// Start, read, stop: the hot path.
#include "core/eventset/measure.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "core/eventset/event_set_object.hpp"
#include "core/system/timers.hpp"

namespace substrata {
namespace {

Status no_values() noexcept {
  return refuse(Code::kInvalid, "a place for the values was expected, not null");
}
Status no_component() noexcept {
  return refuse(Code::kNoComponent, "the eventset has no component and no events");
}

// A set's lock for one call, which its owner takes and gives back without looking whose it is again.
class Hold {
 public:
  explicit Hold(OwnerLock& lock) noexcept : lock_(lock), as_owner_(lock.try_lock_as_owner()) {
    if (!as_owner_) [[unlikely]]
      lock_.lock();
  }
  ~Hold() {
    if (as_owner_) [[likely]]
      lock_.unlock_as_owner();
    else
      lock_.unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  OwnerLock& lock_;
  const bool as_owner_;
};

// Calls `on` with the eventset, locked.
template <typename On>
Status with_set(int handle, const On& on) {
  EventSet* set = event_sets.find(handle);
  if (set == nullptr) return absent_set(handle);
  const Hold held(set->lock);
  return set->handle == handle ? on(*set) : absent_set(handle);
}

// The same, for a set with a component and a place for values that is not null.
template <typename On>
Status with_values(int handle, const void* values, const On& on) {
  return with_set(handle, [&](EventSet& set) -> Status {
    if (set.component == nullptr) return no_component();
    return values == nullptr ? no_values() : on(set);
  });
}

[[gnu::noinline]] int read_failed(EventSet& set, Status status, int (*refused)(int) noexcept) noexcept {
  (void)keep_note(status);
  set.lock.unlock_as_owner();
  return refused(static_cast<int>(status.code));
}

[[gnu::noinline]] int read_set_slowly(int handle, int64_t* values, int (*refused)(int) noexcept) noexcept {
  const Status status = read_set(handle, values);
  return status.ok() ? static_cast<int>(Code::kOk) : refused(static_cast<int>(status.code));
}

}  // namespace

Status start_set(int handle) {
  return with_set(handle, [](EventSet& set) { return set.start(); });
}

Status stop_set(int handle, int64_t* values) {
  return with_set(handle, [&](EventSet& set) { return set.stop(values); });
}

Status read_set(int handle, int64_t* values) {
  return with_values(handle, values, [&](EventSet& set) { return set.current_values(values); });
}

// The owner reads a running set whose values are the counters themselves; whatever else, the slower way.
int read_set(int handle, int64_t* values, int (*refused)(int) noexcept) noexcept {
  EventSet* set = event_sets.find(handle);
  if (set != nullptr && set->lock.try_lock_as_owner()) [[likely]] {
    if (set->handle == handle && set->running() && set->direct && values != nullptr) [[likely]] {
      const Status status = set->table->read(set->set, values);
      if (!status.ok()) [[unlikely]]
        return read_failed(*set, status, refused);
      set->lock.unlock_as_owner();
      return static_cast<int>(Code::kOk);
    }
    set->lock.unlock_as_owner();
  }
  return read_set_slowly(handle, values, refused);
}

Status read_set_ts(int handle, int64_t* values, int64_t* cycles) {
  if (cycles == nullptr) {
    const Status status = read_set(handle, values);
    return status.ok() ? refuse(Code::kInvalid, "a place for the time stamp was expected, not null") : status;
  }
  const Status status = read_set(handle, values);
  if (status.ok()) *cycles = real_cycles();
  return status;
}

Status accumulate_set(int handle, int64_t* values) {
  return with_values(handle, values, [&](EventSet& set) -> Status {
    // In a forked child that still shares the parent's counters they are read, never reset.
    const bool ours = set.fork_count == fork_count();
    const bool at_once = ours && set.running() && set.direct && set.table->take != nullptr;
    Status status = at_once ? keep_note(set.table->take(set.set, set.values.data()))
                            : set.current_values(set.values.data());
    if (status.ok() && ours && !at_once) status = keep_note(set.table->reset(set.set));
    if (!status.ok()) return status;
    for (size_t i = 0; i < set.values.size(); ++i)
      values[i] =
          static_cast<int64_t>(static_cast<uint64_t>(values[i]) + static_cast<uint64_t>(set.values[i]));
    std::fill(set.last.begin(), set.last.end(), 0);
    return kSuccess;
  });
}

Status reset_set(int handle) {
  return with_set(handle, [](EventSet& set) -> Status {
    if (set.component == nullptr) return no_component();
    if (set.fork_count == fork_count()) {
      const Status status = set.table->reset(set.set);
      if (!status.ok()) return keep_note(status);
    }
    std::fill(set.last.begin(), set.last.end(), 0);
    set.lost = Code::kOk;
    return kSuccess;
  });
}

Status write_set(int handle, const int64_t* values) {
  return with_values(handle, values, [&](EventSet& set) -> Status {
    if (!set.running()) {
      // What a read before the next start is to give.
      std::copy_n(values, set.last.size(), set.last.begin());
      set.lost = Code::kOk;
      return kSuccess;
    }
    if (!set.direct) return refuse(Code::kNoSupport, "derived events cannot be written");
    if (set.fork_count != fork_count())
      return refuse(Code::kNoSupport,
                    "the counters belong to the parent process; start the eventset anew first");
    return keep_note(set.table->write(set.set, values));
  });
}

Status read_set_details(int handle, ValueDetail* details, uint32_t capacity) {
  return with_values(handle, details, [&](EventSet& set) -> Status {
    if (capacity < set.entries.size())
      return refuse(Code::kBufferTooSmall, "the eventset has %u values; the capacity is %u",
                    static_cast<unsigned>(set.entries.size()), capacity);
    if (!set.running()) {
      if (const Status status = set.has_values(); !status.ok()) return status;
    }
    const auto modelled = [&](size_t at) {
      return set.entries[at].modelled ? static_cast<uint32_t>(kValueModelled) : 0u;
    };
    // Multiplexed values are distinguished from those counted all the time, and those that miss overflows from
    // the others, also after the stop.
    const bool qualified = !set.running() && set.started_once &&
                           (set.state & (kSetMultiplexing | kSetOverflowing)) != 0 && set.direct;
    if ((!set.running() && !qualified) || set.table->read_details == nullptr) {
      const int64_t before = clock_now_ns();
      const Status status = set.current_values(set.values.data());
      if (!status.ok()) return status;
      for (size_t i = 0; i < set.entries.size(); ++i) {
        details[i] = ValueDetail{};
        details[i].value = set.values[i];
        details[i].time_ns = before;
        details[i].flags = modelled(i);
      }
      return kSuccess;
    }
    const Status status = keep_note(set.table->read_details(set.set, set.native_details.data()));
    if (!status.ok()) return status;
    for (size_t i = 0; i < set.natives.size(); ++i) set.native_values[i] = set.native_details[i].value;
    for (size_t i = 0; i < set.entries.size(); ++i) {
      const EventSet::Entry& entry = set.entries[i];
      ValueDetail merged = set.native_details[entry.positions[0]];
      for (const uint16_t position : entry.positions) {
        const ValueDetail& part = set.native_details[position];
        merged.time_ns = std::min(merged.time_ns, part.time_ns);
        merged.age_ns = std::max(merged.age_ns, part.age_ns);
        merged.enabled_ns = std::max(merged.enabled_ns, part.enabled_ns);
        merged.running_ns = std::min(merged.running_ns, part.running_ns);
        merged.flags |= part.flags;
      }
      merged.value = entry.formula.evaluate(set.native_values.data(), entry.positions.data(), set.clock_hz);
      merged.flags |= modelled(i);
      if (qualified) merged.value = set.last[i];
      details[i] = merged;
    }
    return kSuccess;
  });
}

}  // namespace substrata
