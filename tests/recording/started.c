/* Fills one array, then starts a thread that fills another one. */
#include <pthread.h>

static volatile long before[100], after[100];

static void* work(void* none) {
  for (int i = 0; i < 100; ++i) after[i] = i;
  return none;
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < 100; ++i) before[i] = i;
  if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
  return pthread_join(thread, NULL);
}
