/* Two threads write and copy, one after the other, before, while and after an observer watches the second one's
 * accesses. Prints whether the hooks of the two do nothing after that, and how many writes the observer was given. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>

extern __thread uint64_t substrata_memory_idle; /* the hooks' own */
extern volatile uint64_t substrata_memory_salt;

static volatile int numbers[1000];
static char from[64], to[64];
static volatile size_t copied = sizeof to; /* not known to the compiler */
static unsigned long given;
static pthread_barrier_t turn;

__attribute__((noinline)) static void write_all(void) {
  for (int i = 0; i < 1000; ++i) numbers[i] = i;
  memcpy(to, from, copied);
}

__attribute__((no_sanitize_thread)) static void show(const char* which) {
  printf("%s %s\n", which, substrata_memory_idle == substrata_memory_salt ? "rests" : "works");
}

__attribute__((no_sanitize_thread)) static void count(void* owner, const struct substrata_transaction* batch,
                                                      size_t size) {
  (void)owner;
  for (size_t i = 0; i < size; ++i) given += batch[i].kind == SUBSTRATA_WRITE;
}

static void* second(void* nothing) {
  for (int round = 0; round < 3; ++round) {
    pthread_barrier_wait(&turn);
    write_all();
    show("second");
    pthread_barrier_wait(&turn);
  }
  return nothing;
}

int main(void) {
  struct substrata_observer* observer = NULL;
  pthread_t thread;
  pthread_barrier_init(&turn, NULL, 2);
  if (substrata_observer_create(count, NULL, 0, &observer) != 0) return 1;
  write_all();
  pthread_create(&thread, NULL, second, NULL);
  for (int round = 0; round < 3; ++round) {
    if (round == 1 && substrata_subscribe(observer, "mem.cpu1.accesses") < 0) return 1;
    if (round == 2) substrata_unsubscribe(observer, NULL);
    write_all();
    show("first");
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    substrata_flush();
    printf("given %lu\n", given);
  }
  pthread_join(thread, NULL);
  substrata_observer_destroy(observer);
  return 0;
}
