// dlopen and dlclose behind an owner.
#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace substrata {

const char* why_nothing_loads() noexcept {
  bool linked = false;
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* out) {
        for (int i = 0; i < program->dlpi_phnum; ++i)
          if (program->dlpi_phdr[i].p_type == PT_INTERP) *static_cast<bool*>(out) = true;
        return 1;  // the program is the first, and libraries do not count
      },
      &linked);
  return linked ? nullptr
                : "the program is linked with -static and loads nothing at run time; link it with libpapi.so";
}

SharedLibrary& SharedLibrary::operator=(SharedLibrary&& other) noexcept {
  if (this != &other) {
    if (handle_ != nullptr) dlclose(handle_);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

SharedLibrary::~SharedLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

Result<SharedLibrary> SharedLibrary::load(const std::string& path) {
  if (const char* why = why_nothing_loads()) return refuse(Code::kSystem, "%s: %s", path.c_str(), why);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return refuse(Code::kSystem, "%s", reason != nullptr ? reason : "the dynamic linker gave no reason");
  }
  return SharedLibrary(handle);
}

void* SharedLibrary::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace substrata
