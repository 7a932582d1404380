/* Eight threads with locks, followed live by the NUMAchine model: what each variable misses for, and how long
 * processors waited at each lock, condition and barrier.
 *
 *   substrata-cc -O2 -o locks locks.c $(pkg-config --cflags --libs substrata) -lpthread
 *   ./locks
 *
 * In the model a lock is held in the order in which the program held it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/numachine.h>

enum { kThreads = 8, kProcessors = 12, kRounds = 40, kItems = 200 };

#define PAGES __attribute__((aligned(4096)))
/* Every thread changes all of it in turn, under one lock. */
PAGES pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;
PAGES uint64_t record[8];
/* One thread fills it, the others empty it. */
PAGES pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
PAGES pthread_cond_t slot_changed = PTHREAD_COND_INITIALIZER;
PAGES uint64_t slot[8];
static PAGES int slot_is_full, taken;
/* Two locks in one line, each of one thread. */
PAGES struct {
  pthread_spinlock_t lock;
  int unused;
} pair[2];
/* Read by many at once. */
PAGES pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
PAGES uint64_t table[64];
static struct { uint64_t sum, unused[7]; } sums[kThreads] __attribute__((aligned(64)));
static pthread_barrier_t barrier;

static void change_record(void) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_mutex_lock(&record_lock);
    for (int i = 0; i < 8; ++i) record[i] += 1;
    pthread_mutex_unlock(&record_lock);
    pthread_barrier_wait(&barrier);
  }
}

static void fill(void) {
  for (int item = 0; item < kItems; ++item) {
    pthread_mutex_lock(&slot_lock);
    while (slot_is_full) pthread_cond_wait(&slot_changed, &slot_lock);
    for (int i = 0; i < 8; ++i) slot[i] = (uint64_t)item;
    slot_is_full = 1;
    pthread_cond_broadcast(&slot_changed);
    pthread_mutex_unlock(&slot_lock);
  }
}
static void empty(unsigned id) {
  pthread_mutex_lock(&slot_lock);
  while (taken < kItems) {
    if (slot_is_full) {
      for (int i = 0; i < 8; ++i) sums[id].sum += slot[i];
      slot_is_full = 0;
      ++taken;
      pthread_cond_broadcast(&slot_changed);
    } else {
      pthread_cond_wait(&slot_changed, &slot_lock);
    }
  }
  pthread_mutex_unlock(&slot_lock);
}

static void use_own_lock(unsigned id) {
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 20 && id < 2; ++i) {
      pthread_spin_lock(&pair[id].lock);
      pthread_spin_unlock(&pair[id].lock);
    }
    pthread_barrier_wait(&barrier);
  }
}

static void read_table(unsigned id) {
  for (unsigned round = 0; round < kRounds; ++round) {
    if (round % kThreads == id) {
      pthread_rwlock_wrlock(&table_lock);
      for (int i = 0; i < 64; ++i) table[i] = round;
      pthread_rwlock_unlock(&table_lock);
    }
    pthread_barrier_wait(&barrier);
    pthread_rwlock_rdlock(&table_lock);
    for (int i = 0; i < 64; ++i) sums[id].sum += table[i];
    pthread_rwlock_unlock(&table_lock);
    pthread_barrier_wait(&barrier);
  }
}

static void* work(void* argument) {
  const unsigned id = (unsigned)(uintptr_t)argument;
  pthread_barrier_wait(&barrier);
  change_record();
  if (id == 0)
    fill();
  else
    empty(id);
  pthread_barrier_wait(&barrier);
  use_own_lock(id);
  read_table(id);
  return NULL;
}

static int is_right(void) {
  uint64_t sum = 0, expected = 8ull * kItems * (kItems - 1) / 2;
  for (unsigned id = 0; id < kThreads; ++id) sum += sums[id].sum;
  for (uint64_t round = 0; round < kRounds; ++round) expected += round * 64 * kThreads;
  return record[7] == (uint64_t)kRounds * kThreads && sum == expected;
}

int main(void) {
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  char parameters[32];
  snprintf(parameters, sizeof parameters, "processors=%d", kProcessors);
  options.parameters = parameters;
  for (int i = 0; i < 2; ++i) pthread_spin_init(&pair[i].lock, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, NULL, kThreads);
  struct substrata_following* following = NULL;
  if (substrata_follow("numachine", &options, &following) != 0) {
    fprintf(stderr, "%s\n", substrata_feed_error());
    return 1;
  }
  pthread_t threads[kThreads];
  for (uintptr_t id = 0; id < kThreads; ++id) pthread_create(&threads[id], NULL, work, (void*)id);
  for (int id = 0; id < kThreads; ++id) pthread_join(threads[id], NULL);
  substrata_unfollow(following);

  static struct substrata_numachine_object objects[64];
  static struct substrata_numachine_wait waits[64];
  uint32_t object_count = 64, wait_count = 64;
  if (substrata_numachine_objects(objects, &object_count) != 0) return 1;
  if (substrata_numachine_waits(waits, &wait_count) != 0) return 1;
  for (uint32_t i = 0; i < object_count && i < 64; ++i)
    printf("variable %s: %s\n", objects[i].name, objects[i].cause);
  for (uint32_t i = 0; i < wait_count && i < 64; ++i)
    printf("%s %s: passed %llu times, %llu of them after a wait, %llu bus cycles together\n", waits[i].kind,
           waits[i].name, (unsigned long long)waits[i].uses, (unsigned long long)waits[i].waited,
           (unsigned long long)waits[i].wait_cycles);
  unsigned long long synchronisation = 0, imbalance = 0;
  for (uint32_t cpu = 0; cpu < kProcessors; ++cpu) {
    struct substrata_numachine_loss loss;
    if (substrata_numachine_lost(cpu, &loss) != 0) return 1;
    synchronisation += loss.synchronisation_cycles;
    imbalance += loss.imbalance_cycles;
  }
  printf("lost: synchronisation %llu, load imbalance %llu bus cycles\n", synchronisation, imbalance);
  printf("result %s\n", is_right() ? "right" : "wrong");
  return 0;
}
