/* A program for the access tracer: threads that read and write memory of each kind. Prints what it computed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long total[4];

static void* work(void* number) {
  const long n = (long)number;
  long* const block = malloc(1000 * sizeof *block);
  if (block == NULL) exit(9);
  for (int i = 0; i < 1000; ++i) block[i] = i * n;
  long* const copy = calloc(1000, sizeof *copy);
  if (copy == NULL) exit(9);
  memcpy(copy, block, 1000 * sizeof *copy);
  for (int i = 0; i < 1000; ++i) total[n] += copy[i];
  free(block);
  free(copy);
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 8;
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("%ld %ld %ld %ld\n", total[0], total[1], total[2], total[3]);
  return 5;
}
