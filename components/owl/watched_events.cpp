// Eventsets beneath those of the program, one of each substrate.
#include "owl/watched_events.hpp"

#include <substrata/substrate.h>

#include <algorithm>

#include "base/error.hpp"
#include "core/eventset/event_set.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"

namespace substrata::owl {
namespace {

int cannot_watch(const std::string& name, const Status& status) {
  return fail(status.code, "the event '%s' cannot be watched: %s", name.c_str(),
              status.note != nullptr ? status.note : "it is refused");
}

}  // namespace

WatchedEvents::~WatchedEvents() {
  // Handles of an earlier life of the library may belong to other eventsets now.
  if (sets_.empty() || epoch_ != Library::instance().epoch()) return;
  for (const Set& set : sets_) {
    if (set.running) (void)stop_set(set.handle, nullptr);
    cleanup_event_set(set.handle);
    destroy_event_set(set.handle);
  }
}

int WatchedEvents::add(const std::string& name, uint32_t* number) {
  Library& library = Library::instance();
  if (!library.initialised())
    if (const Status status = library.initialise(); !status.ok()) return cannot_watch(name, status);
  epoch_ = library.epoch();
  const Result<uint32_t> code = library.catalogue().find(name);
  if (!code) return cannot_watch(name, code.error());
  const auto info = library.catalogue().info(*code);
  if (!info) return cannot_watch(name, info.error());
  if (((*info)->flags & kEventModelled) != 0 || (*info)->name.starts_with("owl:::"))
    return cannot_watch(name, {Code::kInvalid, 0, "it is computed from the feed; watch a capsule's metric"});
  size_t at = 0;
  while (at < sets_.size() && sets_[at].component != (*info)->component) ++at;
  if (at == sets_.size()) {
    const Result<int> handle = create_event_set();
    if (!handle) return cannot_watch(name, handle.error());
    sets_.push_back({(*info)->component, *handle});
    if (const Status status = put_beneath(*handle); !status.ok()) return cannot_watch(name, status);
  }
  Set& set = sets_[at];
  const auto known = std::find(set.codes.begin(), set.codes.end(), *code);
  *number = static_cast<uint32_t>(places_.size());
  places_.push_back({at, static_cast<size_t>(known - set.codes.begin())});
  if (known != set.codes.end()) return 0;
  if (const Status status = add_event(set.handle, *code); !status.ok()) return cannot_watch(name, status);
  set.codes.push_back(*code);
  set.values.push_back(0);
  return 0;
}

int WatchedEvents::start() {
  for (Set& set : sets_) {
    if (const Status status = start_set(set.handle); !status.ok())
      return fail(status.code, "the watched events do not start: %s",
                  status.note != nullptr ? status.note : "they are refused");
    set.running = true;
  }
  return 0;
}

bool WatchedEvents::read() {
  if (!sets_.empty() && epoch_ != Library::instance().epoch()) return false;
  for (Set& set : sets_)
    if (!read_set(set.handle, set.values.data()).ok()) return false;
  return true;
}

uint64_t WatchedEvents::value(uint32_t number) const noexcept {
  const Place& place = places_[number];
  return static_cast<uint64_t>(sets_[place.set].values[place.position]);
}

}  // namespace substrata::owl
