/* Allocates, frees and accesses memory while a signal handler does the same between any two instructions. Prints
 * what both have counted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { kRounds = 200000, kInterruptions = 3000 };
static volatile int shared[64];
static volatile sig_atomic_t interruptions;

static void interrupt(int signal) {
  (void)signal;
  for (int i = 0; i < 64; ++i) shared[i] = i;
  ++interruptions;
}

int main(void) {
  struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  long sum = 0;
  for (long i = 0; i < kRounds || (interruptions < kInterruptions && i < 100L * kRounds); ++i) {
    volatile int* block = malloc(64 + i % 64);
    block[0] = (int)i;
    sum += block[0];
    free((void*)block);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%s\n", interruptions > 0 && sum > 0 ? "right" : "wrong");
  return 0;
}
