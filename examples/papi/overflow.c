// PAPI_overflow and PAPI_profil: a call, or a count by place of the program, for every so many events.
#include "common.h"

enum { kBuckets = 4096 };

static volatile int called;
static unsigned short buckets[kBuckets];

static void handler(int set, void* address, long long vector, void* context) {
  (void)set, (void)address, (void)context;
  if ((vector & 1) != 0) ++called;
}

int main(void) {
  begin();
  int set = PAPI_NULL, code = 0, position = -1, one = 1;
  must(PAPI_event_name_to_code(TASK_CLOCK, &code), "PAPI_event_name_to_code");
  must(PAPI_create_eventset(&set), "PAPI_create_eventset");
  must(PAPI_add_event(set, code), "PAPI_add_event");
  must(PAPI_overflow(set, code, 1000000, 0, handler), "PAPI_overflow");  // each millisecond
  must(PAPI_get_overflow_event_index(set, 1, &position, &one), "PAPI_get_overflow_event_index");
  must(PAPI_start(set), "PAPI_start");
  compute(20000000);
  must(PAPI_stop(set, NULL), "PAPI_stop");
  must(PAPI_overflow(set, code, 0, 0, handler), "PAPI_overflow");

  const PAPI_exe_info_t* program = PAPI_get_executable_info();
  if (program == NULL) return 1;
  const char* start = program->address_info.text_start;
  const size_t length = (size_t)((const char*)program->address_info.text_end - start);
  // One bucket for two bytes of program is a scale of 65536.
  unsigned scale = 65536;
  while (scale > 2 && length / 2 * scale / 65536 >= kBuckets) scale /= 2;
  must(PAPI_profil(buckets, sizeof buckets, (void*)start, scale, set, code, 1000000, PAPI_PROFIL_POSIX),
       "PAPI_profil");
  must(PAPI_start(set), "PAPI_start");
  compute(20000000);
  must(PAPI_stop(set, NULL), "PAPI_stop");
  must(PAPI_profil(buckets, sizeof buckets, (void*)start, scale, set, code, 0, PAPI_PROFIL_POSIX),
       "PAPI_profil");
  long found = 0;
  for (int i = 0; i < kBuckets; ++i) found += buckets[i];
  printf("event %d overflowed %d times; the profile has %ld samples\n", position, called, found);
  must(PAPI_cleanup_eventset(set), "PAPI_cleanup_eventset");
  must(PAPI_destroy_eventset(&set), "PAPI_destroy_eventset");
  PAPI_shutdown();
  return called > 0 && found > 0 ? 0 : 1;
}
