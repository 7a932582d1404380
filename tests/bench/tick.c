/* tick NANOSECONDS SECONDS: prints which share of a processor, in percent, a program uses that does nothing but wait
   for a timer so often: the floor of a recorder. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long between = atol(argv[1]);
  const double seconds = atof(argv[2]);
  const struct itimerspec ticks = {{between / 1000000000, between % 1000000000},
                                   {between / 1000000000, between % 1000000000}};
  struct pollfd timer = {timerfd_create(CLOCK_MONOTONIC, 0), POLLIN, 0};
  timerfd_settime(timer.fd, 0, &ticks, NULL);
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (double passed = 0; passed < seconds;) {
    uint64_t due = 0;
    if (poll(&timer, 1, -1) < 0 || read(timer.fd, &due, sizeof due) != (ssize_t)sizeof due) return 1;
    passed += 1e-9 * (double)between * (double)due;
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  printf("%.4f\n", 100 / seconds *
                       ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)));
  return 0;
}
