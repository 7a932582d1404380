// A first program: processor time and page faults of a loop, and packets on the loopback interface.
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>

double values[1 << 20];

static void check(int result, const char* what) {
  if (result == PAPI_OK) return;
  fprintf(stderr, "%s: %s\n", what, PAPI_strerror(result));
  exit(1);
}

int main(void) {
  int processor = PAPI_NULL, network = PAPI_NULL;  // one eventset per substrate; both run at once
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  check(PAPI_create_eventset(&processor), "create");
  check(PAPI_create_eventset(&network), "create");
  check(PAPI_add_named_event(processor, "process:::cpu:time"), "process:::cpu:time");
  check(PAPI_add_named_event(processor, "process:::faults:minor"), "process:::faults:minor");
  check(PAPI_add_named_event(network, "net:::lo:rx:packets"), "net:::lo:rx:packets");
  check(PAPI_start(processor), "start");
  check(PAPI_start(network), "start");

  double sum = 0;
  for (int i = 0; i < 1 << 20; ++i) sum += values[i] = i;

  long long used[2], packets;
  check(PAPI_stop(processor, used), "stop");
  check(PAPI_stop(network, &packets), "stop");
  printf("sum %.0f: %lld ns of processor time, %lld page faults, %lld packets on lo\n", sum, used[0], used[1],
         packets);
  PAPI_shutdown();
  return 0;
}
