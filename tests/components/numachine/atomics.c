/* Two threads that poll one word by atomic loads, then store to it, then add to it, followed live by the NUMAchine
 * model; prints what the model saw of each. Each has its own line of results. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/numachine.h>

enum { kThreads = 2, kTimes = 500 };
_Alignas(4096) uint64_t flag;
static enum { kPoll, kStore, kAdd } part;
static pthread_barrier_t barrier;

static void* work(void* nothing) {
  uint64_t sum = 0;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kTimes; ++i) {
    if (part == kPoll) sum += __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
    if (part == kStore) __atomic_store_n(&flag, sum, __ATOMIC_RELEASE);
    if (part == kAdd) __atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED);
  }
  return nothing;
}

static int follow(int which, const char* name) {
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=4";
  struct substrata_following* following = NULL;
  part = which;
  if (substrata_follow("numachine", &options, &following) != 0) return 0;
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (int id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, NULL);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
  substrata_unfollow(following);
  unsigned long long loads = 0, stores = 0, owned = 0;
  for (uint32_t cpu = 1; cpu <= kThreads; ++cpu) {
    struct substrata_numachine_truth truth;
    if (substrata_numachine_known(cpu, &truth) != 0) return 0;
    loads += truth.loads;
    stores += truth.stores;
    owned += truth.misses[0] + truth.misses[1] + truth.misses[2];
  }
  printf("%s %llu %llu %llu\n", name, loads / kTimes, stores / kTimes, owned);
  return 1;
}

int main(void) { return follow(kPoll, "poll") && follow(kStore, "store") && follow(kAdd, "add") ? 0 : 1; }
