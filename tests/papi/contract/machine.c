/* Questions about the machine and the program, and about regions of the high-level interface. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>

#include "questions.h"

void machine(void) {
  const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info();
  const PAPI_exe_info_t* const program = PAPI_get_executable_info();
  const PAPI_shlib_info_t* const shared = PAPI_get_shared_lib_info();
  PAPI_dmem_info_t memory;
  chapter = "machine";
  ASK("totalcpus", "", hardware->totalcpus);
  ASK("sockets x cores x threads", "", hardware->sockets * hardware->cores * hardware->threads);
  ASK("nnodes", "", hardware->nnodes);
  ASK("vendor", "", hardware->vendor);
  report_text("model_string", "", hardware->model_string);
  ASK("cpuid_family", "", hardware->cpuid_family);
  ASK("cpuid_model", "", hardware->cpuid_model);
  ASK("cpuid_stepping", "", hardware->cpuid_stepping);
  ASK("levels", "", hardware->mem_hierarchy.levels);
  for (int i = 0; i < 2; ++i)
    ASK("cache of level 1, its type", i == 0 ? "first" : "second",
        PAPI_MH_CACHE_TYPE(hardware->mem_hierarchy.level[0].cache[i].type));
  for (int level = 0; level < hardware->mem_hierarchy.levels && level < PAPI_MAX_MEM_HIERARCHY_LEVELS;
       level++) {
    char call[32];
    int size = 0, line = 0;
    for (int i = 0; i < PAPI_MH_MAX_LEVELS; i++) {
      const PAPI_mh_cache_info_t* const cache = &hardware->mem_hierarchy.level[level].cache[i];
      if (PAPI_MH_CACHE_TYPE(cache->type) != PAPI_MH_TYPE_EMPTY) size += cache->size, line = cache->line_size;
    }
    snprintf(call, sizeof call, "level %d cache bytes", level + 1);
    ASK(call, "", size);
    snprintf(call, sizeof call, "level %d line bytes", level + 1);
    ASK(call, "", line);
  }
  ASK("main in the text of the program", "",
      (uintptr_t)program->address_info.text_start <= (uintptr_t)machine &&
          (uintptr_t)machine < (uintptr_t)program->address_info.text_end);
  ASK("a shared library or more", "", shared->count > 0);
  ASK_ASIDE("PAPI_get_dmem_info", "NULL", PAPI_get_dmem_info(NULL));
  ASK("PAPI_get_dmem_info", "good", PAPI_get_dmem_info(&memory));
  ASK("resident > 0, size >= resident", "", memory.resident > 0 && memory.size >= memory.resident);
  ASK("pagesize", "", memory.pagesize);
}

/* The translation lookaside buffers of pages up to 4 MB. */
void translations(void) {
  chapter = "tlb";
  const PAPI_hw_info_t* const info = PAPI_get_hardware_info();
  if (info->vendor != PAPI_VENDOR_AMD) return; /* PAPI reads another leaf of Intel's, with old tables */
  for (int level = 0; level < 2 && level < info->mem_hierarchy.levels; ++level) {
    for (int i = 0; i < PAPI_MH_MAX_LEVELS; ++i) {
      const PAPI_mh_tlb_info_t* const tlb = &info->mem_hierarchy.level[level].tlb[i];
      if (tlb->num_entries == 0 || tlb->page_size > 4 << 20) continue;
      char which[64];
      snprintf(which, sizeof which, "level %d, type %d, pages of %d", level + 1, tlb->type & 0xf,
               tlb->page_size);
      report("entries", which, tlb->num_entries);
      report("ways", which, tlb->associativity);
    }
  }
}

void rates_and_regions(void) {
  float real, process, rate;
  long long count;
  chapter = "regions";
  ASK_ASIDE("PAPI_rate_stop", "nothing running", PAPI_rate_stop());
  ASK_ASIDE("PAPI_flops_rate", "not a floating-point event",
            PAPI_flops_rate(0, &real, &process, &count, &rate) < 0);
  ASK_ASIDE("PAPI_hl_region_begin", "NULL", PAPI_hl_region_begin(NULL));
  ASK_ASIDE("PAPI_hl_region_end", "nothing begun", PAPI_hl_region_end("z"));
  ASK_ASIDE("PAPI_hl_read", "nothing begun", PAPI_hl_read("z"));
  ASK_ASIDE("PAPI_hl_stop", "nothing begun", PAPI_hl_stop());
  ASK_ASIDE("PAPI_hl_region_begin", "good", PAPI_hl_region_begin("r"));
  ASK_ASIDE("PAPI_hl_read", "good", (PAPI_hl_region_begin("r"), PAPI_hl_read("r")));
  ASK_ASIDE("PAPI_hl_region_end", "good", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("r")));
  ASK_ASIDE("PAPI_hl_region_end", "another name", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("s")));
  ASK_ASIDE("PAPI_hl_read", "another name", (PAPI_hl_region_begin("r"), PAPI_hl_read("s")));
  ASK_ASIDE("PAPI_hl_region_begin", "the same name inside",
            (PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_hl_region_end", "after the same name inside",
            (PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r"), PAPI_hl_region_end("r")));
  ASK_ASIDE("PAPI_hl_region_begin", "beside a running set",
            (up(), PAPI_start(clock_set()), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_hl_region_begin", "again beside a running set",
            (up(), PAPI_start(clock_set()), PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_start", "beside a region", (PAPI_hl_region_begin("r"), PAPI_start(clock_set())));
  ASK_ASIDE(
      "PAPI_start", "after PAPI_hl_stop",
      (up(), PAPI_hl_region_begin("r"), PAPI_hl_region_end("r"), PAPI_hl_stop(), PAPI_start(clock_set())));
  ASK_ASIDE("PAPI_hl_stop", "good", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("r"), PAPI_hl_stop()));
}
