// Regions of the program by number, and the phase each thread is in.
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include <substrata/feed.h>

namespace {

struct Regions {
  std::mutex mutex;
  std::unordered_map<std::string, uint16_t> numbers;
  std::deque<std::string> names;  // a deque: the strings handed out stay
};

Regions& regions() {
  static Regions* const all = new Regions;
  return *all;
}

uint16_t newest_phase = 0;  // written and read atomically

// A thread's own phase, and where its phase is to be read: there, once it has set one. Read for every access
// of a followed program: 16 bytes of the static TLS that loaders keep for such use.
struct ThreadPhase {
  const uint16_t* place = &newest_phase;
  uint16_t own = 0;
};
thread_local constinit ThreadPhase thread_phase __attribute__((tls_model("initial-exec")));

}  // namespace

extern "C" {

uint16_t substrata_region(const char* name) {
  if (name == nullptr) return 0;
  try {
    Regions& all = regions();
    const std::lock_guard lock(all.mutex);
    if (const auto known = all.numbers.find(name); known != all.numbers.end()) return known->second;
    if (all.names.size() >= 65535) return 0;
    all.names.emplace_back(name);
    const auto number = static_cast<uint16_t>(all.names.size());
    all.numbers.emplace(name, number);
    return number;
  } catch (...) {
    return 0;  // no memory for the name: its transactions have no phase
  }
}

const char* substrata_region_name(uint16_t region) {
  Regions& all = regions();
  const std::lock_guard lock(all.mutex);
  return region == 0 || region > all.names.size() ? nullptr : all.names[region - 1u].c_str();
}

uint16_t substrata_set_phase(uint16_t phase) {
  const uint16_t old = substrata_phase();
  thread_phase.own = phase;
  thread_phase.place = &thread_phase.own;
  __atomic_store_n(&newest_phase, phase, __ATOMIC_RELAXED);
  return old;
}

uint16_t substrata_phase(void) { return __atomic_load_n(thread_phase.place, __ATOMIC_RELAXED); }
const uint16_t* const* substrata_phase_place(void) { return &thread_phase.place; }

}  // extern "C"
