// A first program: the processor time and page faults of a loop, and the packets on the loopback interface.
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int result, const char* what) {
  if (result == PAPI_OK) return;
  fprintf(stderr, "%s: %s\n", what, PAPI_strerror(result));
  exit(1);
}

int main(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;

  // One eventset per substrate; both run at once.
  int processor = PAPI_NULL, network = PAPI_NULL;
  check(PAPI_create_eventset(&processor), "create");
  check(PAPI_create_eventset(&network), "create");
  check(PAPI_add_named_event(processor, "perf::TASK-CLOCK"), "perf::TASK-CLOCK");
  check(PAPI_add_named_event(processor, "perf::PAGE-FAULTS"), "perf::PAGE-FAULTS");
  check(PAPI_add_named_event(network, "net:::lo:rx:packets"), "net:::lo:rx:packets");
  check(PAPI_start(processor), "start");
  check(PAPI_start(network), "start");

  enum { kSize = 1 << 20 };
  double* values = malloc(kSize * sizeof *values);
  if (values == NULL) return 1;
  double sum = 0;
  for (int i = 0; i < kSize; ++i) values[i] = i;
  for (int i = 0; i < kSize; ++i) sum += values[i];
  free(values);

  long long on_processor[2], on_network[1];
  check(PAPI_stop(processor, on_processor), "stop");
  check(PAPI_stop(network, on_network), "stop");
  printf("sum %.0f: %lld ns of processor time, %lld page faults, %lld packets on lo\n", sum, on_processor[0],
         on_processor[1], on_network[0]);
  PAPI_shutdown();
  return 0;
}
