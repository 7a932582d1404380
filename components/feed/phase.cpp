// Regions of the program by number, and the phase each thread is in.
#include <atomic>
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

std::atomic<uint16_t> newest_phase{0};

// A thread's own phase, once it has set one.
struct ThreadPhase {
  bool set = false;
  uint16_t value = 0;
};
// Read for every access of a followed program: four bytes of the static TLS that loaders keep for such use.
thread_local ThreadPhase thread_phase __attribute__((tls_model("initial-exec")));

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
  thread_phase = {true, phase};
  newest_phase.store(phase, std::memory_order_relaxed);
  return old;
}

uint16_t substrata_phase(void) {
  return thread_phase.set ? thread_phase.value : newest_phase.load(std::memory_order_relaxed);
}

}  // extern "C"
