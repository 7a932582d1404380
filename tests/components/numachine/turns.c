/* Six threads and the first on four modelled processors, half of the six in a phase of their own, which meet at a
 * barrier again and again; prints the loads of each phase and what was seen of the barrier, and whether a register that
 * is read in the middle knows what the thread did just before. */
#include <papi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>
#include <substrata/numachine.h>

enum { kThreads = 6, kRounds = 30, kLoads = 100, kTimestamp = 0x1b };
static volatile uint64_t words[kThreads][8];
static pthread_barrier_t barrier;

static void* work(void* argument) {
  const int id = (int)(intptr_t)argument;
  substrata_set_phase(substrata_region(id < kThreads / 2 ? "first" : "second"));
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLoads; ++i) (void)words[id][i % 8];
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static __attribute__((no_sanitize_thread)) uint32_t now(void) {
  uint32_t cycles = 0;
  substrata_numachine_read(0, kTimestamp, &cycles);
  return cycles;
}
static __attribute__((noinline)) void load_all(void) {
  for (int i = 0; i < kLoads; ++i) (void)words[0][i % 8];
}

int main(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  for (int i = 0; i < 2; ++i) {
    char name[64];
    snprintf(name, sizeof name, "numachine:::LOADS:phase=%u", substrata_region(i == 0 ? "first" : "second"));
    if (PAPI_add_named_event(set, name) != PAPI_OK) return 2;
  }
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=4";
  struct substrata_following* following = NULL;
  long long loads[2] = {0, 0};
  if (substrata_follow("numachine", &options, &following) != 0 || PAPI_start(set) != PAPI_OK) return 3;
  const uint32_t before = now();
  load_all();
  const uint32_t after = now();
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (intptr_t id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, (void*)id);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
  if (PAPI_stop(set, loads) != PAPI_OK) return 4;
  substrata_unfollow(following);
  printf("loads %lld %lld\nread in order %d\n", loads[0], loads[1], after > before);
  struct substrata_numachine_wait waits[8];
  uint32_t count = 8;
  if (substrata_numachine_waits(waits, &count) != 0) return 5;
  for (uint32_t i = 0; i < count && i < 8; ++i)
    printf("%s %s %llu %u\n", waits[i].kind, waits[i].name, (unsigned long long)waits[i].uses,
           waits[i].processors);
  return 0;
}
