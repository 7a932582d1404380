// PAPI_thread_init, PAPI_lock: every thread counts itself, in an eventset of its own.
#include <pthread.h>

#include "common.h"

enum { kThreads = 2 };
static long long total;

static unsigned long own_number(void) { return (unsigned long)pthread_self(); }

static void* work(void* unused) {
  (void)unused;
  int set = PAPI_NULL;
  long long spent = 0;
  must(PAPI_register_thread(), "PAPI_register_thread");
  must(PAPI_create_eventset(&set), "PAPI_create_eventset");
  must(PAPI_add_named_event(set, TASK_CLOCK), "PAPI_add_named_event");
  must(PAPI_start(set), "PAPI_start");
  compute(2000000);
  must(PAPI_stop(set, &spent), "PAPI_stop");
  must(PAPI_lock(PAPI_USR1_LOCK), "PAPI_lock");
  total += spent;
  must(PAPI_unlock(PAPI_USR1_LOCK), "PAPI_unlock");
  must(PAPI_cleanup_eventset(set), "PAPI_cleanup_eventset");
  must(PAPI_destroy_eventset(&set), "PAPI_destroy_eventset");
  must(PAPI_unregister_thread(), "PAPI_unregister_thread");
  return NULL;
}

int main(void) {
  begin();
  must(PAPI_thread_init(own_number), "PAPI_thread_init");
  if (PAPI_thread_id() != own_number()) return 1;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("%d threads used %lld ns\n", kThreads, total);
  PAPI_shutdown();
  return total > 0 ? 0 : 1;
}
