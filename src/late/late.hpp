// Functions of a library that is loaded when one of them is first called.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"

namespace substrata::late {

// While a library is loaded: a fork waits for it.
inline ForkLock& loading() {
  static Immortal<ForkLock> lock;
  return *lock;
}

// It stays loaded. What cannot be loaded now (no memory, no descriptor) is tried anew by the next call. Thread-safe.
class Library {
 public:
  // `name`: as the dynamic linker finds it; outlives this.
  explicit constexpr Library(const char* name) : name_(name) {}
  void* function(const char* name) noexcept {
    void* handle = handle_.load(std::memory_order_acquire);
    if (handle == nullptr) {
      const std::lock_guard guard(loading());
      handle = dlopen(name_, RTLD_LAZY | RTLD_LOCAL);
      handle_.store(handle, std::memory_order_release);
    }
    void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
    if (found == nullptr) dlerror();  // not the program's
    return found;
  }

 private:
  const char* const name_;
  std::atomic<void*> handle_{nullptr};
};

}  // namespace substrata::late

// Defines the function of the library's header as a call of the library's own. `otherwise`: its result where the
// library cannot be loaded.
#define SUBSTRATA_LATE(library, result, name, parameters, arguments, otherwise)                 \
  extern "C" result name parameters {                                                           \
    static std::atomic<decltype(&name)> known{nullptr};                                         \
    auto* there = known.load(std::memory_order_acquire);                                        \
    if (there == nullptr) {                                                                     \
      there = reinterpret_cast<decltype(&name)>((library).function(SUBSTRATA_LATE_TEXT(name))); \
      known.store(there, std::memory_order_release);                                            \
    }                                                                                           \
    if (there == nullptr) return otherwise;                                                     \
    return there arguments;                                                                     \
  }
#define SUBSTRATA_LATE_TEXT(name) SUBSTRATA_LATE_TEXT_(name)
#define SUBSTRATA_LATE_TEXT_(name) #name
