// A shared object loaded at run time, closed with its last owner.
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"

namespace substrata {

// Why nothing can be loaded at run time, null where it can: in a program without a dynamic linker (-static), dlopen
// would bring a second C library beside the one within.
const char* why_nothing_loads() noexcept;

// Move-only owner of a dlopen handle. Thread-compatible.
class SharedLibrary {
 public:
  SharedLibrary() = default;
  SharedLibrary(SharedLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  SharedLibrary& operator=(SharedLibrary&& other) noexcept;
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  ~SharedLibrary();

  // Loads with RTLD_NOW | RTLD_LOCAL. The refusal carries the dynamic linker's own message.
  static Result<SharedLibrary> load(const std::string& path);

  // The address of a symbol, null if the object does not define it.
  void* symbol(const char* name) const noexcept;
  // The same as a function or variable of the pointer's type; whether it is there.
  template <typename Pointer>
  bool find(const char* name, Pointer* out) const noexcept {
    *out = reinterpret_cast<Pointer>(symbol(name));
    return *out != nullptr;
  }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* handle_ = nullptr;
};

}  // namespace substrata
