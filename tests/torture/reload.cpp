// Loads a libpapi, uses it in two threads, unloads it while neither is inside; as often as asked.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kVersion = 0x07030000;

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

bool use(void* library) {
  int set = -1;
  long long value = -1;
  return find<int(int)>(library, "PAPI_library_init")(kVersion) == kVersion &&
         find<int(int*)>(library, "PAPI_create_eventset")(&set) == 0 &&
         find<int(int, const char*)>(library, "PAPI_add_named_event")(set, "example:::constant") == 0 &&
         find<int(int)>(library, "PAPI_start")(set) == 0 &&
         find<int(int, long long*)>(library, "PAPI_stop")(set, &value) == 0 && value == 42;
}

// An eventset counts when the library goes.
bool leave_running(void* library) {
  int set = -1;
  return find<int(int*)>(library, "PAPI_create_eventset")(&set) == 0 &&
         find<int(int, const char*)>(library, "PAPI_add_named_event")(set, "example:::constant") == 0 &&
         find<int(int)>(library, "PAPI_start")(set) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc == 3 ? std::atoi(argv[2]) : 0;
  for (int i = 0; i < rounds; ++i) {
    void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    if (!use(library)) return 3;
    bool good = false;
    std::thread([&] { good = use(library); }).join();  // it ends with an eventset of its own
    if (!good) return 4;
    if (i % 2 == 0)
      find<void()>(library, "PAPI_shutdown")();
    else if (!leave_running(library))
      return 6;
    dlclose(library);
  }
  return rounds > 0 ? 0 : 5;
}
