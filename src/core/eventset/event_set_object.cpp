// What an eventset does with its substrate: bind, program, configure, start, stop, survive a fork.
#include "core/eventset/event_set_object.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/options.hpp"
#include "core/multiplex/multiplexer.hpp"
#include "core/system/timers.hpp"

namespace substrata {

constinit HandleTable<EventSet, kMaxEventSets> event_sets;

Status absent_set(int handle) noexcept {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  return refuse(Code::kNoEventSet, "there is no eventset %d", handle);
}

void EventSet::evaluate(const int64_t* from, int64_t* to) const noexcept {
  for (size_t i = 0; i < entries.size(); ++i)
    to[i] = entries[i].formula.evaluate(from, entries[i].positions.data(), clock_hz);
}

Status EventSet::current_values(int64_t* out) noexcept {
  if (!running()) {
    const Status status = has_values();
    if (status.ok()) std::copy(last.begin(), last.end(), out);
    return status;
  }
  if (direct) return keep_note(table->read(set, out));
  const Status status = keep_note(table->read(set, native_values.data()));
  if (status.ok()) evaluate(native_values.data(), out);
  return status;
}

Status EventSet::has_values() const noexcept {
  if (lost == Code::kOk) return kSuccess;
  return refuse(lost, "the counters could not be read when the eventset was stopped, so it has no values");
}

Result<EventSet::Fresh> EventSet::make_set(Component& of, Thread* attached, bool multiplexed) {
  Fresh fresh;
  if (multiplexed) {
    fresh.multiplexer = new Multiplexer(of, attached);
    fresh.set = fresh.multiplexer->set();
    return fresh;
  }
  if (const Status status = keep_note(of.table().create_set(of.device(), attached, &fresh.set)); !status.ok())
    return status;
  return fresh;
}

Status EventSet::configure(const Configuration& wanted) {
  return multiplexer != nullptr ? keep_note(multiplexer->configure(wanted))
                                : component->configure(set, wanted);
}

void EventSet::take(const Fresh& fresh) noexcept {
  set = fresh.set;
  multiplexer = fresh.multiplexer;
  table = multiplexer != nullptr ? &multiplexer->table() : &component->table();
}

Status EventSet::exchange(bool multiplexed, const Configuration& wanted) {
  if (const Status status = renew_in_child(); !status.ok()) return status;
  if (std::any_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.armed; }))
    return refuse(Code::kConflict,
                  "an event of the eventset is armed for overflow; take that away before multiplexing");
  const Result<Thread*> attached = attach_thread(this_thread_state(), *component);
  if (!attached) return attached.error();
  const Result<Fresh> fresh = make_set(*component, *attached, multiplexed);
  if (!fresh) return fresh.error();
  const SubstrateTable& slots = multiplexed ? fresh->multiplexer->table() : component->table();
  Status status = multiplexed ? keep_note(fresh->multiplexer->configure(wanted))
                              : component->configure(fresh->set, wanted);
  if (status.ok() && !natives.empty())
    status = keep_note(slots.program(fresh->set, natives.data(), static_cast<uint32_t>(natives.size())));
  if (!status.ok()) {
    slots.destroy_set(fresh->set);
    return status;
  }
  table->destroy_set(set);
  take(*fresh);
  configuration = wanted;
  return kSuccess;
}

Status EventSet::bind(Component& to) {
  if (const Status status = to.ensure_open(); !status.ok())
    return Status{Code::kDisabled, status.os_error, status.note};
  ThreadState* own = this_thread_state();
  const Result<Thread*> attached = attach_thread(own, to);
  if (!attached) return attached.error();
  Set* fresh = nullptr;
  if (const Status status = keep_note(to.table().create_set(to.device(), *attached, &fresh)); !status.ok())
    return status;
  Configuration wanted = to.default_configuration();
  wanted.domain = default_domain(to.index()).value_or(wanted.domain);
  wanted.granularity = default_granularity(to.index()).value_or(wanted.granularity);
  const Configuration usual = to.default_configuration();
  Status status = kSuccess;
  if (wanted.domain != usual.domain || wanted.granularity != usual.granularity)
    status = to.configure(fresh, wanted);
  if (status.ok()) status = retain_thread(own);
  if (!status.ok()) {
    to.table().destroy_set(fresh);
    return status;
  }
  component = &to;
  table = &to.table();
  set = fresh;
  thread = own;
  configuration = wanted;
  fork_count = substrata::fork_count();
  return kSuccess;
}

void keep_given_up(const void* parents) noexcept {
  struct Kept {
    const void* what;
    Kept* next;
  };
  static std::atomic<Kept*> kept{nullptr};
  auto* fresh = new (std::nothrow) Kept{parents, kept.load(std::memory_order_relaxed)};
  if (fresh == nullptr) return;
  while (
      !kept.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

void EventSet::unbind() noexcept {
  if (component == nullptr) return;
  // A forked child that never used the set leaves the parent's half alone.
  if (fork_count == substrata::fork_count())
    table->destroy_set(set);
  else
    keep_given_up(set);
  release_thread(*thread);
  component = nullptr;
  table = nullptr;
  set = nullptr;
  thread = nullptr;
  configuration = Configuration{};
  state = kSetStopped;
  multiplexer = nullptr;
  started_once = false;
  lost = Code::kOk;
}

Status EventSet::renew_in_child() {
  if (component == nullptr || fork_count == substrata::fork_count()) return kSuccess;
  ThreadState* own = this_thread_state();
  const Result<Thread*> attached = attach_thread(own, *component);
  if (!attached) return attached.error();
  const Result<Fresh> fresh = make_set(*component, *attached, multiplexer != nullptr);
  if (!fresh) return fresh.error();
  const SubstrateTable& slots =
      fresh->multiplexer != nullptr ? fresh->multiplexer->table() : component->table();
  Status status = fresh->multiplexer != nullptr ? keep_note(fresh->multiplexer->configure(configuration))
                                                : component->configure(fresh->set, configuration);
  if (status.ok())
    status = keep_note(slots.program(fresh->set, natives.data(), static_cast<uint32_t>(natives.size())));
  if (status.ok()) status = retain_thread(own);
  if (!status.ok()) {
    slots.destroy_set(fresh->set);
    return status;
  }
  release_thread(*thread);
  thread = own;
  keep_given_up(set);
  take(*fresh);
  fork_count = substrata::fork_count();
  started_once = false;
  return rearm_in_child();
}

Status EventSet::program(size_t entry_count, size_t native_count) {
  const uint32_t limit = (state & kSetMultiplexing) != 0 ? table->max_multiplexed : table->max_events;
  if (native_count > limit)
    return refuse(Code::kConflict, "%s counts at most %u events at once%s", component->name(), limit,
                  (state & kSetMultiplexing) != 0 ? "" : "; multiplexing may allow more");
  // Memory first, so that nothing can fail once the substrate has agreed.
  native_values.reserve(native_count);
  native_details.reserve(native_count);
  values.reserve(entry_count);
  last.reserve(entry_count);
  const Status status = keep_note(table->program(set, natives.data(), static_cast<uint32_t>(native_count)));
  if (!status.ok()) return status;
  while (entries.size() > entry_count) entries.pop_back();
  natives.resize(native_count);
  native_values.assign(natives.size(), 0);
  native_details.assign(natives.size(), ValueDetail{});
  values.assign(entries.size(), 0);
  last.assign(entries.size(), 0);
  started_once = false;
  lost = Code::kOk;
  direct = entries.size() == natives.size();
  for (size_t i = 0; i < entries.size(); ++i) {
    const DerivedKind kind = entries[i].formula.kind();
    direct = direct && kind == DerivedKind::kNone && entries[i].positions[0] == i;
    if (entries[i].formula.per_second() && clock_hz == 0) clock_hz = cycle_hz();
  }
  return kSuccess;
}

Status EventSet::apply(const Configuration& wanted) {
  if (const Status status = renew_in_child(); !status.ok()) return status;
  const auto programmed = [&]() {
    if (natives.empty()) return kSuccess;
    return keep_note(table->program(set, natives.data(), static_cast<uint32_t>(natives.size())));
  };
  Status status = configure(wanted);
  if (!status.ok()) return status;
  // The events are programmed anew, whether the substrate needs that or not: then the answer is final.
  status = programmed();
  if (!status.ok()) {
    const std::string why = status.note != nullptr ? status.note : "";
    Status back = configure(configuration);
    if (back.ok()) back = programmed();
    if (!back.ok())
      return refuse(Code::kCountersLost, "%s: neither the new nor the old way works", why.c_str());
    Status refusal = refuse(status.code, "%s", why.c_str());
    refusal.os_error = status.os_error;
    return refusal;
  }
  configuration = wanted;
  return kSuccess;
}

Status EventSet::start() noexcept {
  if (component == nullptr) return refuse(Code::kNoComponent, "the eventset has no component and no events");
  if (running()) return refuse(Code::kRunning, "the eventset runs already");
  if (entries.empty()) return refuse(Code::kInvalid, "the eventset has no events");
  if (fork_count != substrata::fork_count()) {
    if (const Status status = renew_in_child(); !status.ok()) return status;
  }
  // Sets that measure another target do not compete for this thread's counters.
  std::atomic<EventSet*>* place = nullptr;
  if (configuration.target == Target::kSelf && !beneath) {
    place = &thread->running[static_cast<size_t>(component->index())];
    EventSet* other = nullptr;
    if (!place->compare_exchange_strong(other, this, std::memory_order_acq_rel))
      return refuse(Code::kRunning, "another eventset of %s runs in this thread; stop it first",
                    component->name());
  }
  Status status = overflow == nullptr ? kSuccess : start_watching();
  if (status.ok()) {
    status = table->start(set);
    if (!status.ok()) stop_watching();
  }
  if (!status.ok()) {
    if (place != nullptr) place->store(nullptr, std::memory_order_release);
    return keep_note(status);
  }
  state = (state & ~static_cast<uint32_t>(kSetStopped)) | kSetRunning;
  started_once = true;
  lost = Code::kOk;
  if (overflow != nullptr) take_baseline();
  return kSuccess;
}

Status EventSet::stop(int64_t* out) noexcept {
  if (component == nullptr) return refuse(Code::kNoComponent, "the eventset has no component and no events");
  if (!running()) return refuse(Code::kNotRunning, "the eventset does not run");
  // In a forked child the counters are still the parent's: they are read, not stopped.
  const bool ours = fork_count == substrata::fork_count();
  Status status = ours ? table->stop(set) : kSuccess;
  if (overflow != nullptr) stop_watching();
  if (status.ok()) {
    int64_t* const from = direct ? values.data() : native_values.data();
    status = table->read(set, from);
    if (status.ok() && !direct) evaluate(from, values.data());
  }
  if (status.ok())
    last.swap(values);
  else
    status = keep_note(status);
  lost = status.code;
  state = (state & ~static_cast<uint32_t>(kSetRunning)) | kSetStopped;
  if (configuration.target == Target::kSelf && !beneath)
    thread->running[static_cast<size_t>(component->index())].store(nullptr, std::memory_order_release);
  if (status.ok() && out != nullptr) std::copy(last.begin(), last.end(), out);
  return status;
}

void EventSet::dismantle() noexcept {
  if (running()) stop(nullptr);
  beneath = false;
  forget_overflow(0);
  unbind();
  entries.clear();
  natives.clear();
  native_values.clear();
  values.clear();
  last.clear();
  native_details.clear();
  state = kSetStopped;
  direct = true;
}

}  // namespace substrata
