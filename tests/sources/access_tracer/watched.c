/* One loop of 1000 writes, run before, while and after an observer watches this thread's memory accesses.
 * Prints how many of them the observer was given. */
#include <stdio.h>
#include <substrata/feed.h>

static volatile int numbers[1000];
static unsigned long given;

__attribute__((noinline)) static void write_all(void) {
  for (int i = 0; i < 1000; ++i) numbers[i] = i;
}

__attribute__((no_sanitize_thread)) static void count(void* owner, const struct substrata_transaction* batch,
                                                      size_t size) {
  (void)owner;
  for (size_t i = 0; i < size; ++i)
    given += batch[i].kind == SUBSTRATA_WRITE && batch[i].size == sizeof numbers[0];
}

int main(void) {
  struct substrata_observer* observer = NULL;
  write_all();
  if (substrata_observer_create(count, NULL, 0, &observer) != 0) return 1;
  if (substrata_subscribe(observer, "mem.cpu*.accesses") < 0) return 1;
  write_all();
  substrata_flush();
  const unsigned long during = given;
  substrata_unsubscribe(observer, NULL);
  write_all();
  substrata_flush();
  substrata_observer_destroy(observer);
  printf("%lu %lu\n", during, given - during);
  return 0;
}
