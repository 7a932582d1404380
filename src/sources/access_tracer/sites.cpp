// Fills in sites, and adds their counts up.
#include "sources/access_tracer/sites.hpp"

namespace substrata::access_tracer {

void move_away(Tallies& tallies, substrata_memory_site& site) {
  if (site.count == 0) return;
  Tally& tally = tallies[{site.pc, site.object, site.kind}];
  tally.accesses += site.count;
  tally.bytes += site.count * site.size;
  site.count = 0;
}

Tallies counts_of(const Tallies& moved, const substrata_memory_thread& table) {
  Tallies counts = moved;
  for (const auto& site : table.sites) {
    const uint64_t count = __atomic_load_n(&site.count, __ATOMIC_RELAXED);
    if (count == 0) continue;
    Tally& tally = counts[{site.pc, site.object, site.kind}];
    tally.accesses += count;
    tally.bytes += count * site.size;
  }
  return counts;
}

substrata_memory_site bound_to(uint64_t key, uintptr_t pc, const Extent& extent, bool watched, unsigned kind,
                               unsigned size) {
  return {.key = key,
          .low = extent.low,
          .length = watched ? 0 : extent.length,
          .count = 1,
          .extent = extent.length,
          .pc = pc,
          .object = extent.object,
          .kind = static_cast<uint8_t>(kind),
          .size = static_cast<uint8_t>(size),
          .reserved = {},
          .padding = 0};
}

substrata_memory_site bound_to_calls(uint64_t key, uintptr_t pc, uint32_t object) {
  return bound_to(key, pc, {0, UINTPTR_MAX, object}, false, SUBSTRATA_MEMORY_CALL, 0);
}

}  // namespace substrata::access_tracer
