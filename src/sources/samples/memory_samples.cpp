// Intel's mem-loads and AMD's ibs_op; union perf_mem_data_src of <linux/perf_event.h> as kinds, states and sources.
#include "sources/samples/memory_samples.hpp"

#include <substrata/samples.h>

#include <algorithm>
#include <optional>

namespace substrata::samples {
namespace {

// An event of a unit that counts on the processors, as its terms say.
std::optional<perf_event_attr> event_of(const perf::Pmu& pmu, const std::string& terms, bool from_exec) {
  std::string ignored;
  const std::optional<perf::ConfigWords> words = perf::encode_terms(pmu, terms, &ignored);
  if (!words) return std::nullopt;
  perf_event_attr event = pages::sampled_event(pmu.type, words->word[0], from_exec);
  event.config1 = words->word[1];
  event.config2 = words->word[2];
  return event;
}

int source_of(const perf_mem_data_src& of) {
  const bool far_away = of.mem_remote != 0 && of.mem_hops != 1;  // 1: of another core of the node
  switch (of.mem_lvl_num) {
    case PERF_MEM_LVLNUM_L1:
      return far_away ? SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE : SUBSTRATA_SAMPLES_FROM_L1;
    case PERF_MEM_LVLNUM_LFB:
      return SUBSTRATA_SAMPLES_FROM_FILL_BUFFER;
    case PERF_MEM_LVLNUM_L2:
      return far_away ? SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE : SUBSTRATA_SAMPLES_FROM_L2;
    case PERF_MEM_LVLNUM_L3:
      return far_away ? SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE : SUBSTRATA_SAMPLES_FROM_L3;
    case PERF_MEM_LVLNUM_ANY_CACHE:
      return far_away ? SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE : SUBSTRATA_SAMPLES_FROM_UNKNOWN;
    case PERF_MEM_LVLNUM_RAM:
      return far_away ? SUBSTRATA_SAMPLES_FROM_REMOTE_MEMORY : SUBSTRATA_SAMPLES_FROM_MEMORY;
    case PERF_MEM_LVLNUM_PMEM:
      return SUBSTRATA_SAMPLES_FROM_OTHER;
    default:
      break;
  }
  // The older bits, of kernels that do not give the number. A miss in a level is no place where data were found.
  const uint64_t level = of.mem_lvl;
  if ((level & PERF_MEM_LVL_MISS) != 0) return SUBSTRATA_SAMPLES_FROM_UNKNOWN;
  if ((level & PERF_MEM_LVL_L1) != 0) return SUBSTRATA_SAMPLES_FROM_L1;
  if ((level & PERF_MEM_LVL_LFB) != 0) return SUBSTRATA_SAMPLES_FROM_FILL_BUFFER;
  if ((level & PERF_MEM_LVL_L2) != 0) return SUBSTRATA_SAMPLES_FROM_L2;
  if ((level & PERF_MEM_LVL_L3) != 0) return SUBSTRATA_SAMPLES_FROM_L3;
  if ((level & PERF_MEM_LVL_LOC_RAM) != 0) return SUBSTRATA_SAMPLES_FROM_MEMORY;
  if ((level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)) != 0)
    return SUBSTRATA_SAMPLES_FROM_REMOTE_MEMORY;
  if ((level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) != 0)
    return SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE;
  if ((level & (PERF_MEM_LVL_IO | PERF_MEM_LVL_UNC)) != 0) return SUBSTRATA_SAMPLES_FROM_OTHER;
  return SUBSTRATA_SAMPLES_FROM_UNKNOWN;
}

uint16_t state_of(const perf_mem_data_src& of, int source) {
  if ((of.mem_snoop & PERF_MEM_SNOOP_HITM) != 0) return SUBSTRATA_MODIFIED;
  if (source == SUBSTRATA_SAMPLES_FROM_L1) return SUBSTRATA_HIT;
  const bool missed = (of.mem_lvl & PERF_MEM_LVL_MISS) != 0 && (of.mem_lvl & PERF_MEM_LVL_L1) != 0;
  return source != SUBSTRATA_SAMPLES_FROM_UNKNOWN || missed ? SUBSTRATA_MISS : SUBSTRATA_STATE_NONE;
}

}  // namespace

bool find_memory_event(const std::vector<perf::Pmu>& pmus, bool from_exec, uint64_t frequency,
                       MemoryEvent* found, std::string* why) {
  for (const perf::Pmu& pmu : pmus) {
    const auto loads = pmu.events.find("mem-loads");
    const bool intel = pmu.core && loads != pmu.events.end();
    if (!intel && pmu.name != "ibs_op") continue;
    // IBS counts operations where it can, else cycles.
    std::optional<perf_event_attr> event = event_of(pmu,
                                                    intel                              ? loads->second
                                                    : pmu.format.count("cnt_ctl") != 0 ? "cnt_ctl=1"
                                                                                       : "",
                                                    from_exec);
    if (!event) continue;
    event->sample_type |= PERF_SAMPLE_DATA_SRC;
    event->freq = 1;
    event->sample_freq = frequency;
    *found = {};
    found->wanted.processors = pmu.cpus;
    if (intel) {
      event->precise_ip = 2;
      found->by = SUBSTRATA_SAMPLES_LOADS;
      // Since Sapphire Rapids loads count in a group behind an event of their own only.
      if (const auto leader = pmu.events.find("mem-loads-aux"); leader != pmu.events.end()) {
        found->wanted.leader = event_of(pmu, leader->second, from_exec);
        if (!found->wanted.leader) continue;
        event->disabled = 0;
        event->enable_on_exec = 0;
      }
    } else {
      event->exclude_hv = 0;  // IBS can leave nothing out
      found->wanted.takes_exclusions = false;
      found->by = SUBSTRATA_SAMPLES_OPERATIONS;
    }
    found->wanted.event = *event;
    return true;
  }
  *why =
      "the kernel offers no event that samples loads with their addresses (Intel's mem-loads, AMD's ibs_op; "
      "virtual "
      "machines rarely have them, Arm's SPE is not read): trace a recompiled program instead (substrata-cc)";
  return false;
}

bool fill_memory_sample(const pages::Sample& sample, substrata_transaction& access) {
  perf_mem_data_src of{};
  of.val = sample.data_source;
  const bool load = (of.mem_op & PERF_MEM_OP_LOAD) != 0, store = (of.mem_op & PERF_MEM_OP_STORE) != 0;
  if (sample.address == 0 || (!load && !store)) return false;
  const bool locked = (of.mem_lock & PERF_MEM_LOCK_LOCKED) != 0;
  const int source = source_of(of);
  access.kind = locked || (load && store) ? SUBSTRATA_ATOMIC : load ? SUBSTRATA_READ : SUBSTRATA_WRITE;
  access.address = sample.address;
  access.state = state_of(of, source);
  access.detail = static_cast<uint64_t>(source);
  return true;
}

}  // namespace substrata::samples
