/* A grid that two threads smooth, and that is written to a file: something to ask questions about
 * (docs/guide/owl_one_liners.md). Compile it with substrata-cc -g. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <substrata/feed.h>

enum { SIDE = 128, ROUNDS = 4, THREADS = 2 };

static double before[SIDE][SIDE];
static double after[SIDE][SIDE];
static long visits[THREADS]; /* both counters share a cache line */
static pthread_barrier_t barrier;

/* Every column of a row in memory order, or with the indices exchanged. */
static void fill(void) {
  int row, column;
  for (column = 0; column < SIDE; ++column)
    for (row = 0; row < SIDE; ++row) before[row][column] = row == 0 ? 1 : 0;
}

static void smooth(int first, int last, long* visited) {
  int row, column;
  for (row = first; row < last; ++row)
    for (column = 1; column < SIDE - 1; ++column) {
      after[row][column] = 0.25 * (before[row - 1][column] + before[row + 1][column] +
                                   before[row][column - 1] + before[row][column + 1]);
      ++*visited;
    }
}

static void* work(void* argument) {
  const long number = (long)(size_t)argument;
  const int half = SIDE / 2;
  int round;
  for (round = 0; round < ROUNDS; ++round) {
    smooth(number == 0 ? 1 : half, number == 0 ? half : SIDE - 1, &visits[number]);
    pthread_barrier_wait(&barrier);
    if (number == 0) memcpy(before, after, sizeof after);
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static void save(const char* name) {
  char* const line = malloc(SIDE * 8 + 1);
  FILE* const file = fopen(name, "w");
  int row, column;
  if (line == NULL || file == NULL) exit(1);
  for (row = 0; row < SIDE; ++row) {
    for (column = 0; column < SIDE; ++column) snprintf(line + column * 8, 9, "%7.4f ", before[row][column]);
    fwrite(line, 1, SIDE * 8, file);
  }
  fclose(file);
  free(line);
}

int main(void) {
  pthread_t second;
  substrata_set_phase(substrata_region("fill"));
  fill();
  substrata_set_phase(substrata_region("smooth"));
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_create(&second, NULL, work, (void*)1);
  work((void*)0);
  pthread_join(second, NULL);
  substrata_set_phase(substrata_region("save"));
  save("/dev/null");
  printf("%ld points\n", visits[0] + visits[1]);
  return 0;
}
