// A program that carries libpapi and libsde with it: publishes a counter of its own, and reads it and the page faults
// of the pages that it touches.
#include <papi.h>
#include <sde_lib.h>
#include <stdio.h>
#include <stdlib.h>

enum { kPages = 1000 };

// Returns the eventset with that event, running; PAPI_NULL with a message when it does not count here.
static int started(const char* event) {
  int set = PAPI_NULL;
  int code = PAPI_create_eventset(&set);
  if (code == PAPI_OK) code = PAPI_add_named_event(set, event);
  if (code == PAPI_OK) code = PAPI_start(set);
  if (code == PAPI_OK) return set;
  printf("%s does not count here: %s\n", event, PAPI_strerror(code));
  return PAPI_NULL;
}

static void stop(int set, const char* event) {
  long long value = 0;
  if (set == PAPI_NULL) return;
  if (PAPI_stop(set, &value) == PAPI_OK) printf("%s %lld\n", event, value);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
}

static void count_alarm(int set, void* address, long long vector, void* context) {
  (void)set, (void)address, (void)vector, (void)context;
  puts("overflow");
}

int main(void) {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) {
    fprintf(stderr, "PAPI does not start: %s\n", PAPI_strerror(version));
    return 1;
  }
  void* steps = NULL;
  papi_handle_t library = papi_sde_init("Walk");
  papi_sde_create_counter(library, "STEPS", PAPI_SDE_DELTA, &steps);

  volatile char* pages = malloc(kPages * 4096);
  if (pages == NULL) return 1;
  const int faults = started("perf::PAGE-FAULTS");
  const int walked = started("sde:::Walk::STEPS");
  for (int page = 0; page < kPages; ++page) {
    pages[page * 4096] = 1;
    papi_sde_inc_counter(steps, 1);
  }
  stop(faults, "perf::PAGE-FAULTS");
  stop(walked, "sde:::Walk::STEPS");

  int set = PAPI_NULL, code = 0;
  if (PAPI_create_eventset(&set) == PAPI_OK && PAPI_add_named_event(set, "sde:::Walk::STEPS") == PAPI_OK &&
      PAPI_event_name_to_code("sde:::Walk::STEPS", &code) == PAPI_OK &&
      PAPI_overflow(set, code, 10, 0, count_alarm) == PAPI_OK && PAPI_start(set) == PAPI_OK) {
    papi_sde_inc_counter(steps, 10);
    papi_sde_inc_counter(steps, 10);
    stop(set, "sde:::Walk::STEPS");
  }
  const PAPI_hw_info_t* machine = PAPI_get_hardware_info();
  if (machine != NULL) printf("processors %d\n", machine->totalcpus);
  // A substrate that loads a library at run time, where SUBSTRATA_BRIDGE asks for it.
  const PAPI_component_info_t* other = PAPI_get_component_info(PAPI_get_component_index("bridge"));
  if (other != NULL && other->disabled) printf("no other PAPI: %s\n", other->disabled_reason);
  PAPI_shutdown();
  papi_sde_shutdown(library);
  free((void*)pages);
  return 0;
}
