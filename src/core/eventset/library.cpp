// Brings the library up and down, and carries it over a fork.
#include "core/eventset/library.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "core/eventset/event_set_object.hpp"
#include "core/eventset/options.hpp"
#include "core/eventset/thread_state.hpp"

namespace substrata {
namespace {

constinit std::atomic<uint64_t> forks{0};
constinit std::atomic<bool> exiting{false};

}  // namespace

uint64_t fork_count() noexcept { return forks.load(std::memory_order_acquire); }

Library& Library::instance() noexcept {
  static Immortal<Library> library;
  return *library;
}

Library::Library() : catalogue_(registry_) {
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  std::atexit([] { exiting.store(true, std::memory_order_relaxed); });
}

void Library::after_fork_in_child() noexcept {
  forks.fetch_add(1, std::memory_order_release);
  renew_set_locks_in_child();
  renew_user_locks_in_child();
}

Registry& Library::registry() {
  registry_.load();
  return registry_;
}

Status Library::require_initialised() const noexcept {
  if (initialised()) return kSuccess;
  return refuse(Code::kNotInitialised, "the library is not initialised; call PAPI_library_init first");
}

Status Library::initialise(Face& face) {
  const std::lock_guard guard(lock_);
  if (up_.load(std::memory_order_relaxed)) {
    if (fork_count() == forks_at_start_) {
      if (initialised(face)) return kSuccess;
      this_thread_state();
      face.up_since.store(epoch(), std::memory_order_relaxed);
      faces_.fetch_add(1, std::memory_order_relaxed);
      return kSuccess;
    }
    // A forked child that begins anew: the parent's sets, threads and codes are none of its business.
    abandon_all_sets();
    drop_all_threads(false);
    catalogue_.clear();
  }
  forks_at_start_ = fork_count();
  epoch_.fetch_add(1, std::memory_order_release);
  configure_log();
  registry_.load();
  if (const char* path = environment("PAPI_USER_EVENTS_FILE"); path != nullptr && *path != '\0')
    take_user_events_file(path);
  face.up_since.store(epoch(), std::memory_order_relaxed);
  faces_.store(1, std::memory_order_relaxed);
  up_.store(true, std::memory_order_release);
  this_thread_state();
  return kSuccess;
}

void Library::let_go(Face& face) noexcept {
  if (initialised(face)) faces_.fetch_sub(1, std::memory_order_relaxed);
  face.up_since.store(0, std::memory_order_relaxed);
}

void Library::leave(Face& face) {
  if (exiting.load(std::memory_order_relaxed))
    let_go(face);
  else
    shutdown(face);
}

void Library::shutdown(Face& face) {
  const std::lock_guard guard(lock_);
  if (!initialised(face)) return;
  const bool last = !shared_beside(face);
  let_go(face);
  if (!last) {
    destroy_sets_of(face);
    return;
  }
  up_.store(false, std::memory_order_release);
  destroy_all_sets();
  // Before the states go: a thread that ends from here on finds none of its own.
  epoch_.fetch_add(1, std::memory_order_release);
  drop_all_threads(true);
  catalogue_.clear();
  // A thread that lives may be inside a substrate: then these stay open for the next life of the library.
  if (!other_threads_measure()) registry_.close_all();
  reset_options();
}

}  // namespace substrata
