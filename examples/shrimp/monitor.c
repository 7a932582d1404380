// What the SHRIMP performance monitor can do, step by step, on a modelled machine: a histogram, a threshold,
// a trace that a threshold begins, and commands from another node.
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <substrata/feed.h>
#include <substrata/shrimp.h>

enum { kNodes = 8, kEveryNode = -1 };
static const char* const kWorkload = "fft:points=4096";

static void fail(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}
static void check(int result, const char* what) {
  if (result != PAPI_OK) fail(what, PAPI_strerror(result));
}
// A command of node `from` to a node's monitor, or to all.
static void command(uint32_t from, int node, uint32_t reg, uint64_t value) {
  const uint32_t to = node == kEveryNode ? SUBSTRATA_SHRIMP_EVERY_NODE : (uint32_t)node;
  if (substrata_shrimp_command(from, to, reg, value) != 0) fail("command", substrata_shrimp_error());
}
static void run_workload(void) {
  struct substrata_run_options options = {.struct_size = sizeof options, .processes = kNodes, .seed = 1};
  struct substrata_run_result result = {.struct_size = sizeof result};
  if (substrata_run("shrimp", kWorkload, &options, &result) != 0 || !result.correct)
    fail(kWorkload, result.message);
}
static uint64_t word(uint32_t node, uint32_t address) {
  uint64_t value = 0;
  if (substrata_shrimp_read(node, address, 1, &value) != 0) fail("read", substrata_shrimp_error());
  return value;
}

static uint32_t alarm_address;
static int alarms;
static void on_threshold(int set, void* address, long long vector, void* context) {
  (void)set, (void)vector, (void)context;
  if (alarms++ == 0) alarm_address = (uint32_t)(uintptr_t)address;
}

int main(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  int set = PAPI_NULL, packets_at_0 = 0;
  check(PAPI_create_eventset(&set), "create");
  check(PAPI_add_named_event(set, "shrimp:::PACKETS"), "shrimp:::PACKETS");
  check(PAPI_add_named_event(set, "shrimp:::PACKETS:node=0"), "shrimp:::PACKETS:node=0");
  check(PAPI_event_name_to_code("shrimp:::PACKETS:node=0", &packets_at_0), "shrimp:::PACKETS:node=0");
  long long counts[2];

  // 1. A histogram of senders by sizes, in sixteen bytes per bin: the multiplexer takes the sender, two nibbles
  //    of the size, and, because an address has five nibbles, the category, which stays 0 for now.
  const uint32_t selection = SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) |
                             SUBSTRATA_SHRIMP_CATEGORY;
  command(0, kEveryNode, SUBSTRATA_SHRIMP_MULTIPLEXER, selection);
  check(PAPI_start(set), "start");
  run_workload();
  check(PAPI_stop(set, counts), "stop");
  printf("1. %s on %d nodes: %lld packets, %lld of them to node 0\n", kWorkload, kNodes, counts[0],
         counts[1]);
  uint64_t* words = malloc(SUBSTRATA_SHRIMP_WORDS * sizeof *words);
  if (words == NULL) return 1;
  if (substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words) != 0)
    fail("read", substrata_shrimp_error());
  for (uint32_t address = 0; address < SUBSTRATA_SHRIMP_WORDS; ++address) {
    if (words[address] < 200) continue;
    struct substrata_shrimp_variables bin;
    if (substrata_shrimp_variables_of(selection, address, &bin) != 0) fail("bin", substrata_shrimp_error());
    printf("   sender %u, %u to %u bytes: %llu packets\n", bin.sender, bin.size, bin.size + 15u,
           (unsigned long long)words[address]);
  }
  free(words);

  // 2. A threshold: node 0 gets an alarm when one of its bins goes above 50. PAPI_overflow arms the register.
  if (substrata_shrimp_initialise(0, 0, 0, SUBSTRATA_SHRIMP_WORDS, 0) != 0)
    fail("initialise", substrata_shrimp_error());
  check(PAPI_overflow(set, packets_at_0, 50, 0, on_threshold), "overflow");
  // 3. And a trace: the first interrupt also switches node 0's monitor to trace mode. Histogram and trace
  //    share the memory, so the trace goes to words that the histogram leaves alone (categories from 8 on).
  command(0, 0, SUBSTRATA_SHRIMP_TRACE_BASE, SUBSTRATA_SHRIMP_WORDS / 2);
  command(0, 0, SUBSTRATA_SHRIMP_TRIGGER, 1);
  check(PAPI_start(set), "start");
  run_workload();
  check(PAPI_stop(set, counts), "stop");
  struct substrata_shrimp_variables first;
  if (substrata_shrimp_variables_of(selection, alarm_address, &first) != 0)
    fail("address", substrata_shrimp_error());
  printf("2. the handler ran %d time(s): sender %u, %u to %u bytes, %llu packets\n", alarms, first.sender,
         first.size, first.size + 15u, (unsigned long long)word(0, alarm_address));
  struct substrata_shrimp_trace_entry trace[5];
  uint32_t entries = 0;
  if (substrata_shrimp_read_trace(0, 0, 5, trace, &entries) != 0) fail("trace", substrata_shrimp_error());
  printf("3. from then on node 0 traced %u packets:\n", entries);
  for (uint32_t i = 0; i < 5 && i < entries; ++i) {
    struct substrata_shrimp_variables one;
    if (substrata_shrimp_variables_of(selection, trace[i].address, &one) != 0)
      fail("trace", substrata_shrimp_error());
    printf("   at %u x 100 ns (20 bits): sender %u, %u to %u bytes\n", trace[i].clock, one.sender, one.size,
           one.size + 15u);
  }
  const int traced = alarms == 1 && entries > 0;
  check(PAPI_overflow(set, packets_at_0, 0, 0, on_threshold), "overflow");

  // 4. A command from afar: node 3 writes node 5's category register; what arrives there counts under it.
  substrata_shrimp_power_on();
  check(PAPI_cleanup_eventset(set), "cleanup");
  check(PAPI_add_named_event(set, "shrimp:::PACKETS:node=5"), "PACKETS:node=5");
  check(PAPI_add_named_event(set, "shrimp:::PACKETS:node=5:category=9"), "PACKETS:node=5:category=9");
  command(3, 5, SUBSTRATA_SHRIMP_CATEGORY_REGISTER, 9);
  check(PAPI_start(set), "start");
  run_workload();
  check(PAPI_stop(set, counts), "stop");
  printf("4. node 3 set node 5's category: %lld of its %lld packets count under 9\n", counts[1], counts[0]);
  const int remote = counts[1] == counts[0] && counts[0] > 0;

  // What is refused says why, and changes nothing.
  if (substrata_shrimp_command(0, 0, SUBSTRATA_SHRIMP_MULTIPLEXER, selection | 1u) == 0) return 1;
  printf("5. a selection of six nibbles is refused: %s\n", substrata_shrimp_error());
  PAPI_destroy_eventset(&set);
  PAPI_shutdown();
  return traced && remote ? 0 : 1;
}
