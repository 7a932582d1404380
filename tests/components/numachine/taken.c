/* Accesses of all sorts by one thread, followed twice by the NUMAchine model, the second time with an
 * observer of the feed beside it for a part. Prints the loads and stores the model counted, and what the
 * observer got. */
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>

enum { kCount = 3000 };
static volatile uint32_t numbers[kCount];
static volatile unsigned char bytes[4 * kCount + 1];
static struct block { unsigned char bytes[1024]; } from, to;
static unsigned long given;

static __attribute__((no_sanitize_thread)) void count(void* owner, const struct substrata_transaction* batch,
                                                      size_t size) {
  (void)owner;
  for (size_t i = 0; i < size; ++i) given += batch[i].kind == SUBSTRATA_WRITE && batch[i].size == 4;
}

static __attribute__((noinline)) void write_all(void) {
  for (int i = 0; i < kCount; ++i) numbers[i] = i;
}
/* Four bytes at odd addresses: some lie across two lines. */
static __attribute__((noinline)) unsigned read_unaligned(void) {
  unsigned sum = 0;
  for (int i = 0; i < kCount; ++i) {
    struct __attribute__((packed)) word {
      uint32_t value;
    };
    sum += ((volatile const struct word*)(bytes + 1 + 4 * i))->value;
  }
  return sum;
}
static __attribute__((noinline)) void copy(void* destination, const void* source, size_t size) {
  memcpy(destination, source, size);
}
static void work(const char* region) {
  const uint16_t before = substrata_set_phase(substrata_region(region));
  write_all();
  read_unaligned();
  copy(&to, &from, sizeof to);
  substrata_set_phase(before);
}

static __attribute__((no_sanitize_thread)) int follow(const char* region,
                                                      struct substrata_observer* observer) {
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=4";
  int set = PAPI_NULL;
  char name[96];
  long long values[2];
  struct substrata_following* following = NULL;
  if (PAPI_create_eventset(&set) != PAPI_OK) return 1;
  snprintf(name, sizeof name, "numachine:::LOADS:phase=%u", substrata_region(region));
  if (PAPI_add_named_event(set, name) != PAPI_OK) return 2;
  snprintf(name, sizeof name, "numachine:::STORES:phase=%u", substrata_region(region));
  if (PAPI_add_named_event(set, name) != PAPI_OK) return 3;
  if (substrata_follow("numachine", &options, &following) != 0 || PAPI_start(set) != PAPI_OK) return 4;
  work(region);
  if (observer != NULL && substrata_subscribe(observer, "mem.cpu*.accesses") < 0) return 5;
  work(region);
  substrata_flush();
  if (observer != NULL) substrata_unsubscribe(observer, NULL);
  work(region);
  if (PAPI_read(set, values) != PAPI_OK) return 6;
  printf("%s read %lld %lld\n", region, values[0], values[1]);
  work(region);
  if (PAPI_stop(set, values) != PAPI_OK) return 7;
  printf("%s stopped %lld %lld\n", region, values[0], values[1]);
  substrata_unfollow(following);
  return 0;
}

int main(void) {
  work("before");
  struct substrata_observer* observer = NULL;
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT ||
      substrata_observer_create(count, NULL, 0, &observer) != 0)
    return 8;
  const int first = follow("first", NULL);
  work("between");
  const int second = follow("second", observer);
  substrata_observer_destroy(observer);
  work("after");
  printf("observer %lu\nresult %s %d %d\n", given, first == 0 && second == 0 ? "right" : "wrong", first,
         second);
  return 0;
}
