/* Accesses of several threads, counted by the NUMAchine model and by the modelled cache at the same time. Prints
 * loads and stores of the one, reads and writes of the other. */
#include <papi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>

enum { kThreads = 3, kNumbers = 20000 };
static volatile uint32_t numbers[kThreads][kNumbers];
static volatile unsigned char bytes[kThreads][4 * kNumbers + 1];
static struct block { unsigned char bytes[4096]; } from, to;
static pthread_barrier_t barrier;

static void* work(void* argument) {
  const int id = (int)(intptr_t)argument;
  struct __attribute__((packed)) word {
    uint32_t value;
  };
  uint32_t sum = 0;
  for (int i = 0; i < kNumbers; ++i) numbers[id][i] = i;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kNumbers; ++i) {
    sum += numbers[(id + 1) % kThreads][i];
    sum += ((volatile const struct word*)(bytes[id] + 1 + 4 * i))->value;
  }
  memcpy((void*)&to, (const void*)&from, sizeof to);
  numbers[id][0] = sum;
  return NULL;
}

static __attribute__((no_sanitize_thread)) int counting(const char* const names[2], int* set) {
  *set = PAPI_NULL;
  if (PAPI_create_eventset(set) != PAPI_OK) return 0;
  for (int i = 0; i < 2; ++i) {
    if (PAPI_add_named_event(*set, names[i]) != PAPI_OK) return 0;
  }
  return PAPI_start(*set) == PAPI_OK;
}

static __attribute__((noinline)) void run(void) {
  pthread_t threads[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads);
  for (intptr_t id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, (void*)id);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
}

__attribute__((no_sanitize_thread)) int main(void) {
  const char* const of_model[2] = {"numachine:::LOADS", "numachine:::STORES"};
  const char* const of_cache[2] = {"memory:::READS", "memory:::WRITES"};
  struct substrata_run_options options;
  struct substrata_following* following = NULL;
  int model, cache;
  long long first[2], second[2];
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=8";
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
      substrata_follow("numachine", &options, &following) != 0)
    return 1;
  if (!counting(of_model, &model) || !counting(of_cache, &cache)) return 2;
  run();
  if (PAPI_stop(model, first) != PAPI_OK || PAPI_stop(cache, second) != PAPI_OK) return 3;
  substrata_unfollow(following);
  printf("%lld %lld %lld %lld\n", first[0], first[1], second[0], second[1]);
  return 0;
}
