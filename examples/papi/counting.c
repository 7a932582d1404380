// PAPI_create_eventset to PAPI_destroy_eventset: what is added is counted, read while it runs, added up, set to zero.
#include "common.h"

int main(void) {
  begin();
  int set = PAPI_NULL, codes[2], listed[2], number = 2, state = 0;
  long long values[2], sums[2] = {0, 0}, cycles = 0;
  must(PAPI_create_eventset(&set), "PAPI_create_eventset");
  must(PAPI_event_name_to_code(TASK_CLOCK, &codes[0]), "PAPI_event_name_to_code");
  must(PAPI_event_name_to_code(PAGE_FAULTS, &codes[1]), "PAPI_event_name_to_code");
  must(PAPI_add_events(set, codes, 2), "PAPI_add_events");
  must(PAPI_list_events(set, listed, &number), "PAPI_list_events");

  must(PAPI_start(set), "PAPI_start");
  must(PAPI_state(set, &state), "PAPI_state");
  if ((state & PAPI_RUNNING) == 0) return 1;
  compute(1000000);
  must(PAPI_read(set, values), "PAPI_read");
  compute(1000000);
  must(PAPI_read_ts(set, values, &cycles), "PAPI_read_ts");
  const long long both = values[0];
  must(PAPI_accum(set, sums), "PAPI_accum");  // the counts are zero now
  must(PAPI_read(set, values), "PAPI_read");
  if (sums[0] < both || values[0] >= sums[0]) return 1;
  must(PAPI_reset(set), "PAPI_reset");
  must(PAPI_stop(set, values), "PAPI_stop");
  printf("%d events, %lld ns in all, %lld ns since the reset\n", number, sums[0], values[0]);

  must(PAPI_remove_event(set, codes[1]), "PAPI_remove_event");
  must(PAPI_remove_named_event(set, TASK_CLOCK), "PAPI_remove_named_event");
  if (PAPI_num_events(set) != 0) return 1;
  must(PAPI_cleanup_eventset(set), "PAPI_cleanup_eventset");
  must(PAPI_destroy_eventset(&set), "PAPI_destroy_eventset");
  PAPI_shutdown();
  return 0;
}
