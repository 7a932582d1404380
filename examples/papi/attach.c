// PAPI_attach, PAPI_set_opt: another process is counted, in the domain that was asked for.
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

int main(void) {
  begin();
  int set = PAPI_NULL, go[2];
  if (pipe(go) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    char byte = 0;
    if (read(go[0], &byte, 1) == 1) compute(5000000);
    _exit(0);
  }
  must(PAPI_create_eventset(&set), "PAPI_create_eventset");
  must(PAPI_assign_eventset_component(set, PAPI_get_component_index("perf_event")),
       "PAPI_assign_eventset_component");
  PAPI_option_t option = {0};
  option.domain.eventset = set;
  option.domain.domain = PAPI_DOM_ALL;
  int code = PAPI_set_opt(PAPI_DOMAIN, &option);
  if (code == PAPI_OK) code = PAPI_attach(set, (unsigned long)child);
  if (code == PAPI_OK) code = PAPI_add_named_event(set, TASK_CLOCK);
  if (code == PAPI_OK) code = PAPI_start(set);
  if (write(go[1], "g", 1) != 1) return 1;
  waitpid(child, NULL, 0);
  if (code != PAPI_OK) {
    printf("the other process cannot be counted here: %s\n", PAPI_strerror(code));
    return 77;
  }
  long long spent = 0;
  must(PAPI_stop(set, &spent), "PAPI_stop");
  printf("process %d used %lld ns\n", (int)child, spent);
  must(PAPI_cleanup_eventset(set), "PAPI_cleanup_eventset");
  must(PAPI_destroy_eventset(&set), "PAPI_destroy_eventset");
  PAPI_shutdown();
  return spent > 0 ? 0 : 1;
}
