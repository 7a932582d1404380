/* A program that publishes numbers and measures them itself through PAPI: run on Debian's libpapi and libsde
 * and on ours, the lines must be the same. The argument names the scenario. */
#include <papi.h>
#include <sde_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char* call, int result) {
  if (result == PAPI_OK) return;
  printf("%s: %d\n", call, result);
  exit(1);
}

static int set_of(int count, const char* const* names) {
  int set = PAPI_NULL;
  must("PAPI_create_eventset", PAPI_create_eventset(&set));
  for (int i = 0; i < count; ++i) must(names[i], PAPI_add_named_event(set, names[i]));
  return set;
}

static void a_group_of_delta_and_instant_members(void) {
  static double delta = 1.4, instant = 2.0;
  papi_handle_t h = papi_sde_init("m");
  papi_sde_register_counter(h, "delta", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_double, &delta);
  papi_sde_register_counter(h, "instant", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_double, &instant);
  papi_sde_add_counter_to_group(h, "delta", "both", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(h, "instant", "both", PAPI_SDE_SUM);
  const char* const names[] = {"sde:::m::delta", "sde:::m::instant", "sde:::m::both"};
  const int set = set_of(3, names);
  long long values[3];
  must("PAPI_start", PAPI_start(set));
  for (int round = 0; round < 3; ++round) {
    delta += 0.2;
    instant += 0.332;
    must("PAPI_read", PAPI_read(set, values));
    printf("%.3f %.3f %.3f\n", GET_DOUBLE_SDE(values[0]), GET_DOUBLE_SDE(values[1]),
           GET_DOUBLE_SDE(values[2]));
    if (round == 1) must("PAPI_reset", PAPI_reset(set));
  }
  must("PAPI_stop", PAPI_stop(set, values));
  printf("%.3f %.3f %.3f\n", GET_DOUBLE_SDE(values[0]), GET_DOUBLE_SDE(values[1]), GET_DOUBLE_SDE(values[2]));
}

static void the_greatest_of_delta_members(void) {
  static long long a = 1000, b = 1;
  papi_handle_t h = papi_sde_init("m");
  papi_sde_register_counter(h, "a", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &a);
  papi_sde_register_counter(h, "b", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &b);
  papi_sde_add_counter_to_group(h, "a", "most", PAPI_SDE_MAX);
  papi_sde_add_counter_to_group(h, "b", "most", PAPI_SDE_MAX);
  papi_sde_add_counter_to_group(h, "most", "outer", PAPI_SDE_SUM);
  papi_sde_add_counter_to_group(h, "b", "outer", PAPI_SDE_SUM);
  const char* const names[] = {"sde:::m::outer", "sde:::m::most", "sde:::m::a", "sde:::m::b"};
  const int set = set_of(4, names);
  long long v[4];
  must("PAPI_start", PAPI_start(set));
  for (int round = 0; round < 3; ++round) {
    a += 2;
    b += 5 * round;
    must("PAPI_read", PAPI_read(set, v));
    printf("%lld %lld %lld %lld\n", v[0], v[1], v[2], v[3]);
  }
  must("PAPI_stop", PAPI_stop(set, v));
}

static void an_event_that_is_never_registered(void) {
  static long long there = 7;
  papi_handle_t h = papi_sde_init("m");
  papi_sde_register_counter(h, "there", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &there);
  const char* const names[] = {"sde:::m::there", "sde:::m::never", "sde:::nobody::never", "sde:::m::later"};
  const int set = set_of(4, names);
  long long v[4];
  void* later = NULL;
  must("PAPI_start", PAPI_start(set));
  for (int round = 0; round < 4; ++round) {
    there += 3;
    if (round == 1) papi_sde_create_counter(h, "later", PAPI_SDE_DELTA, &later);
    if (round > 1) papi_sde_inc_counter(later, 4);
    must("PAPI_read", PAPI_read(set, v));
    printf("%lld %lld %lld %lld\n", v[0], v[1], v[2], v[3]);
    if (round == 2) must("PAPI_reset", PAPI_reset(set));
  }
  must("PAPI_stop", PAPI_stop(set, v));
  printf("%lld %lld %lld %lld\n", v[0], v[1], v[2], v[3]);
}

static int heard = 0;
static void hear(int set, void* address, long long vector, void* context) {
  (void)set, (void)address, (void)context;
  heard += vector == 1;
}

/* As a library that counts one by one and is read with PAPI_accum, which resets. */
static void overflows_between_accumulations(void) {
  papi_handle_t h = papi_sde_init("m");
  void* counter = NULL;
  papi_sde_create_counter(h, "c", PAPI_SDE_DELTA, &counter);
  const char* const names[] = {"sde:::m::c"};
  const int set = set_of(1, names);
  int code = 0;
  must("PAPI_event_name_to_code", PAPI_event_name_to_code(names[0], &code));
  must("PAPI_overflow", PAPI_overflow(set, code, 10, PAPI_OVERFLOW_HARDWARE, hear));
  must("PAPI_start", PAPI_start(set));
  long long total = 0;
  for (int round = 0; round < 12; ++round) {
    for (int k = 0; k < 7 + 11 * (round % 4); ++k) papi_sde_inc_counter(counter, 1);
    must("PAPI_accum", PAPI_accum(set, &total));
    printf("%lld, heard %d\n", total, heard);
  }
  for (int k = 0; k < 7; ++k) papi_sde_inc_counter(counter, 1);
  must("PAPI_reset", PAPI_reset(set));
  for (int k = 0; k < 7; ++k) papi_sde_inc_counter(counter, 1);
  long long last = 0;
  must("PAPI_stop", PAPI_stop(set, &last));
  printf("%lld, heard %d\n", last, heard);
}

int main(int argc, char** argv) {
  const char* const scenario = argc > 1 ? argv[1] : "";
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 2;
  if (strcmp(scenario, "a_group_of_delta_and_instant_members") == 0) a_group_of_delta_and_instant_members();
  if (strcmp(scenario, "the_greatest_of_delta_members") == 0) the_greatest_of_delta_members();
  if (strcmp(scenario, "an_event_that_is_never_registered") == 0) an_event_that_is_never_registered();
  if (strcmp(scenario, "overflows_between_accumulations") == 0) overflows_between_accumulations();
  printf("end\n");
  return 0;
}
