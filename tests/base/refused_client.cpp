// A client of PAPI under conditions in which the library can do nothing but refuse. Its exit status is 0 if
// every call came back with an error number (or success) and nothing was written into memory that had been
// freed.
#include <fcntl.h>
#include <malloc.h>
#include <papi.h>
#include <substrata/extensions.h>
#include <substrata/feed.h>
#include <substrata/owl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_ALLOCATOR 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR 0
#endif
#ifndef OWN_ALLOCATOR
#define OWN_ALLOCATOR 1
#endif

namespace {

// How many more allocations of this thread succeed; -1: all.
thread_local long left = -1;

// What was freed while `keeping`, filled with a pattern and never given back.
constexpr unsigned char kPattern = 0xdb;
constexpr std::size_t kMost = 1 << 16;
bool keeping = false;
void* kept[kMost];
std::size_t kept_count = 0;

[[maybe_unused]] bool exhausted() {
  if (left < 0) return false;
  if (left > 0) {
    --left;
    return false;
  }
  errno = ENOMEM;
  return true;
}

}  // namespace

#if OWN_ALLOCATOR
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) { return exhausted() ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return exhausted() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) { return exhausted() ? nullptr : __libc_realloc(old, size); }
void free(void* place) {
  if (place == nullptr || !keeping) return __libc_free(place);
  const std::size_t number = __atomic_fetch_add(&kept_count, 1, __ATOMIC_RELAXED);
  if (number >= kMost) return;
  std::memset(place, kPattern, malloc_usable_size(place));
  __atomic_store_n(&kept[number], place, __ATOMIC_RELEASE);
}
}
#endif

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  _exit(1);
}

// The last exit handler, as it is the first to be registered.
void check_freed_memory() {
  keeping = false;
  for (std::size_t i = 0; i < kept_count && i < kMost; ++i) {
    const auto* bytes = static_cast<const unsigned char*>(kept[i]);
    for (std::size_t k = 0; k < malloc_usable_size(kept[i]); ++k)
      if (bytes[k] != kPattern) fail("memory was written after it had been freed");
  }
}

// Its destructor runs after those of what the library keeps for the thread, which came later.
struct Late {
  bool used = false;
  ~Late() {
    if (PAPI_start(PAPI_NULL) != PAPI_ENOEVST) fail("the late call was not refused as it should");
    if (*substrata_last_error() == '\0') fail("the late refusal has no text");
    if (substrata_subscribe(nullptr, nullptr) != PAPI_EINVAL) fail("the feed's late call was not refused");
    if (*substrata_feed_error() == '\0') fail("the feed's late refusal has no text");
  }
};

void call_late() {
  thread_local Late late;
  late.used = true;
  PAPI_start(PAPI_NULL);
  substrata_subscribe(nullptr, nullptr);
}

int refuse_late() {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) fail("the library does not start");
  std::thread(call_late).join();
  call_late();
  return 0;
}

int measure_region() {
  if (PAPI_hl_region_begin("a") != PAPI_OK || PAPI_hl_region_end("a") != PAPI_OK) fail("no region");
  return 0;
}

int start(void) { return PAPI_start(PAPI_NULL); }
int subscribe(void) { return substrata_subscribe(nullptr, nullptr); }
int create(void) {
  int set = PAPI_NULL;
  return PAPI_create_eventset(&set);
}
int region(void) { return PAPI_hl_region_begin("a"); }
int name(void) {
  int code = 0;
  return PAPI_event_name_to_code("no such event", &code);
}
int (*const kCalls[])(void) = {start, subscribe, create, PAPI_register_thread, region, name};

// Every call as the first one of a thread, with memory for n allocations.
int exhaust_threads() {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) fail("the library does not start");
  if (PAPI_thread_init([]() -> unsigned long { return static_cast<unsigned long>(gettid()); }) != PAPI_OK)
    fail("threads");
  // What the process loads once (substrates, the libraries that they stand on) is there before memory ends.
  for (int (*const call)(void) : kCalls) call();
  for (long n = 0; n < 40; ++n) {
    for (std::size_t i = 0; i < std::size(kCalls); ++i) {
      int result = 1;
      std::thread([&] {
        left = n;
        result = kCalls[i]();
        left = -1;
      }).join();
      if (result > 0) fail("a call gave neither success nor an error");
      if (i < 2 && result == PAPI_OK) fail("a bad call succeeded");
    }
  }
  return 0;
}

// The process's first call, with memory for n allocations; each in a process of its own.
int exhaust_start() {
  for (long n = 0; n < 60; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      left = n;
      const int result = PAPI_library_init(PAPI_VER_CURRENT);
      left = -1;
      _exit(result == PAPI_VER_CURRENT || result < 0 ? 0 : 2);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "with memory for %ld allocations: wait status %#x\n", n, status);
      return 1;
    }
  }
  return 0;
}

// How many events Owl lists; -1: one of them twice.
int list_owls_events() {
  const int owl = PAPI_get_component_index("owl");
  std::set<std::string> names;
  int code = PAPI_NATIVE_MASK, way = PAPI_ENUM_FIRST;
  for (; PAPI_enum_cmp_event(&code, way, owl) == PAPI_OK; way = PAPI_ENUM_EVENTS) {
    char name[PAPI_MAX_STR_LEN];
    if (PAPI_event_code_to_name(code, name) != PAPI_OK || !names.insert(name).second) return -1;
  }
  return static_cast<int>(names.size());
}

// Owl's events listed after a new capsule, with memory for n allocations, and again with enough.
int exhaust_owls_list() {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) fail("the library does not start");
  int before = list_owls_events(), more = 0;
  for (long n = 0; n < 120; ++n) {
    const std::string name = "refused.capsule" + std::to_string(n);
    substrata_owl_capsule_options options{};
    options.struct_size = sizeof options;
    options.name = name.c_str();
    options.probes = "refused.*";
    options.module = "counter";
    substrata_owl_capsule* capsule = nullptr;
    if (substrata_owl_attach(&options, &capsule) != 0) fail(substrata_last_error());
    left = n;
    int code = 0;
    PAPI_event_name_to_code("owl:::no.such.event", &code);
    left = -1;
    const int now = list_owls_events();
    if (now < 0) fail("Owl lists an event twice");
    if (n == 0) more = now - before;
    if (now - before != more || more < 6) {
      std::fprintf(stderr, "with memory for %ld allocations: %d events more, not %d\n", n, now - before,
                   more);
      return 1;
    }
    before = now;
  }
  return 0;
}

int open_descriptors() {
  int count = 0;
  for (int file = 0; file < 256; ++file) count += fcntl(file, F_GETFD) >= 0;
  return count;
}

// An event of the kernel added and added beside another, with memory for n allocations.
int exhaust_kernels_events() {
  const char* const kNames[] = {"perf::TASK-CLOCK", "perf::PAGE-FAULTS"};
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) fail("the library does not start");
  int before = 0;
  for (long n = -1; n < 200; ++n) {
    int set = PAPI_NULL, refused = PAPI_OK;
    if (PAPI_create_eventset(&set) != PAPI_OK) fail("no eventset");
    for (const char* const name : kNames) {
      left = n;
      if (const int code = PAPI_add_named_event(set, name); code != PAPI_OK) refused = code;
      left = -1;
    }
    if (PAPI_cleanup_eventset(set) != PAPI_OK || PAPI_destroy_eventset(&set) != PAPI_OK)
      fail("not destroyed");
    if (n < 0 && refused != PAPI_OK) return 77;
    if (n < 0) before = open_descriptors();
    if (open_descriptors() != before) {
      std::fprintf(stderr, "with memory for %ld allocations: %d descriptors are left open\n", n,
                   open_descriptors() - before);
      return 1;
    }
  }
  return 0;
}

// A rate with memory for n allocations; the next eventset has the handle that it had before.
int exhaust_rates() {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) fail("the library does not start");
  int first = PAPI_NULL;
  if (PAPI_create_eventset(&first) != PAPI_OK) fail("no eventset");
  const int handle = first;
  if (PAPI_destroy_eventset(&first) != PAPI_OK) fail("not destroyed");
  for (long n = 0; n < 300; ++n) {
    float real = 0, process = 0, rate = 0;
    long long instructions = 0;
    left = n;
    PAPI_ipc(&real, &process, &instructions, &rate);
    left = -1;
    PAPI_rate_stop();
    int set = PAPI_NULL;
    if (PAPI_create_eventset(&set) != PAPI_OK) fail("no eventset");
    if (set != handle) {
      std::fprintf(stderr, "with memory for %ld allocations: an eventset is left\n", n);
      return 1;
    }
    if (PAPI_destroy_eventset(&set) != PAPI_OK) fail("not destroyed");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  std::atexit(check_freed_memory);
  keeping = OWN_ALLOCATOR != 0 && (mode == "late" || mode == "region");
  if (mode == "late") return refuse_late();
  if (mode == "region") return measure_region();
  if (mode == "threads") return exhaust_threads();
  if (mode == "start") return exhaust_start();
  if (mode == "kernel") return exhaust_kernels_events();
  if (mode == "rates") return exhaust_rates();
  if (mode == "owl") return exhaust_owls_list();
  return 2;
}
