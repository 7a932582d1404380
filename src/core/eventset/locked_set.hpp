// Access to an eventset by its handle, under its lock.
#pragma once

#include <utility>

#include "core/eventset/event_set_object.hpp"

namespace substrata {

// A set in use, locked. Holds nothing when there is none.
class LockedSet {
 public:
  explicit LockedSet(int handle) : handle_(handle), set_(event_sets.find(handle)) {
    if (set_ == nullptr) return;
    set_->lock.lock();
    if (set_->handle == handle) return;
    set_->lock.unlock();
    set_ = nullptr;
  }
  ~LockedSet() {
    if (set_ != nullptr) release();
  }
  LockedSet(const LockedSet&) = delete;
  LockedSet& operator=(const LockedSet&) = delete;
  explicit operator bool() const noexcept { return set_ != nullptr; }
  EventSet* operator->() const noexcept { return set_; }
  EventSet& operator*() const noexcept { return *set_; }
  Status absent() const noexcept { return absent_set(handle_); }
  // What follows, until it is unlocked, may change what the set holds.
  void change() noexcept {
    changes_ = true;
    set_->changing.store(true, std::memory_order_release);
  }
  // Unlocks early; the object may be given back afterwards.
  EventSet* release() noexcept {
    if (changes_) set_->changing.store(false, std::memory_order_release);
    set_->lock.unlock();
    return std::exchange(set_, nullptr);
  }

 private:
  int handle_;
  EventSet* set_;
  bool changes_ = false;
};

inline Status is_running() { return refuse(Code::kRunning, "the eventset runs; stop it first"); }

// A change: the set must be there and stand still.
#define SUBSTRATA_LOCK_STOPPED_SET(locked, handle) \
  LockedSet locked(handle);                        \
  if (!locked) return locked.absent();             \
  if (locked->running()) return is_running();      \
  locked.change()

inline Status no_component() {
  return refuse(Code::kNoComponent, "the eventset has no component yet; assign one first");
}

}  // namespace substrata
