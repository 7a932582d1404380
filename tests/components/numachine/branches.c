/* One thread whose branches go one way, the other way in turns, or at random; of each kind the branches, those that a
 * modelled predictor did not foresee, the basic blocks counted in the processor card's SRAM and the instructions. */
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <substrata/feed.h>
#include <substrata/numachine.h>

enum { kValues = 2000 };
static unsigned char values[kValues];
static volatile uint64_t zeros, others;

static __attribute__((noinline)) void count(void) {
  for (int i = 0; i < kValues; ++i) {
    if (values[i] != 0)
      ++others;
    else
      ++zeros;
  }
}

static int is_one_of(int kind, int i) {
  static uint32_t random = 1;
  random = random * 1664525u + 1013904223u;
  return kind == 0 ? 0 : kind == 1 ? i & 1 : (int)(random >> 30 & 1);
}

int main(void) {
  static uint32_t sram[65536];
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  const char* const events[] = {"numachine:::BRANCHES", "numachine:::BRANCHES_MISPREDICTED",
                                "numachine:::INSTRUCTIONS"};
  for (int i = 0; i < 3; ++i) {
    if (PAPI_add_named_event(set, events[i]) != PAPI_OK) return 2;
  }
  for (int kind = 0; kind < 3; ++kind) {
    for (int i = 0; i < kValues; ++i) values[i] = (unsigned char)is_one_of(kind, i);
    struct substrata_run_options options;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.parameters = "processors=1:predictor=512:blocks=count";
    struct substrata_following* following = NULL;
    long long counts[3] = {0, 0, 0};
    if (substrata_numachine_reset() != 0 ||
        substrata_numachine_write(0, SUBSTRATA_NUMACHINE_SRAMCE, 1) != 0 ||
        substrata_follow("numachine", &options, &following) != 0 || PAPI_start(set) != PAPI_OK)
      return 3;
    count();
    if (PAPI_stop(set, counts) != PAPI_OK) return 4;
    substrata_unfollow(following);
    if (substrata_numachine_read_sram(0, 0, 65536, sram) != 0) return 5;
    uint64_t blocks = 0;
    for (int word = 0; word < 65536; ++word) blocks += sram[word];
    printf("%d %lld %lld %llu %lld\n", kind, counts[0], counts[1], (unsigned long long)blocks, counts[2]);
  }
  return 0;
}
