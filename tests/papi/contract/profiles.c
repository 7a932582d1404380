/* Asks for histograms of where a program spends its time: one bucket, several segments, buckets of each size. What is
 * reported holds whatever the speed: which buckets are empty, and which has most. */
#define _GNU_SOURCE
#include <papi.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "questions.h"

#define IN_SECTION(name) __attribute__((noinline, section(name)))
extern char __start_first_loop[], __stop_first_loop[], __start_second_loop[], __stop_second_loop[];

/* Each burns 60 ms of processor time in turns that stay within it. */
enum { kTurns = 100000 };
static int enough(clock_t since) { return clock() - since > CLOCKS_PER_SEC * 60 / 1000; }
IN_SECTION("first_loop") static void turn_first(void) {
  for (int i = 0; i < kTurns; ++i) __asm__ volatile("" ::: "memory");
}
IN_SECTION("second_loop") static void turn_second(void) {
  for (int i = 0; i < kTurns; ++i) __asm__ volatile("" ::: "memory");
}
static void burn(void (*turn)(void)) {
  const clock_t since = clock();
  while (!enough(since)) turn();
}

static uint64_t sum_of(const void* buckets, unsigned bytes, int size) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < bytes / (unsigned)size; ++i) {
    uint64_t bucket = 0;
    memcpy(&bucket, (const char*)buckets + i * (unsigned)size, (size_t)size);
    sum += bucket;
  }
  return sum;
}

static int set_of_clock(int* code) {
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  PAPI_event_name_to_code((char*)"perf::TASK-CLOCK", code);
  PAPI_add_event(set, *code);
  return set;
}

static void one_bucket(int flags, int size, const char* situation) {
  uint64_t bucket = 0;
  int code = 0;
  const int set = set_of_clock(&code);
  ASK("PAPI_profil", situation, PAPI_profil(&bucket, (unsigned)size, 0, 2, set, code, 1000000, flags));
  PAPI_start(set);
  burn(turn_first);
  PAPI_stop(set, NULL);
  ASK("the bucket is filled", situation, bucket != 0);
  ASK("taken away", situation, PAPI_profil(&bucket, (unsigned)size, 0, 2, set, code, 0, flags));
  PAPI_cleanup_eventset(set);
}

static void segments(int flags, int size, int reversed, const char* situation) {
  static uint64_t first[512], second[512], rest;
  memset(first, 0, sizeof first);
  memset(second, 0, sizeof second);
  rest = 0;
  const PAPI_sprofil_t all[3] = {
      {first, sizeof first, (vptr_t)__start_first_loop, 65536},
      {second, sizeof second, (vptr_t)__start_second_loop, 65536},
      {&rest, 1, 0, 2},
  };
  PAPI_sprofil_t asked[3];
  for (int i = 0; i < 3; ++i) asked[i] = all[reversed ? 2 - i : i];
  int code = 0;
  const int set = set_of_clock(&code);
  ASK("PAPI_sprofil", situation, PAPI_sprofil(asked, 3, set, code, 1000000, flags));
  PAPI_start(set);
  burn(turn_second);
  PAPI_stop(set, NULL);
  /* Buckets behind the end of the section belong to what the linker put there. */
  const unsigned within = (unsigned)(__stop_second_loop - __start_second_loop) / 2 * (unsigned)size;
  const uint64_t in_second = sum_of(second, within, size);
  ASK("most samples in the loop that ran", situation, in_second > rest + sum_of(first, sizeof first, size));
  PAPI_sprofil(asked, 3, set, code, 0, flags);
  PAPI_cleanup_eventset(set);
}

void profiles(void) {
  chapter = "profiles";
  one_bucket(PAPI_PROFIL_POSIX, 2, "one bucket of 16 bits");
  one_bucket(PAPI_PROFIL_BUCKET_32, 4, "one bucket of 32 bits");
  one_bucket(PAPI_PROFIL_BUCKET_64, 8, "one bucket of 64 bits");
  segments(PAPI_PROFIL_POSIX, 2, 0, "three segments");
  segments(PAPI_PROFIL_BUCKET_32, 4, 0, "three segments of 32 bits");
  segments(PAPI_PROFIL_BUCKET_64, 8, 0, "three segments of 64 bits");
  segments(PAPI_PROFIL_POSIX, 2, 1, "three segments, the widest first");
}
