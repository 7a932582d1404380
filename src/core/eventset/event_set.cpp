// The calls that make, fill, configure and take apart eventsets.
#include "eventset/event_set.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>

#include "eventset/event_set_object.hpp"
#include "eventset/library.hpp"
#include "eventset/options.hpp"
#include "eventset/overflow.hpp"

namespace substrata {
namespace {

// The set objects of this process. Each stays with the thread it is biased to; a thread that has ended leaves
// its objects to the others.
struct Pool {
  ForkLock lock;
  std::vector<std::unique_ptr<EventSet>> objects;
  std::vector<EventSet*> free;
};

Pool& pool() {
  static Pool* const all = new Pool;
  return *all;
}

EventSet* take_object() {
  Pool& all = pool();
  const uint64_t me = this_thread_number();
  for (const bool inherited : {false, true}) {
    for (size_t i = all.free.size(); i-- > 0;) {
      EventSet* object = all.free[i];
      if (inherited ? !thread_ended(object->lock.owner()) : object->lock.owner() != me) continue;
      all.free.erase(all.free.begin() + static_cast<std::ptrdiff_t>(i));
      return object;
    }
  }
  all.objects.push_back(std::make_unique<EventSet>());
  all.free.reserve(all.objects.size());  // giving an object back must not fail
  return all.objects.back().get();
}

// A set in use, locked. Holds nothing when there is none.
class Locked {
 public:
  explicit Locked(int handle) : handle_(handle), set_(event_sets.find(handle)) {
    if (set_ == nullptr) return;
    set_->lock.lock();
    if (set_->handle == handle) return;
    set_->lock.unlock();
    set_ = nullptr;
  }
  ~Locked() {
    if (set_ != nullptr) set_->lock.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const noexcept { return set_ != nullptr; }
  EventSet* operator->() const noexcept { return set_; }
  EventSet& operator*() const noexcept { return *set_; }
  Status absent() const noexcept { return absent_set(handle_); }
  // Unlocks early; the object may be given back afterwards.
  EventSet* release() noexcept {
    set_->lock.unlock();
    return std::exchange(set_, nullptr);
  }

 private:
  int handle_;
  EventSet* set_;
};

Status is_running() { return refuse(Code::kRunning, "the eventset runs; stop it first"); }

// A change: the set must be there and stand still.
#define SUBSTRATA_LOCK_STOPPED_SET(locked, handle) \
  Locked locked(handle);                           \
  if (!locked) return locked.absent();             \
  if (locked->running()) return is_running()

// The natives of `entries`, each once, and every entry's positions in them.
void number_natives(std::vector<EventSet::Entry>& entries, const std::vector<std::vector<uint32_t>>& terms,
                    std::vector<uint32_t>* natives) {
  natives->clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].positions.clear();
    for (const uint32_t term : terms[i]) {
      auto place = std::find(natives->begin(), natives->end(), term);
      if (place == natives->end()) place = natives->insert(natives->end(), term);
      entries[i].positions.push_back(static_cast<uint16_t>(place - natives->begin()));
    }
  }
}

std::vector<std::vector<uint32_t>> terms_of(const EventSet& set) {
  std::vector<std::vector<uint32_t>> terms;
  for (const EventSet::Entry& entry : set.entries) {
    terms.emplace_back();
    for (const uint16_t position : entry.positions) terms.back().push_back(set.natives[position]);
  }
  return terms;
}

Status add_to(EventSet& set, uint32_t code) {
  Result<Composition> composition = Library::instance().catalogue().compose(code);
  if (!composition) return composition.error();
  Component* component = Library::instance().registry().at(composition->component);
  if (component == nullptr) return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
  if (set.component != nullptr && set.component != component)
    return refuse(Code::kInvalid, "the eventset belongs to %s; an event of %s needs an eventset of its own",
                  set.component->name(), component->name());
  for (const EventSet::Entry& entry : set.entries) {
    if (entry.code == code) return refuse(Code::kConflict, "the event is in the eventset already");
  }
  const bool fresh = set.component == nullptr;
  if (fresh) {
    if (const Status status = set.bind(*component); !status.ok()) return status;
  }
  std::vector<EventSet::Entry> entries = set.entries;
  std::vector<std::vector<uint32_t>> terms = terms_of(set);
  entries.push_back({code, std::move(composition->formula), {}});
  terms.push_back(std::move(composition->natives));
  std::vector<uint32_t> natives;
  number_natives(entries, terms, &natives);
  const Status status = set.program(entries, natives);
  if (!status.ok() && fresh) set.unbind();
  return status;
}

Status remove_from(EventSet& set, uint32_t code) {
  const auto place = std::find_if(set.entries.begin(), set.entries.end(),
                                  [&](const EventSet::Entry& entry) { return entry.code == code; });
  if (place == set.entries.end())
    return refuse(Code::kInvalid, "the event 0x%08x is not in the eventset", code);
  const std::ptrdiff_t index = place - set.entries.begin();
  std::vector<EventSet::Entry> entries = set.entries;
  std::vector<std::vector<uint32_t>> terms = terms_of(set);
  if (entries[static_cast<size_t>(index)].armed) {
    const Status status =
        keep_note(set.table->disarm(set.set, entries[static_cast<size_t>(index)].positions[0]));
    if (!status.ok()) return status;
  }
  entries.erase(entries.begin() + index);
  terms.erase(terms.begin() + index);
  std::vector<uint32_t> natives;
  number_natives(entries, terms, &natives);
  const Status status = set.program(entries, natives);
  if (status.ok()) forget_overflow(set, code);
  return status;
}

bool single_bit(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

Result<int> create_event_set() {
  Library& library = Library::instance();
  if (const Status status = library.require_initialised(); !status.ok()) return status;
  watch_this_thread();
  const std::lock_guard guard(pool().lock);
  const int handle = event_sets.take();
  if (handle < 0)
    return refuse(Code::kNoMemory, "there are %u eventsets already", static_cast<unsigned>(kMaxEventSets));
  EventSet* object = take_object();
  object->lock.set_owner(this_thread_number());
  object->lock.lock();
  object->handle = handle;
  object->fork_count = fork_count();
  object->lock.unlock();
  event_sets.put(handle, object);
  return handle;
}

namespace {

// `object` is dead and unlocked.
void give_back(int handle, EventSet* object) {
  const std::lock_guard guard(pool().lock);
  // Who found the object just before this sees by its own handle that it is no longer meant.
  event_sets.put(handle, nullptr);
  event_sets.give_back(handle);
  pool().free.push_back(object);
}

}  // namespace

Status destroy_event_set(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  if (set->running()) return is_running();
  if (!set->entries.empty())
    return refuse(Code::kInvalid, "the eventset holds %u events; clean it up first",
                  static_cast<unsigned>(set->entries.size()));
  set->dismantle();
  set->handle = -1;
  give_back(handle, set.release());
  return kSuccess;
}

Status cleanup_event_set(int handle) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  set->dismantle();
  return kSuccess;
}

void destroy_sets_of(const ThreadState* thread) noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    Locked set(handle);
    if (!set) continue;
    if (thread != nullptr && set->thread != thread &&
        !(set->thread == nullptr && set->lock.owner() == thread->number))
      continue;
    set->dismantle();
    set->handle = -1;
    give_back(handle, set.release());
  }
}

void abandon_all_sets() noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    Locked set(handle);
    if (!set) continue;
    set->state = kSetStopped;
    set->dismantle();  // with another fork count nothing reaches the substrate
    set->handle = -1;
    give_back(handle, set.release());
  }
}

void renew_set_locks_in_child() noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    if (EventSet* set = event_sets.find(handle); set != nullptr) set->lock.renew_in_child();
  }
}

Status assign_component(int handle, int index) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr) return refuse(Code::kNoComponent, "there is no component number %d", index);
  if (set->component != nullptr)
    return refuse(Code::kInvalid, "the eventset belongs to %s already", set->component->name());
  return set->bind(*component);
}

Result<int> component_of_set(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  if (set->component == nullptr) return refuse(Code::kNoComponent, "the eventset has no component yet");
  return set->component->index();
}

Status add_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  return add_to(*set, code);
}

Status add_named_event(int handle, std::string_view name) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  const Result<uint32_t> code = Library::instance().catalogue().find(name);
  return code ? add_to(*set, *code) : code.error();
}

Status remove_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  return remove_from(*set, code);
}

Status remove_named_event(int handle, std::string_view name) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  const Result<uint32_t> code = Library::instance().catalogue().find(name);
  return code ? remove_from(*set, *code) : code.error();
}

namespace {

ManyOutcome for_many(int handle, const int* codes, int count, Status (*one)(EventSet&, uint32_t)) {
  Locked set(handle);
  if (!set) return {0, set.absent()};
  if (codes == nullptr || count <= 0)
    return {0, refuse(Code::kInvalid, "a list of events was expected; there is none")};
  if (set->running()) return {0, is_running()};
  ManyOutcome outcome;
  for (; outcome.done < count; ++outcome.done) {
    outcome.status = one(*set, static_cast<uint32_t>(codes[outcome.done]));
    if (!outcome.status.ok()) break;
  }
  return outcome;
}

}  // namespace

ManyOutcome add_events(int handle, const int* codes, int count) {
  return for_many(handle, codes, count, add_to);
}
ManyOutcome remove_events(int handle, const int* codes, int count) {
  return for_many(handle, codes, count, remove_from);
}

Result<int> event_count_of(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  return static_cast<int>(set->entries.size());
}

Result<std::vector<uint32_t>> events_of(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  std::vector<uint32_t> codes;
  for (const EventSet::Entry& entry : set->entries) codes.push_back(entry.code);
  return codes;
}

Result<uint32_t> state_of(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  return set->state;
}

namespace {

Status no_component() {
  return refuse(Code::kNoComponent, "the eventset has no component yet; assign one first");
}

}  // namespace

Status set_domain(int handle, uint32_t domain) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (domain == 0 || (domain & ~static_cast<uint32_t>(kDomainAll)) != 0)
    return refuse(Code::kInvalidDomain, "0x%x is no domain", domain);
  if (set->component == nullptr) return no_component();
  const uint32_t known = domain & set->table->domains;
  if (known == 0)
    return refuse(Code::kInvalidDomain, "%s has domains 0x%x; 0x%x was asked for", set->component->name(),
                  set->table->domains, domain);
  Configuration wanted = set->configuration;
  wanted.domain = known;
  return set->apply(wanted);
}

Status set_granularity(int handle, uint32_t granularity) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (!single_bit(granularity) || granularity > kGranularitySystemCpu)
    return refuse(Code::kInvalid, "0x%x is no granularity", granularity);
  if (set->component == nullptr) return no_component();
  Configuration wanted = set->configuration;
  wanted.granularity = granularity;
  return set->apply(wanted);
}

Status set_inherit(int handle, bool inherit) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if (inherit && !set->component->has(kCanInherit))
    return refuse(Code::kComponent, "%s cannot count the children of a process", set->component->name());
  Configuration wanted = set->configuration;
  wanted.inherit = inherit ? 1 : 0;
  return set->apply(wanted);
}

Status attach_set(int handle, unsigned long tid) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  // A process that may not be signalled is there nevertheless.
  if (tid == 0 || tid > 0x7fffffff || (kill(static_cast<pid_t>(tid), 0) != 0 && errno == ESRCH))
    return refuse_system(ESRCH, "there is no process or thread %lu", tid);
  if (!set->component->has(kCanAttach))
    return refuse(Code::kComponent, "%s cannot be attached to another thread or process",
                  set->component->name());
  Configuration wanted = set->configuration;
  wanted.target = Target::kThreadOrProcess;
  wanted.target_id = static_cast<int64_t>(tid);
  const Status status = set->apply(wanted);
  if (status.ok()) {
    set->state = (set->state & ~static_cast<uint32_t>(kSetCpuAttached)) | kSetAttached;
  }
  return status;
}

Status detach_set(int handle) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if ((set->state & (kSetAttached | kSetCpuAttached)) == 0)
    return refuse(Code::kInvalid, "the eventset is attached to nothing");
  Configuration wanted = set->configuration;
  wanted.target = Target::kSelf;
  wanted.target_id = 0;
  const Status status = set->apply(wanted);
  if (status.ok()) set->state &= ~static_cast<uint32_t>(kSetAttached | kSetCpuAttached);
  return status;
}

Status bind_set_to_cpu(int handle, int cpu) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  if (cpu < 0 || cpu >= sysconf(_SC_NPROCESSORS_CONF))
    return refuse(Code::kInvalid, "there is no processor %d", cpu);
  if (!set->component->has(kCanBindCpu))
    return refuse(Code::kComponent, "%s cannot be bound to a processor", set->component->name());
  Configuration wanted = set->configuration;
  wanted.target = Target::kCpu;
  wanted.target_id = cpu;
  const Status status = set->apply(wanted);
  if (status.ok()) set->state = (set->state & ~static_cast<uint32_t>(kSetAttached)) | kSetCpuAttached;
  return status;
}

Status set_multiplex(int handle, uint64_t period_ns, bool force_software) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (set->component == nullptr) return no_component();
  Configuration wanted = set->configuration;
  wanted.multiplex = 1;
  wanted.multiplex_period_ns = period_ns != 0 ? period_ns : default_multiplex_ns();
  const bool rotating = force_software || !set->component->has(kKernelMultiplex);
  const Status status =
      rotating == (set->rotation != nullptr) ? set->apply(wanted) : set->exchange(rotating, wanted);
  if (!status.ok()) return status;
  set->state |= kSetMultiplexing;
  return rotating ? prepare_turns(*set) : kSuccess;
}

Result<MultiplexOption> multiplex_of(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  MultiplexOption option;
  option.on = (set->state & kSetMultiplexing) != 0;
  option.period_ns = option.on ? set->configuration.multiplex_period_ns : default_multiplex_ns();
  option.software = set->rotation != nullptr;
  return option;
}

Result<Configuration> configuration_of(int handle) {
  Locked set(handle);
  if (!set) return set.absent();
  if (set->component == nullptr) return no_component();
  return set->configuration;
}

namespace {

Result<size_t> place_of(const EventSet& set, uint32_t code) {
  for (size_t i = 0; i < set.entries.size(); ++i) {
    if (set.entries[i].code == code) return i;
  }
  return refuse(Code::kNoEvent, "the event 0x%08x is not in the eventset", code);
}

}  // namespace

Status arm_event(int handle, uint32_t code, int64_t threshold, uint32_t flags, const SampleSink& sink) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (threshold <= 0 || sink.call == nullptr)
    return refuse(Code::kInvalid, "an overflow wants a threshold above 0 and somebody to call");
  if (const Status status = set->renew_in_child(); !status.ok()) return status;
  const Result<size_t> place = place_of(*set, code);
  if (!place) return place.error();
  EventSet::Entry& entry = set->entries[*place];
  if (entry.formula.kind() != DerivedKind::kNone)
    return refuse(Code::kNoSupport, "a derived event does not overflow; its native events do");
  if (!set->component->arms_itself() || set->rotation != nullptr)
    return refuse(Code::kComponent, "%s does not tell overflows by itself%s", set->component->name(),
                  set->rotation != nullptr ? " of events that take turns" : "");
  const Status status = keep_note(set->table->arm(set->set, entry.positions[0], threshold, flags, &sink));
  if (!status.ok()) return status;
  entry.armed = true;
  set->state |= kSetOverflowing;
  return kSuccess;
}

Status disarm_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  const Result<size_t> place = place_of(*set, code);
  if (!place) return place.error();
  EventSet::Entry& entry = set->entries[*place];
  if (!entry.armed) return refuse(Code::kInvalid, "the event is not armed for overflow");
  const Status status = keep_note(set->table->disarm(set->set, entry.positions[0]));
  if (!status.ok()) return status;
  entry.armed = false;
  const bool others =
      std::any_of(set->entries.begin(), set->entries.end(), [](const auto& other) { return other.armed; });
  if (!others) set->state &= ~static_cast<uint32_t>(kSetOverflowing);
  return kSuccess;
}

Status mark_set(int handle, uint32_t bits, bool on) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if ((bits & ~static_cast<uint32_t>(kSetOverflowing | kSetProfiling)) != 0)
    return refuse(Code::kInvalid, "only overflow and profiling can be marked");
  set->state = on ? set->state | bits : set->state & ~bits;
  return kSuccess;
}

Result<std::vector<int>> events_of_vector(int handle, uint64_t vector) {
  Locked set(handle);
  if (!set) return set.absent();
  if (vector == 0) return refuse(Code::kInvalid, "an overflow vector of 0 names no event");
  std::vector<int> places;
  for (size_t i = 0; i < set->entries.size(); ++i) {
    const auto& positions = set->entries[i].positions;
    const bool hit = std::any_of(positions.begin(), positions.end(), [&](uint16_t position) {
      return position < 64 && (vector >> position & 1) != 0;
    });
    if (hit) places.push_back(static_cast<int>(i));
  }
  return places;
}

}  // namespace substrata
