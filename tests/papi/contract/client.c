/* Asks a PAPI library for its answers: every function in ordinary and in wrong situations. Prints one line an
 * answer, "chapter <tab> call <tab> situation <tab> answer". Compiled once, run on PAPI's library and on
 * ours. Here: the chapters' order, and what they share. */
#define _GNU_SOURCE
#include <pthread.h>

#include "questions.h"

const char* chapter = "";

long long values[16], cycles;
int clock_code, faults_code, major_code;

unsigned long by_pthread(void) { return (unsigned long)pthread_self(); }
void on_overflow(int set, void* address, long long vector, void* context) {
  (void)set, (void)address, (void)vector, (void)context;
}

int up(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 0;
  return PAPI_event_name_to_code((char*)kClock, &clock_code) == PAPI_OK &&
         PAPI_event_name_to_code((char*)kFaults, &faults_code) == PAPI_OK &&
         PAPI_event_name_to_code((char*)kMajorFaults, &major_code) == PAPI_OK;
}
int empty_set(void) {
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  return set;
}
int bound_set(void) {
  const int set = empty_set();
  PAPI_assign_eventset_component(set, 0);
  return set;
}
int clock_set(void) {
  const int set = empty_set();
  PAPI_add_event(set, clock_code);
  return set;
}
int state(int set) {
  int bits = -1;
  PAPI_state(set, &bits);
  return bits;
}

int main(void) {
  before_initialisation();
  life_of_the_library();
  eventsets();
  threads();
  options();
  events();
  components();
  machine();
  translations();
  profiles();
  rates_and_regions();
  chapter = "end";
  report("reached", "", 1);
  return 0;
}
