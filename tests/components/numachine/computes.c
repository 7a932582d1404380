/* Two loops that differ by instructions that only compute; of each the instructions, loads and cycles of its misses,
 * and the cycles that the modelled processor took. */
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>
#include <substrata/numachine.h>

enum { kRounds = 1000, kTimestamp = 0x1b };
static volatile uint64_t words[8];

#define ADDITIONS(count) ".rept " #count "\n\tadd $1, %0\n\t.endr"
#define LOOP(name, count)                                \
  static __attribute__((noinline)) uint64_t name(void) { \
    uint64_t sum = 0;                                    \
    for (int i = 0; i < kRounds; ++i) {                  \
      sum += words[i % 8];                               \
      __asm__ volatile(ADDITIONS(count) : "+r"(sum));    \
    }                                                    \
    return sum;                                          \
  }
LOOP(few, 20)
LOOP(many, 220)

static __attribute__((no_sanitize_thread)) uint32_t now(void) {
  uint32_t cycles = 0;
  substrata_numachine_read(0, kTimestamp, &cycles);
  return cycles;
}

int main(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  const char* const events[] = {"numachine:::INSTRUCTIONS", "numachine:::LOADS", "numachine:::MISS_CYCLES"};
  for (int i = 0; i < 3; ++i) {
    if (PAPI_add_named_event(set, events[i]) != PAPI_OK) return 2;
  }
  struct substrata_run_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.parameters = "processors=1";
  for (int kind = 0; kind < 2; ++kind) {
    struct substrata_following* following = NULL;
    long long counts[3] = {0, 0, 0};
    if (substrata_follow("numachine", &options, &following) != 0 || PAPI_start(set) != PAPI_OK) return 3;
    const uint32_t before = now();
    const uint64_t sum = kind == 0 ? few() : many();
    const uint32_t after = now();
    if (PAPI_stop(set, counts) != PAPI_OK) return 4;
    substrata_unfollow(following);
    printf("%llu %lld %lld %lld %u\n", (unsigned long long)sum, counts[0], counts[1], counts[2],
           after - before);
  }
  return 0;
}
