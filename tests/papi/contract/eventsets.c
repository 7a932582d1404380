/* Questions about eventsets, with unknown handles, empty, filled, running and stopped, and about threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "questions.h"

/* Each call that takes an eventset, with a handle nobody was given. */
static void unknown_handle(const char* situation, int set) {
  int number = 4, code = 0, handle = set;
  ASK("PAPI_add_event", situation, PAPI_add_event(set, clock_code));
  ASK("PAPI_add_named_event", situation, PAPI_add_named_event(set, kClock));
  ASK("PAPI_add_events", situation, PAPI_add_events(set, &clock_code, 1));
  ASK("PAPI_remove_event", situation, PAPI_remove_event(set, clock_code));
  ASK("PAPI_start", situation, PAPI_start(set));
  ASK("PAPI_stop", situation, PAPI_stop(set, values));
  ASK("PAPI_read", situation, PAPI_read(set, values));
  ASK("PAPI_read_ts", situation, PAPI_read_ts(set, values, &cycles));
  ASK("PAPI_accum", situation, PAPI_accum(set, values));
  ASK("PAPI_reset", situation, PAPI_reset(set));
  ASK("PAPI_write", situation, PAPI_write(set, values));
  ASK("PAPI_state", situation, PAPI_state(set, &number));
  ASK("PAPI_num_events", situation, PAPI_num_events(set));
  ASK("PAPI_list_events", situation, PAPI_list_events(set, &code, &number));
  ASK("PAPI_cleanup_eventset", situation, PAPI_cleanup_eventset(set));
  ASK("PAPI_destroy_eventset", situation, PAPI_destroy_eventset(&handle));
  ASK("PAPI_assign_eventset_component", situation, PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_get_eventset_component", situation, PAPI_get_eventset_component(set));
  ASK("PAPI_set_multiplex", situation, PAPI_set_multiplex(set));
  ASK("PAPI_get_multiplex", situation, PAPI_get_multiplex(set));
  ASK("PAPI_attach", situation, PAPI_attach(set, (unsigned long)getpid()));
  ASK("PAPI_overflow", situation, PAPI_overflow(set, clock_code, 1000, 0, on_overflow));
}

void eventsets(void) {
  int set = 3, other = PAPI_NULL, number, list[8], handle;
  chapter = "eventsets";
  ASK_ASIDE("PAPI_create_eventset", "NULL", PAPI_create_eventset(NULL));
  ASK("PAPI_create_eventset", "handle is not PAPI_NULL", PAPI_create_eventset(&set));
  set = PAPI_NULL;
  ASK("PAPI_create_eventset", "good", PAPI_create_eventset(&set));
  ASK("handle", "the first", set);
  unknown_handle("handle never given", kUnused);
  unknown_handle("handle PAPI_NULL", PAPI_NULL);
  unknown_handle("handle -7", -7);
  ASK_ASIDE("PAPI_destroy_eventset", "NULL", PAPI_destroy_eventset(NULL));

  ASK("PAPI_start", "empty", PAPI_start(set));
  ASK("PAPI_stop", "empty", PAPI_stop(set, values));
  ASK("PAPI_read", "empty", PAPI_read(set, values));
  ASK("PAPI_reset", "empty", PAPI_reset(set));
  ASK("PAPI_accum", "empty", PAPI_accum(set, values));
  ASK("PAPI_cleanup_eventset", "empty", PAPI_cleanup_eventset(set));
  ASK("PAPI_num_events", "empty", PAPI_num_events(set));
  ASK("state", "empty", state(set));
  ASK("PAPI_get_eventset_component", "empty", PAPI_get_eventset_component(set));
  ASK_ASIDE("PAPI_remove_event", "empty", PAPI_remove_event(set, clock_code));
  ASK("PAPI_set_multiplex", "empty", PAPI_set_multiplex(set));
  ASK("PAPI_assign_eventset_component", "component 99", PAPI_assign_eventset_component(set, 99));
  ASK("PAPI_assign_eventset_component", "component -1", PAPI_assign_eventset_component(set, -1));
  ASK("PAPI_assign_eventset_component", "component 0", PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_assign_eventset_component", "a second time", PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_start", "assigned, empty", PAPI_start(set));

  ASK("PAPI_add_event", "code 0", PAPI_add_event(set, 0));
  ASK("PAPI_add_event", "no such preset", PAPI_add_event(set, kBadPreset));
  ASK("PAPI_add_event", "no such native event", PAPI_add_event(set, kBadNative));
  /* Which error 7.0 gives depends on the component it asked last. */
  ASK("PAPI_add_named_event is refused", "no such name", PAPI_add_named_event(set, "NO_SUCH_EVENT") < 0);
  ASK("PAPI_add_named_event is refused", "empty name", PAPI_add_named_event(set, "") < 0);
  ASK_ASIDE("PAPI_add_named_event", "NULL", PAPI_add_named_event(set, NULL));
  ASK("PAPI_add_named_event", "PMU known, event not", PAPI_add_named_event(set, "perf::NOPE"));
  ASK_ASIDE("PAPI_add_events", "NULL", PAPI_add_events(set, NULL, 1));
  ASK("PAPI_add_events", "none", PAPI_add_events(set, &clock_code, 0));
  ASK("PAPI_add_events", "minus one", PAPI_add_events(set, &clock_code, -1));
  ASK("PAPI_add_event", "good", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_event", "the same again", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_event", "a second", PAPI_add_event(set, faults_code));
  const int three[] = {major_code, kBadNative, clock_code};
  ASK("PAPI_add_events", "the second of three impossible", PAPI_add_events(set, (int*)three, 3));
  ASK("PAPI_num_events", "three", PAPI_num_events(set));
  ASK("PAPI_get_eventset_component", "three", PAPI_get_eventset_component(set));
  ASK("PAPI_assign_eventset_component", "three", PAPI_assign_eventset_component(set, 0));

  ASK("PAPI_stop", "not running", PAPI_stop(set, values));
  values[0] = values[1] = values[2] = -5;
  ASK("PAPI_read", "never started", PAPI_read(set, values));
  ASK("value", "never started", values[0]);
  ASK("PAPI_read_ts", "never started", PAPI_read_ts(set, values, &cycles));
  ASK("PAPI_accum", "never started", PAPI_accum(set, values));
  ASK("PAPI_reset", "never started", PAPI_reset(set));
  ASK("PAPI_write", "never started", PAPI_write(set, values));
  handle = set;
  ASK("PAPI_destroy_eventset", "not empty", PAPI_destroy_eventset(&handle));
  ASK("PAPI_remove_event", "not in the set", PAPI_remove_event(set, kBadNative - 1));
  ASK("PAPI_remove_named_event", "not in the set", PAPI_remove_named_event(set, "perf::MINOR-FAULTS"));
  ASK("PAPI_remove_named_event", "no such name", PAPI_remove_named_event(set, "NOPE"));
  ASK("PAPI_remove_events", "none", PAPI_remove_events(set, &clock_code, 0));

  ASK("PAPI_create_eventset", "a second set", PAPI_create_eventset(&other));
  ASK("PAPI_add_event", "same event in another set", PAPI_add_event(other, clock_code));
  ASK("PAPI_start", "good", PAPI_start(set));
  ASK("PAPI_start", "already running", PAPI_start(set));
  ASK("state", "running", state(set));
  ASK("PAPI_start", "another set of the same component", PAPI_start(other));
  ASK("PAPI_read", "running", PAPI_read(set, values));
  ASK("PAPI_add_event", "running", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_named_event", "running", PAPI_add_named_event(set, "perf::MINOR-FAULTS"));
  ASK("PAPI_add_events", "running", PAPI_add_events(set, &clock_code, 1));
  ASK("PAPI_remove_event", "running", PAPI_remove_event(set, faults_code));
  ASK("PAPI_remove_named_event", "running", PAPI_remove_named_event(set, kFaults));
  ASK("PAPI_remove_events", "running", PAPI_remove_events(set, &faults_code, 1));
  ASK("PAPI_assign_eventset_component", "running", PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_cleanup_eventset", "running", PAPI_cleanup_eventset(set));
  handle = set;
  ASK("PAPI_destroy_eventset", "running", PAPI_destroy_eventset(&handle));
  ASK("PAPI_write", "running", PAPI_write(set, values));
  ASK("PAPI_reset", "running", PAPI_reset(set));
  ASK("PAPI_accum", "running", PAPI_accum(set, values));
  ASK("PAPI_set_multiplex", "running", PAPI_set_multiplex(set));
  ASK("PAPI_attach", "running", PAPI_attach(set, (unsigned long)getpid()));
  ASK_ASIDE("PAPI_read", "NULL", PAPI_read(set, NULL));
  ASK_ASIDE("PAPI_read_ts", "NULL values", PAPI_read_ts(set, NULL, &cycles));
  ASK_ASIDE("PAPI_read_ts", "NULL cycles", PAPI_read_ts(set, values, NULL));
  ASK_ASIDE("PAPI_accum", "NULL", PAPI_accum(set, NULL));
  ASK_ASIDE("PAPI_write", "NULL", PAPI_write(set, NULL));
  ASK_ASIDE("PAPI_state", "NULL", PAPI_state(set, NULL));
  ASK_ASIDE("PAPI_list_events", "NULL number", PAPI_list_events(set, list, NULL));
  number = 3;
  ASK_ASIDE("PAPI_list_events", "NULL list", PAPI_list_events(set, NULL, &number));
  number = 1;
  ASK("PAPI_list_events", "space for one of three", PAPI_list_events(set, list, &number));
  ASK("number", "space for one of three", number);
  number = 0;
  ASK("PAPI_list_events", "how many?", PAPI_list_events(set, NULL, &number));
  ASK("number", "how many?", number);
  number = 8;
  ASK("PAPI_list_events", "all", PAPI_list_events(set, list, &number));
  ASK("order", "all", list[0] == clock_code && list[1] == faults_code && list[2] == major_code);
  ASK("PAPI_stop", "good", PAPI_stop(set, values));
  ASK("value > 0", "after stop", values[0] > 0);
  ASK("PAPI_stop", "twice", PAPI_stop(set, values));
  ASK("PAPI_read", "after stop", PAPI_read(set, values + 8));
  ASK("value", "as the stop gave it", values[0] == values[8]);
  ASK("PAPI_start", "again", PAPI_start(set));
  ASK("PAPI_stop", "NULL", PAPI_stop(set, NULL));
  ASK("PAPI_start", "the other set, now alone", PAPI_start(other));
  ASK("PAPI_stop", "the other set", PAPI_stop(other, values));
  ASK("PAPI_remove_event", "good", PAPI_remove_event(set, faults_code));
  ASK("PAPI_remove_event", "again", PAPI_remove_event(set, faults_code));
  ASK("PAPI_num_events", "two", PAPI_num_events(set));
  ASK("PAPI_cleanup_eventset", "good", PAPI_cleanup_eventset(set));
  ASK("PAPI_cleanup_eventset", "again", PAPI_cleanup_eventset(set));
  ASK("PAPI_get_eventset_component", "after cleanup", PAPI_get_eventset_component(set));
  handle = set;
  ASK("PAPI_destroy_eventset", "good", PAPI_destroy_eventset(&set));
  ASK("handle", "destroyed", set);
  ASK("PAPI_start", "destroyed", PAPI_start(handle));
  set = PAPI_NULL;
  PAPI_create_eventset(&set);
  ASK("handle", "used again at once", set == handle);
  PAPI_destroy_eventset(&set);
  PAPI_cleanup_eventset(other);
  PAPI_destroy_eventset(&other);
}

static int main_set;
static void* stranger(void* nothing) {
  int number = 8, space = 8;
  unsigned long ids[8];
  void* pointer = &number;
  (void)nothing;
  ASK("PAPI_read", "set of another thread", PAPI_read(main_set, values));
  ASK("PAPI_stop", "set of another thread", PAPI_stop(main_set, values));
  ASK("PAPI_start", "set of another thread", PAPI_start(main_set));
  const int own = clock_set();
  ASK("PAPI_start", "own set beside another thread's", PAPI_start(own));
  ASK("state", "own set", state(own));
  ASK("PAPI_stop", "own set", PAPI_stop(own, values));
  ASK("PAPI_register_thread", "registered by use", PAPI_register_thread());
  ASK("PAPI_get_thr_specific", "never set", PAPI_get_thr_specific(PAPI_USR1_TLS, &pointer));
  ASK("pointer is NULL", "never set", pointer == NULL);
  ASK("PAPI_set_thr_specific", "good", PAPI_set_thr_specific(PAPI_USR1_TLS, &number));
  ASK("PAPI_get_thr_specific", "set", PAPI_get_thr_specific(PAPI_USR1_TLS, &pointer));
  ASK("pointer is the one set", "set", pointer == &number);
  ASK("PAPI_set_thr_specific", "tag 99", PAPI_set_thr_specific(99, &number));
  ASK("PAPI_get_thr_specific", "tag 99", PAPI_get_thr_specific(99, &pointer));
  ASK("PAPI_get_thr_specific", "tag -1", PAPI_get_thr_specific(-1, &pointer));
  ASK("PAPI_list_threads", "two", PAPI_list_threads(ids, &space));
  ASK("number", "two threads", space);
  ASK("PAPI_list_threads", "NULL list", PAPI_list_threads(NULL, &number));
  ASK("number", "NULL list", number);
  ASK_ASIDE("PAPI_list_threads", "NULL number", PAPI_list_threads(ids, NULL));
  ASK("PAPI_unregister_thread", "good", PAPI_unregister_thread());
  ASK("PAPI_unregister_thread", "twice", PAPI_unregister_thread());
  return NULL;
}

void threads(void) {
  pthread_t thread;
  chapter = "threads";
  ASK("PAPI_thread_id", "before thread_init", PAPI_thread_id());
  ASK("PAPI_register_thread", "before thread_init", PAPI_register_thread());
  ASK("PAPI_thread_init", "good", PAPI_thread_init(by_pthread));
  ASK("PAPI_thread_id is pthread_self", "after thread_init", PAPI_thread_id() == by_pthread());
  main_set = clock_set();
  ASK("PAPI_start", "main thread", PAPI_start(main_set));
  pthread_create(&thread, NULL, stranger, NULL);
  pthread_join(thread, NULL);
  ASK("PAPI_stop", "main thread", PAPI_stop(main_set, values));
  PAPI_cleanup_eventset(main_set);
  PAPI_destroy_eventset(&main_set);
  ASK_ASIDE("PAPI_lock", "99", PAPI_lock(99));
  ASK_ASIDE("PAPI_unlock", "-1", PAPI_unlock(-1));
  ASK("PAPI_lock", "good", PAPI_lock(PAPI_USR2_LOCK));
  ASK("PAPI_unlock", "good", PAPI_unlock(PAPI_USR2_LOCK));
  ASK_ASIDE("PAPI_lock", "PAPI_NUM_LOCK", PAPI_lock(PAPI_NUM_LOCK));
  ASK_ASIDE("PAPI_unlock", "PAPI_NUM_LOCK", PAPI_unlock(PAPI_NUM_LOCK));
}
