// PAPI_hl_region_begin, _read, _end: regions by name; the report is written when the program ends.
#include "common.h"

int main(void) {
  begin();
  PAPI_shutdown();
  setenv("PAPI_EVENTS", TASK_CLOCK, 1);
  for (int i = 0; i < 3; ++i) {
    must(PAPI_hl_region_begin("outer"), "PAPI_hl_region_begin");
    compute(100000);
    must(PAPI_hl_region_begin("inner"), "PAPI_hl_region_begin");
    compute(100000);
    must(PAPI_hl_read("inner"), "PAPI_hl_read");
    compute(100000);
    must(PAPI_hl_region_end("inner"), "PAPI_hl_region_end");
    must(PAPI_hl_region_end("outer"), "PAPI_hl_region_end");
  }
  must(PAPI_hl_stop(), "PAPI_hl_stop");
  puts("three passes of two regions: see papi_hl_output");
  return 0;
}
