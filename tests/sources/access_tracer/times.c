/* A function that takes a time at least, and writes a known number of bytes; and one that calls it. */
#include <time.h>

static volatile double values[1000];

static long long now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}
__attribute__((noinline)) static void fill(void) {
  const long long end = now() + 2000000;
  for (int i = 0; i < 1000; i++) values[i] = i;
  while (now() < end) {
  }
}
__attribute__((noinline)) static void thrice(void) {
  for (int i = 0; i < 3; i++) fill();
  values[0] = 1;
}

int main(void) {
  thrice();
  return 0;
}
