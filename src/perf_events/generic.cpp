// The kernel's generic events under libpfm4's names, and the qualifiers such names take.
#include <cctype>

#include "base/immortal.hpp"
#include "base/parse.hpp"
#include "perf_events/encoding.hpp"

namespace substrata::perf {
namespace {

constexpr uint64_t kCgroupSwitches = 11;  // PERF_COUNT_SW_CGROUP_SWITCHES, since Linux 5.13

constexpr uint64_t cache(uint64_t id, uint64_t operation, uint64_t result) {
  return id | operation << 8 | result << 16;
}

}  // namespace

perf_event_attr blank_attr() noexcept {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  return attr;
}

const std::vector<GenericEvent>& generic_events() {
  static Immortal<const std::vector<GenericEvent>> events(std::initializer_list<GenericEvent>{
      {"PERF_COUNT_HW_CPU_CYCLES", "processor cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false,
       false, ""},
      {"CYCLES", "processor cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, ""},
      {"CPU-CYCLES", "processor cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false, ""},
      {"PERF_COUNT_HW_INSTRUCTIONS", "instructions retired", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
       false, false, ""},
      {"INSTRUCTIONS", "instructions retired", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, false,
       ""},
      {"PERF_COUNT_HW_CACHE_REFERENCES", "cache accesses, mostly of the last level", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_CACHE_REFERENCES, false, false, ""},
      {"CACHE-REFERENCES", "cache accesses, mostly of the last level", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_CACHE_REFERENCES, false, false, ""},
      {"PERF_COUNT_HW_CACHE_MISSES", "cache misses, mostly of the last level", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_CACHE_MISSES, false, false, ""},
      {"CACHE-MISSES", "cache misses, mostly of the last level", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_CACHE_MISSES, false, false, ""},
      {"PERF_COUNT_HW_BRANCH_INSTRUCTIONS", "branch instructions retired", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, false, ""},
      {"BRANCH-INSTRUCTIONS", "branch instructions retired", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, false, ""},
      {"BRANCHES", "branch instructions retired", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
       false, false, ""},
      {"PERF_COUNT_HW_BRANCH_MISSES", "mispredicted branch instructions", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_BRANCH_MISSES, false, false, ""},
      {"BRANCH-MISSES", "mispredicted branch instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES,
       false, false, ""},
      {"PERF_COUNT_HW_BUS_CYCLES", "bus cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, false, false,
       ""},
      {"BUS-CYCLES", "bus cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, false, false, ""},
      {"PERF_COUNT_HW_STALLED_CYCLES_FRONTEND", "cycles stalled waiting for instructions", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false, false, ""},
      {"STALLED-CYCLES-FRONTEND", "cycles stalled waiting for instructions", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false, false, ""},
      {"IDLE-CYCLES-FRONTEND", "cycles stalled waiting for instructions", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, false, false, ""},
      {"PERF_COUNT_HW_STALLED_CYCLES_BACKEND", "cycles stalled waiting for execution resources",
       PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false, false, ""},
      {"STALLED-CYCLES-BACKEND", "cycles stalled waiting for execution resources", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false, false, ""},
      {"IDLE-CYCLES-BACKEND", "cycles stalled waiting for execution resources", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_STALLED_CYCLES_BACKEND, false, false, ""},
      {"PERF_COUNT_HW_REF_CPU_CYCLES", "reference cycles, not affected by frequency scaling",
       PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, false, false, ""},
      {"REF-CYCLES", "reference cycles, not affected by frequency scaling", PERF_TYPE_HARDWARE,
       PERF_COUNT_HW_REF_CPU_CYCLES, false, false, ""},
      {"PERF_COUNT_SW_CPU_CLOCK", "time by the processor's clock", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CPU_CLOCK, false, false, "ns"},
      {"CPU-CLOCK", "time by the processor's clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false,
       false, "ns"},
      {"PERF_COUNT_SW_TASK_CLOCK", "time the thread ran", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false,
       false, "ns"},
      {"TASK-CLOCK", "time the thread ran", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, false, "ns"},
      {"PERF_COUNT_SW_PAGE_FAULTS", "page faults, minor and major", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_PAGE_FAULTS, false, false, ""},
      {"PAGE-FAULTS", "page faults, minor and major", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false,
       false, ""},
      {"FAULTS", "page faults, minor and major", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false,
       ""},
      {"PERF_COUNT_SW_CONTEXT_SWITCHES", "context switches away from the thread", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CONTEXT_SWITCHES, false, true, ""},
      {"CONTEXT-SWITCHES", "context switches away from the thread", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CONTEXT_SWITCHES, false, true, ""},
      {"CS", "context switches away from the thread", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES,
       false, true, ""},
      {"PERF_COUNT_SW_CPU_MIGRATIONS", "moves of the thread to another processor", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CPU_MIGRATIONS, false, true, ""},
      {"CPU-MIGRATIONS", "moves of the thread to another processor", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CPU_MIGRATIONS, false, true, ""},
      {"MIGRATIONS", "moves of the thread to another processor", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_CPU_MIGRATIONS, false, true, ""},
      {"PERF_COUNT_SW_PAGE_FAULTS_MIN", "page faults served without reading a disk", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false, ""},
      {"MINOR-FAULTS", "page faults served without reading a disk", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_PAGE_FAULTS_MIN, false, false, ""},
      {"PERF_COUNT_SW_PAGE_FAULTS_MAJ", "page faults that had to read a disk", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false, ""},
      {"MAJOR-FAULTS", "page faults that had to read a disk", PERF_TYPE_SOFTWARE,
       PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, false, ""},
      {"PERF_COUNT_SW_CGROUP_SWITCHES", "context switches to a thread of another cgroup", PERF_TYPE_SOFTWARE,
       kCgroupSwitches, false, true, ""},
      {"CGROUP-SWITCHES", "context switches to a thread of another cgroup", PERF_TYPE_SOFTWARE,
       kCgroupSwitches, false, true, ""},
      {"PERF_COUNT_HW_CACHE_L1D", "level 1 data cache: read accesses, or what the masks say",
       PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D, true, false, ""},
      {"L1-DCACHE-LOADS", "level 1 data cache: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"L1-DCACHE-LOAD-MISSES", "level 1 data cache: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"L1-DCACHE-STORES", "level 1 data cache: write accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"L1-DCACHE-STORE-MISSES", "level 1 data cache: write misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"L1-DCACHE-PREFETCHES", "level 1 data cache: prefetch accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"L1-DCACHE-PREFETCH-MISSES", "level 1 data cache: prefetch misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS),
       false, false, ""},
      {"PERF_COUNT_HW_CACHE_L1I", "level 1 instruction cache: read accesses, or what the masks say",
       PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1I, true, false, ""},
      {"L1-ICACHE-LOADS", "level 1 instruction cache: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"L1-ICACHE-LOAD-MISSES", "level 1 instruction cache: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"L1-ICACHE-PREFETCHES", "level 1 instruction cache: prefetch accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"L1-ICACHE-PREFETCH-MISSES", "level 1 instruction cache: prefetch misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS),
       false, false, ""},
      {"PERF_COUNT_HW_CACHE_LL", "last level cache: read accesses, or what the masks say", PERF_TYPE_HW_CACHE,
       PERF_COUNT_HW_CACHE_LL, true, false, ""},
      {"LLC-LOADS", "last level cache: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"LLC-LOAD-MISSES", "last level cache: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"LLC-STORES", "last level cache: write accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"LLC-STORE-MISSES", "last level cache: write misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"LLC-PREFETCHES", "last level cache: prefetch accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"LLC-PREFETCH-MISSES", "last level cache: prefetch misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"PERF_COUNT_HW_CACHE_DTLB", "data TLB: read accesses, or what the masks say", PERF_TYPE_HW_CACHE,
       PERF_COUNT_HW_CACHE_DTLB, true, false, ""},
      {"DTLB-LOADS", "data TLB: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"DTLB-LOAD-MISSES", "data TLB: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"DTLB-STORES", "data TLB: write accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"DTLB-STORE-MISSES", "data TLB: write misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"DTLB-PREFETCHES", "data TLB: prefetch accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"DTLB-PREFETCH-MISSES", "data TLB: prefetch misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_DTLB, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS),
       false, false, ""},
      {"PERF_COUNT_HW_CACHE_ITLB", "instruction TLB: read accesses, or what the masks say",
       PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_ITLB, true, false, ""},
      {"ITLB-LOADS", "instruction TLB: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_ITLB, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"ITLB-LOAD-MISSES", "instruction TLB: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_ITLB, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"PERF_COUNT_HW_CACHE_BPU", "branch prediction unit: read accesses, or what the masks say",
       PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_BPU, true, false, ""},
      {"BRANCH-LOADS", "branch prediction unit: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_BPU, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"BRANCH-LOAD-MISSES", "branch prediction unit: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_BPU, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"PERF_COUNT_HW_CACHE_NODE", "memory of the node: read accesses, or what the masks say",
       PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_NODE, true, false, ""},
      {"NODE-LOADS", "memory of the node: read accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS), false,
       false, ""},
      {"NODE-LOAD-MISSES", "memory of the node: read misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"NODE-STORES", "memory of the node: write accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"NODE-STORE-MISSES", "memory of the node: write misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS), false,
       false, ""},
      {"NODE-PREFETCHES", "memory of the node: prefetch accesses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS),
       false, false, ""},
      {"NODE-PREFETCH-MISSES", "memory of the node: prefetch misses", PERF_TYPE_HW_CACHE,
       cache(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS),
       false, false, ""},
  });
  return *events;
}

const GenericEvent* find_generic(std::string_view name) {
  for (const GenericEvent& event : generic_events())
    if (same_name(event.name, name)) return &event;
  return nullptr;
}

const std::vector<Qualifier>& generic_qualifiers() {
  static Immortal<const std::vector<Qualifier>> qualifiers(std::initializer_list<Qualifier>{
      {"u=0", "monitor at user level"},
      {"k=0", "monitor at kernel level"},
      {"h=0", "monitor at hypervisor level"},
      {"period=0", "sampling period"},
      {"freq=0", "sampling frequency (Hz)"},
      {"precise=0", "precise event sampling"},
      {"excl=0", "exclusive access"},
      {"mg=0", "monitor guest execution"},
      {"mh=0", "monitor host execution"},
      {"cpu=0", "CPU to program"},
      {"pinned=0", "pin event to counters"},
  });
  return *qualifiers;
}

bool same_name(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(a[i])) != std::tolower(static_cast<unsigned char>(b[i])))
      return false;
  return true;
}

bool apply_qualifiers(std::string_view qualifiers, bool cache_umasks, Encoding* encoding,
                      std::string* error) {
  bool user = false, kernel = false, hypervisor = false, domain = false;
  bool guest = false, host = false, virtualised = false;
  bool masked = false;
  bool by_period = false, by_frequency = false;
  uint64_t operation = PERF_COUNT_HW_CACHE_OP_READ, result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
  while (!qualifiers.empty()) {
    const size_t colon = qualifiers.find(':');
    const std::string_view item = qualifiers.substr(0, colon);
    qualifiers = colon == std::string_view::npos ? std::string_view() : qualifiers.substr(colon + 1);
    const size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    uint64_t value = 1;
    if (equals != std::string_view::npos) {
      if (!parse_number(item.substr(equals + 1), &value)) {
        *error = "the qualifier '" + std::string(item) + "' has no number";
        return false;
      }
    }
    const auto is = [&](const char* name) { return same_name(key, name); };
    const bool flag = value <= 1;
    if (is("u") && flag) {
      user = value != 0;
      domain = true;
    } else if (is("k") && flag) {
      kernel = value != 0;
      domain = true;
    } else if (is("h") && flag) {
      hypervisor = value != 0;
      domain = true;
    } else if (is("mg") && flag) {
      guest = value != 0;
      virtualised = true;
    } else if (is("mh") && flag) {
      host = value != 0;
      virtualised = true;
    } else if (is("period") && !by_frequency) {
      by_period = true;
      for (Leg& leg : encoding->legs) leg.attr.sample_period = value;
    } else if (is("freq") && !by_period) {
      by_frequency = true;
      for (Leg& leg : encoding->legs) {
        leg.attr.freq = value != 0;
        leg.attr.sample_freq = value;
      }
    } else if (is("precise") && value <= 3) {
      for (Leg& leg : encoding->legs) leg.attr.precise_ip = value & 3;
    } else if (is("excl") && flag) {
      for (Leg& leg : encoding->legs) leg.attr.exclusive = value & 1;
    } else if (is("pinned") && flag) {
      for (Leg& leg : encoding->legs) leg.attr.pinned = value & 1;
    } else if (is("cpu") && value < 65536) {
      encoding->fixed_cpu = true;
      for (Leg& leg : encoding->legs) leg.cpu = static_cast<int>(value);
    } else if (cache_umasks && equals == std::string_view::npos &&
               (is("READ") || is("WRITE") || is("PREFETCH"))) {
      operation = is("READ")    ? PERF_COUNT_HW_CACHE_OP_READ
                  : is("WRITE") ? PERF_COUNT_HW_CACHE_OP_WRITE
                                : PERF_COUNT_HW_CACHE_OP_PREFETCH;
      masked = true;
    } else if (cache_umasks && equals == std::string_view::npos && (is("ACCESS") || is("MISS"))) {
      result = is("MISS") ? PERF_COUNT_HW_CACHE_RESULT_MISS : PERF_COUNT_HW_CACHE_RESULT_ACCESS;
      masked = true;
    } else {
      *error = "the qualifier '" + std::string(item) +
               "' is unknown or out of range; known are u k h mg mh excl pinned (0, 1), period or freq, "
               "precise, cpu" +
               (cache_umasks ? ", READ WRITE PREFETCH ACCESS MISS" : "");
      return false;
    }
  }
  for (Leg& leg : encoding->legs) {
    if (domain) {
      leg.attr.exclude_user = !user;
      leg.attr.exclude_kernel = !kernel;
      leg.attr.exclude_hv = !hypervisor;
    }
    if (virtualised) {
      leg.attr.exclude_guest = !guest;
      leg.attr.exclude_host = !host;
    }
    if (masked) leg.attr.config |= cache(0, operation, result);
  }
  if (domain) encoding->explicit_domain = true;
  return true;
}

}  // namespace substrata::perf
