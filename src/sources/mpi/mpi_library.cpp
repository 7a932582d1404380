// Finds definitions in all objects that the process has loaded, of whatever scope.
#include "sources/mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <climits>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace substrata::mpi {
namespace {

#ifdef OPEN_MPI
constexpr const char* kLibrary = "libmpi.so.40";
#else
constexpr const char* kLibrary = "libmpich.so.12";
#endif

bool is_ours(const void* address) {
  Dl_info theirs{}, ours{};
  return dladdr(address, &theirs) != 0 && dladdr(&found_library, &ours) != 0 &&
         theirs.dli_fbase == ours.dli_fbase;
}

// What the object of this name and those that it needs define; null also where it is not loaded.
void* defined_in(const char* object, const char* name) {
  if (object == nullptr || object[0] == '\0') return nullptr;
  void* const handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = dlsym(handle, name);
  dlclose(handle);
  return found != nullptr && !is_ours(found) ? found : nullptr;
}

// The name of a loaded object by its place among those whose name has `part`. No object is opened while they are
// listed: that would wait for the list's own lock.
class Objects {
 public:
  explicit Objects(const char* part) : part_(part) {}
  const char* next() {
    left_ = seen_++;
    path_[0] = '\0';
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* out) -> int {
          auto& self = *static_cast<Objects*>(out);
          const char* const path = info->dlpi_name;
          if (path == nullptr || path[0] == '\0' || std::strlen(path) >= sizeof self.path_ ||
              std::strstr(path, self.part_) == nullptr)
            return 0;
          if (self.left_-- != 0) return 0;
          std::strcpy(self.path_, path);
          return 1;
        },
        this);
    return path_[0] != '\0' ? path_ : nullptr;
  }

 private:
  const char* const part_;
  size_t seen_ = 0;
  size_t left_ = 0;
  char path_[PATH_MAX];
};

void* defined_anywhere(const char* part, const char* name) {
  Objects objects(part);
  while (const char* const path = objects.next())
    if (void* const found = defined_in(path, name)) return found;
  return nullptr;
}

// It is remembered, so that its object must not be unloaded.
void* kept(void* found) {
  Dl_info about{};
  if (found == nullptr || dladdr(found, &about) == 0) return found;
  if (void* const handle = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
  return found;
}

}  // namespace

void* next_definition(const char* name, const void* caller) noexcept {
  if (void* const found = dlsym(RTLD_NEXT, name)) return kept(found);
  Dl_info about{};
  if (caller != nullptr && dladdr(caller, &about) != 0)
    if (void* const found = defined_in(about.dli_fname, name)) return kept(found);
  return kept(defined_anywhere("", name));
}

void* object_of_library(const char* name) noexcept {
  // A program that is linked to a fixed address has a copy of its own, which all use.
  void* const found = dlsym(RTLD_DEFAULT, name);
  return kept(found != nullptr ? found : defined_anywhere(kLibrary, name));
}

bool find_library() noexcept {
  if (Objects(kLibrary).next() == nullptr) return false;
  bool whole = true;
  const auto function = [&](auto& out, const char* name) {
    void* found = dlsym(RTLD_NEXT, name);  // another tool's comes before the library's
    if (found == nullptr) found = kept(defined_anywhere(kLibrary, name));
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(found);
    whole = whole && found != nullptr;
  };
  Library& out = found_library;
#define SUBSTRATA_ONE(name) function(out.name, "PMPI_" #name);
  SUBSTRATA_MPI_FUNCTIONS(SUBSTRATA_ONE)
#undef SUBSTRATA_ONE
#define SUBSTRATA_ONE(name) whole = (out.name = object_of_library(#name)) != nullptr && whole;
  SUBSTRATA_MPI_OBJECTS(SUBSTRATA_ONE)
#undef SUBSTRATA_ONE
  return whole;
}

}  // namespace substrata::mpi
