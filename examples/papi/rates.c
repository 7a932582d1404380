// PAPI_ipc, PAPI_flops_rate: the first call begins, the next ones give what happened since.
#include "common.h"

int main(void) {
  begin();
  float real = 0, process = 0, rate = 0;
  long long counted = 0;
  const int first = PAPI_ipc(&real, &process, &counted, &rate);
  if (first != PAPI_OK) {
    printf("no instructions or cycles here: %s\n", PAPI_strerror(first));
    return 77;
  }
  compute(5000000);
  must(PAPI_ipc(&real, &process, &counted, &rate), "PAPI_ipc");
  printf("%lld instructions, %.2f for each cycle, in %.6f s\n", counted, rate, real);
  must(PAPI_rate_stop(), "PAPI_rate_stop");
  PAPI_shutdown();
  return counted > 5000000 && rate > 0 ? 0 : 1;
}
