/* Eight threads that share data in six ways, followed live by the NUMAchine model: misses by region, read
 * through PAPI, and the model's report of which variable misses and why.
 *
 *   substrata-cc -O2 -o sharing sharing.c $(pkg-config --cflags --libs papi substrata) -lpthread
 *   ./sharing
 *
 * The regions of PAPI's high-level interface are the PhaseID of the modelled cards. The barriers keep the
 * threads together in the model as well, so that what it finds does not depend on how they happen to run. */
#include <papi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/numachine.h>

enum { kThreads = 8, kProcessors = 12 /* the first thread is processor 0, the workers are 1 to 8 */ };
enum { kRounds = 40, kWords = 512, kCache = 1 << 20 /* bytes of a processor's secondary cache */ };

/* Each in pages of its own; pages are dealt out to the stations' memories in turn. */
#define PAGES __attribute__((aligned(4096)))
PAGES uint64_t own_words[kThreads]; /* false sharing: one word for each thread, one line */
PAGES uint64_t histogram[8];        /* true sharing: all threads count in all words */
PAGES uint64_t record[8];           /* migratory: one thread after another changes all of it */
PAGES uint64_t buffer[8 * kWords];  /* producer and consumers, in eight pages */
PAGES uint64_t table[kWords];       /* hot spot: one page that all read at once */
__attribute__((aligned(1 << 20))) char apart[3][kCache]; /* conflicts: the same cache lines three times */
static struct {
  uint64_t sum;
  uint64_t apart[7];
} sums[kThreads] __attribute__((aligned(64))); /* each in a line of its own */
static pthread_barrier_t barrier;

static const char* const kRegions[] = {"false_sharing", "true_sharing", "migratory",
                                       "producer",      "hot_spot",     "conflicts"};
enum { kRegionCount = sizeof kRegions / sizeof *kRegions };

static void together(void) { pthread_barrier_wait(&barrier); }

static void work_in(int region, unsigned id) {
  for (unsigned round = 0; round < kRounds; ++round) {
    switch (region) {
      case 0:
        for (int i = 0; i < 50; ++i) *(volatile uint64_t*)&own_words[id] += 1;
        break;
      case 1:
        for (unsigned i = 0; i < 16; ++i)
          __atomic_fetch_add(&histogram[(i * 3 + id + round) % 8], 1, __ATOMIC_RELAXED);
        break;
      case 2:
        for (unsigned turn = 0; turn < kThreads; ++turn) {
          if (turn == id)
            for (int word = 0; word < 8; ++word) *(volatile uint64_t*)&record[word] += 1;
          together();
        }
        break;
      case 3:
        if (id == 0)
          for (unsigned i = 0; i < 8 * kWords; i += 8) *(volatile uint64_t*)&buffer[i] = round + i;
        together();
        /* Each begins elsewhere. */
        for (unsigned i = 0; i < 8 * kWords; i += 8)
          sums[id].sum += *(volatile uint64_t*)&buffer[(i + id * kWords) % (8 * kWords)];
        break;
      case 4:
        if (id == 0)
          for (unsigned i = 0; i < kWords; ++i) *(volatile uint64_t*)&table[i] = round + i;
        together();
        for (unsigned i = 0; i < kWords; ++i) sums[id].sum += *(volatile uint64_t*)&table[i];
        break;
      default:
        for (unsigned i = 0; i < 3; ++i) *(volatile char*)&apart[i][id * 64] += 1;
        break;
    }
    together();
  }
}

static void* work(void* argument) {
  const unsigned id = (unsigned)(uintptr_t)argument;
  for (int region = 0; region < kRegionCount; ++region) {
    PAPI_hl_region_begin(kRegions[region]);
    work_in(region, id);
    PAPI_hl_region_end(kRegions[region]);
    together();
  }
  return NULL;
}

static int is_right(void) {
  uint64_t counted = 0, expected = 0;
  for (int i = 0; i < 8; ++i) counted += histogram[i];
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < 8 * kWords; i += 8) expected += round + i;
    for (unsigned i = 0; i < kWords; ++i) expected += round + i;
  }
  int right = counted == 16u * kRounds * kThreads;
  for (int id = 0; id < kThreads; ++id)
    right = right && own_words[id] == 50u * kRounds && sums[id].sum == expected &&
            apart[0][id * 64] == (char)kRounds;
  for (int word = 0; word < 8; ++word) right = right && record[word] == (uint64_t)kRounds * kThreads;
  return right;
}

int main(void) {
  static const char* const kEvents[] = {"INVALIDATION_MISSES", "OWNERSHIP_MISSES", "OTHER_MISSES"};
  enum { kEventCount = sizeof kEvents / sizeof *kEvents };
  long long values[kRegionCount * kEventCount];
  int set = PAPI_NULL;
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK)
    return 1;
  for (int region = 0; region < kRegionCount; ++region) {
    for (int event = 0; event < kEventCount; ++event) {
      char name[96];
      snprintf(name, sizeof name, "numachine:::%s:phase=%u", kEvents[event],
               substrata_region(kRegions[region]));
      if (PAPI_add_named_event(set, name) != PAPI_OK) {
        fprintf(stderr, "%s is refused\n", name);
        return 1;
      }
    }
  }
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  char parameters[32];
  snprintf(parameters, sizeof parameters, "processors=%d", kProcessors);
  options.parameters = parameters;
  struct substrata_following* following = NULL;
  if (substrata_follow("numachine", &options, &following) != 0) {
    fprintf(stderr, "%s\n", substrata_feed_error());
    return 1;
  }
  if (PAPI_start(set) != PAPI_OK) return 1;
  pthread_barrier_init(&barrier, NULL, kThreads);
  pthread_t threads[kThreads];
  for (uintptr_t id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, (void*)id);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
  if (PAPI_stop(set, values) != PAPI_OK) return 1;
  substrata_unfollow(following);

  printf("%-16s %12s %12s %12s\n", "region", "invalidation", "ownership", "other misses");
  for (int region = 0; region < kRegionCount; ++region) {
    const long long* const row = values + region * kEventCount;
    printf("%-16s %12lld %12lld %12lld\n", kRegions[region], row[0], row[1], row[2]);
  }
  static struct substrata_numachine_object objects[64];
  uint32_t count = 64;
  if (substrata_numachine_objects(objects, &count) != 0) return 1;
  for (uint32_t i = 0; i < count && i < 64; ++i)
    printf("variable %s: %s\n", objects[i].name, objects[i].cause);
  printf("result %s\n", is_right() ? "right" : "wrong");
  return 0;
}
