// papi_mem_info: the caches and translation buffers of the processor.
#include <cstdio>

#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

const char* kind(int type) {
  switch (PAPI_MH_CACHE_TYPE(type)) {
    case PAPI_MH_TYPE_INST:
      return "Instruction";
    case PAPI_MH_TYPE_DATA:
      return "Data";
    case PAPI_MH_TYPE_UNIFIED:
      return "Unified";
    default:
      return nullptr;
  }
}

}  // namespace

int main() {
  start_library();
  const PAPI_hw_info_t* hardware = PAPI_get_hardware_info();
  if (hardware == nullptr) {
    std::fprintf(stderr, "papi_mem_info: the library knows nothing of this machine\n");
    return 1;
  }
  const PAPI_mh_info_t& memory = hardware->mem_hierarchy;
  std::printf("Memory Cache and TLB Hierarchy Information.\n");
  print_rule(72);
  std::printf(
      "TLB Information.\n  There may be multiple descriptors for each level of TLB\n"
      "  if multiple page sizes are supported.\n\n");
  for (int level = 0; level < memory.levels; ++level)
    for (const PAPI_mh_tlb_info_t& tlb : memory.level[level].tlb) {
      if (kind(tlb.type) == nullptr) continue;
      std::printf("L%d %s TLB:\n", level + 1, kind(tlb.type));
      if (tlb.page_size != 0) std::printf("  Page Size:         %6d KB\n", tlb.page_size >> 10);
      std::printf("  Number of Entries: %6d\n  Associativity:     %6d\n\n", tlb.num_entries,
                  tlb.associativity);
    }
  std::printf("\nCache Information.\n\n");
  for (int level = 0; level < memory.levels; ++level)
    for (const PAPI_mh_cache_info_t& cache : memory.level[level].cache) {
      if (kind(cache.type) == nullptr) continue;
      std::printf("L%d %s Cache:\n", level + 1, kind(cache.type));
      std::printf(
          "  Total size:        %6d KB\n  Line size:         %6d B\n  Number of Lines:   %6d\n"
          "  Associativity:     %6d\n\n",
          cache.size >> 10, cache.line_size, cache.num_lines, cache.associativity);
    }
  PAPI_shutdown();
  return 0;
}
