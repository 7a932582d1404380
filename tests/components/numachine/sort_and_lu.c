/* A radix sort and an LU decomposition by four threads, followed live by the NUMAchine model; prints what it
 * read, by phase, and checks its results. With an argument it follows nothing, for the time alone. */
#include <papi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <substrata/feed.h>
#include <substrata/numachine.h>
#include <time.h>

#ifndef KEYS
#define KEYS 18 /* a power of two */
#endif
#ifndef ORDER
#define ORDER 96
#endif
enum { kThreads = 4, kKeys = 1 << KEYS, kRadix = 256, kOrder = ORDER };

uint32_t keys[kKeys], scratch[kKeys];
uint32_t ranks[kThreads][kRadix];
_Alignas(64) volatile uint64_t progress[8]; /* one word for each thread, and the line is theirs alone */
double matrix[kOrder][kOrder], original[kOrder][kOrder];
static pthread_barrier_t barrier;
static int is_followed;

static void begin_region(const char* name) {
  if (is_followed) PAPI_hl_region_begin(name);
}
static void end_region(const char* name) {
  if (is_followed) PAPI_hl_region_end(name);
}

static void sort_part(int id, uint32_t* from, uint32_t* to, unsigned shift) {
  const int begin = kKeys / kThreads * id, end = kKeys / kThreads * (id + 1);
  memset(ranks[id], 0, sizeof ranks[id]);
  for (int i = begin; i < end; ++i) {
    ++ranks[id][from[i] >> shift & (kRadix - 1)];
    if (i % 64 == 0) progress[id] += 64;
  }
  pthread_barrier_wait(&barrier);
  uint32_t place[kRadix], sum = 0;
  for (int digit = 0; digit < kRadix; ++digit) {
    for (int other = 0; other < kThreads; ++other) {
      if (other == id) place[digit] = sum;
      sum += ranks[other][digit];
    }
  }
  for (int i = begin; i < end; ++i) to[place[from[i] >> shift & (kRadix - 1)]++] = from[i];
  pthread_barrier_wait(&barrier);
}

static void* work(void* argument) {
  const int id = (int)(intptr_t)argument;
  begin_region("sort");
  sort_part(id, keys, scratch, 0);
  sort_part(id, scratch, keys, 8);
  end_region("sort");
  begin_region("lu");
  for (int k = 0; k < kOrder; ++k) {
    for (int row = k + 1; row < kOrder; ++row) {
      if (row % kThreads != id) continue;
      matrix[row][k] /= matrix[k][k];
      for (int column = k + 1; column < kOrder; ++column)
        matrix[row][column] -= matrix[row][k] * matrix[k][column];
    }
    pthread_barrier_wait(&barrier);
  }
  end_region("lu");
  return NULL;
}

static int check(void) {
  for (int i = 1; i < kKeys; ++i) {
    if ((keys[i - 1] & 0xffff) > (keys[i] & 0xffff)) return 0;
  }
  for (int row = 0; row < kOrder; ++row) {
    for (int column = 0; column < kOrder; ++column) {
      double sum = 0;
      for (int k = 0; k <= row && k <= column; ++k)
        sum += (k == row ? 1.0 : matrix[row][k]) * matrix[k][column];
      if (sum - original[row][column] > 1e-6 || original[row][column] - sum > 1e-6) return 0;
    }
  }
  return 1;
}

int main(int argc, char** argv) {
  (void)argv;
  is_followed = argc < 2;
  begin_region("input");
  uint32_t state = 1;
  for (int i = 0; i < kKeys; ++i) keys[i] = (state = state * 1664525u + 1013904223u) >> 8;
  for (int row = 0; row < kOrder; ++row) {
    for (int column = 0; column < kOrder; ++column)
      original[row][column] = matrix[row][column] =
          row == column ? 2.0 * kOrder : 1.0 + (row * 7 + column * 3) % 5;
  }
  end_region("input");
  struct substrata_following* following = NULL;
  int set = PAPI_NULL;
  char name[96];
  const char* const wanted[] = {"INVALIDATION_MISSES", "OWNERSHIP_MISSES", "OTHER_MISSES", "LOADS"};
  const char* const phases[] = {"sort", "lu"};
  if (is_followed) {
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK)
      return 2;
    for (int phase = 0; phase < 2; ++phase) {
      for (int event = 0; event < 4; ++event) {
        snprintf(name, sizeof name, "numachine:::%s:phase=%u", wanted[event],
                 substrata_region(phases[phase]));
        if (PAPI_add_named_event(set, name) != PAPI_OK) return 3;
      }
    }
    struct substrata_run_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.parameters = "processors=8";
    if (substrata_follow("numachine", &options, &following) != 0) {
      fprintf(stderr, "%s\n", substrata_feed_error());
      return 4;
    }
    if (PAPI_start(set) != PAPI_OK) return 5;
  }
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (intptr_t id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, (void*)id);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
  if (is_followed) {
    long long values[8];
    if (PAPI_stop(set, values) != PAPI_OK) return 6;
    for (int i = 0; i < 8; ++i) printf("%s %s %lld\n", phases[i / 4], wanted[i % 4], values[i]);
    substrata_unfollow(following);
    static struct substrata_numachine_object objects[64];
    uint32_t count = 64;
    if (substrata_numachine_objects(objects, &count) != 0) return 7;
    for (uint32_t i = 0; i < count && i < 64; ++i)
      printf("object %s: %s\n", objects[i].name, objects[i].cause);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("milliseconds %.3f\n", (end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) / 1e6);
  printf("result %s\n", check() ? "right" : "wrong");
  return 0;
}
