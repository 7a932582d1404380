/* Threads that start threads, each of which fills a row; there are never few of them. */
#include <pthread.h>
#include <stddef.h>

enum { THREADS = 32, TURNS = 20, ROUNDS = 5 };

static volatile long rows[THREADS][64];

static void* fill(void* number) {
  for (int i = 0; i < 64; ++i) rows[(size_t)number][i] = i;
  return NULL;
}

static void* work(void* number) {
  for (int turn = 0; turn < TURNS; ++turn) {
    pthread_t other;
    if (pthread_create(&other, NULL, fill, number) != 0) continue;
    fill(number);
    pthread_join(other, NULL);
  }
  return NULL;
}

int main(void) {
  for (int round = 0; round < ROUNDS; ++round) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i)
      if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 1;
    for (size_t i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  }
  return 0;
}
