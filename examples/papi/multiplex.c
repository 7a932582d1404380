// PAPI_multiplex_init, PAPI_set_multiplex: more events than counters, in turns.
#include "common.h"

int main(void) {
  begin();
  int set = PAPI_NULL;
  must(PAPI_multiplex_init(), "PAPI_multiplex_init");
  must(PAPI_create_eventset(&set), "PAPI_create_eventset");
  must(PAPI_assign_eventset_component(set, PAPI_get_component_index("perf_event")),
       "PAPI_assign_eventset_component");
  must(PAPI_set_multiplex(set), "PAPI_set_multiplex");
  if (PAPI_get_multiplex(set) != 1) return 1;

  // Every preset that counts here, after the task clock.
  must(PAPI_add_named_event(set, TASK_CLOCK), "PAPI_add_named_event");
  int code = PAPI_PRESET_MASK;
  if (PAPI_enum_event(&code, PAPI_ENUM_FIRST) == PAPI_OK) do {
      if (PAPI_query_event(code) == PAPI_OK) (void)PAPI_add_event(set, code);
    } while (PAPI_enum_event(&code, PAPI_PRESET_ENUM_AVAIL) == PAPI_OK);
  const int number = PAPI_num_events(set);
  long long* values = calloc((size_t)number, sizeof *values);
  if (values == NULL) return 1;
  must(PAPI_start(set), "PAPI_start");
  compute(20000000);
  must(PAPI_stop(set, values), "PAPI_stop");
  printf("%d events; the task clock counted %lld ns\n", number, values[0]);
  const int good = values[0] > 0;
  free(values);
  must(PAPI_cleanup_eventset(set), "PAPI_cleanup_eventset");
  must(PAPI_destroy_eventset(&set), "PAPI_destroy_eventset");
  PAPI_shutdown();
  return good ? 0 : 1;
}
