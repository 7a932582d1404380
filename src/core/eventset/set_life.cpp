// Eventsets made, recycled and destroyed, also those of a thread, of all threads, and of a forked parent.
#include <memory>
#include <mutex>
#include <vector>

#include "base/immortal.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/locked_set.hpp"

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
  static Immortal<Pool> all;
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

}  // namespace

Result<int> create_event_set(const Face* owner) {
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
  object->face = owner;
  object->lock.unlock();
  event_sets.put(handle, object);
  return handle;
}

namespace {

// `object` is dead and unlocked.
void give_back(int handle, EventSet* object) {
  const std::lock_guard guard(pool().lock);
  // A caller that found the object just before this sees by its handle that the set is gone.
  event_sets.put(handle, nullptr);
  event_sets.give_back(handle);
  pool().free.push_back(object);
}

}  // namespace

Status destroy_event_set(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  if (set->running()) return is_running();
  if (!set->entries.empty())
    return refuse(Code::kInvalid, "the eventset holds %u events; clean it up first",
                  static_cast<unsigned>(set->entries.size()));
  set.change();
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

namespace {

template <class Chosen>
void destroy_sets(const Chosen& chosen) noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    LockedSet set(handle);
    if (!set || !chosen(*set)) continue;
    set.change();
    set->dismantle();
    set->handle = -1;
    give_back(handle, set.release());
  }
}

}  // namespace

void destroy_all_sets() noexcept {
  destroy_sets([](const EventSet&) { return true; });
}
void destroy_sets_of(const Face& face) noexcept {
  destroy_sets([&](const EventSet& set) { return set.face == &face; });
}
void destroy_sets_of(const ThreadState& thread) noexcept {
  destroy_sets([&](const EventSet& set) {
    return set.thread == &thread || (set.thread == nullptr && set.lock.owner() == thread.number);
  });
}

void abandon_all_sets() noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    LockedSet set(handle);
    if (!set) continue;
    set->state = kSetStopped;
    set->dismantle();  // with another fork count nothing reaches the substrate
    set->handle = -1;
    give_back(handle, set.release());
  }
}

void renew_set_locks_in_child() noexcept {
  for (int handle = 0; handle < event_sets.size(); ++handle) {
    EventSet* const set = event_sets.find(handle);
    if (set == nullptr || set->lock.renew_in_child() || !set->changing.load(std::memory_order_acquire))
      continue;
    // Its owner, which the child does not have, was changing it: nothing of it can be used, or freed.
    event_sets.put(handle, nullptr);
  }
}

}  // namespace substrata
