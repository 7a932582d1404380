/* An OpenMP program with a critical section, a lock and an uneven loop, followed live by the NUMAchine model.
 *
 *   substrata-cc -O2 -fopenmp -o openmp_locks openmp_locks.c $(pkg-config --cflags --libs substrata)
 *   ./openmp_locks
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/numachine.h>

enum { kThreads = 8, kRounds = 40 };

#define PAGES __attribute__((aligned(4096)))
PAGES uint64_t totals[8]; /* changed in the critical section "totals" */
PAGES omp_lock_t list_lock;
PAGES uint64_t list[8];         /* changed under the lock */
PAGES uint64_t marks[kThreads]; /* one word of each thread, all in one line */
static struct { uint64_t sum, unused[7]; } sums[kThreads] __attribute__((aligned(64)));

static void add_up(void) {
#pragma omp parallel num_threads(kThreads)
  for (int round = 0; round < kRounds; ++round) {
#pragma omp critical(totals)
    for (int i = 0; i < 8; ++i) totals[i] += 1;
#pragma omp barrier
    omp_set_lock(&list_lock);
    for (int i = 0; i < 8; ++i) list[i] += 1;
    omp_unset_lock(&list_lock);
#pragma omp barrier
  }
}

static void mark(void) {
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 50 * kRounds; ++i) *(volatile uint64_t*)&marks[omp_get_thread_num()] += 1;
}

/* Thread i has i + 1 shares. */
static void work_unevenly(void) {
#pragma omp parallel num_threads(kThreads)
  {
    const int id = omp_get_thread_num();
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < 20 * (id + 1); ++i) *(volatile uint64_t*)&sums[id].sum += 1;
#pragma omp barrier
    }
  }
}

static int is_right(void) {
  int right = totals[7] == (uint64_t)kRounds * kThreads && list[7] == totals[7];
  for (int id = 0; id < kThreads; ++id)
    right = right && marks[id] == 50u * kRounds && sums[id].sum == 20u * kRounds * (unsigned)(id + 1);
  return right;
}

int main(void) {
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=8";
  omp_init_lock(&list_lock);
  struct substrata_following* following = NULL;
  if (substrata_follow("numachine", &options, &following) != 0) {
    fprintf(stderr, "%s\n", substrata_feed_error());
    return 1;
  }
  add_up();
  mark();
  work_unevenly();
  substrata_unfollow(following);

  static struct substrata_numachine_object objects[64];
  static struct substrata_numachine_wait waits[64];
  uint32_t object_count = 64, wait_count = 64;
  if (substrata_numachine_objects(objects, &object_count) != 0) return 1;
  if (substrata_numachine_waits(waits, &wait_count) != 0) return 1;
  for (uint32_t i = 0; i < object_count && i < 64; ++i)
    printf("variable %s: %s\n", objects[i].name, objects[i].cause);
  for (uint32_t i = 0; i < wait_count && i < 64; ++i)
    printf("%s %s: passed %llu times, %llu bus cycles lost\n", waits[i].kind, waits[i].name,
           (unsigned long long)waits[i].uses, (unsigned long long)waits[i].wait_cycles);
  printf("result %s\n", is_right() ? "right" : "wrong");
  omp_destroy_lock(&list_lock);
  return 0;
}
