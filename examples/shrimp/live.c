// Preloaded beside the MPI shim into every rank of an unmodified MPI program: its messages become packets of
// the modelled SHRIMP network, counted through PAPI; at the end each rank writes what it sent by size.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <substrata/feed.h>
#include <substrata/shrimp.h>
#include <unistd.h>

enum {
  kSelection = SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) |
               SUBSTRATA_SHRIMP_CATEGORY
};
static int set = PAPI_NULL;
static struct substrata_following* following;

static void say(const char* what, const char* why) { fprintf(stderr, "shrimp live: %s: %s\n", what, why); }

static void end(void);

// A program that uses PAPI itself ends the counting of this library, too.
void PAPI_shutdown(void) {
  end();
  void (*next)(void) = NULL;
  *(void**)&next = dlsym(RTLD_NEXT, "PAPI_shutdown");
  if (next != NULL) next();
}

// Only in the ranks, not in the shells and launchers between them.
static int is_rank(void) {
  return getenv("SHRIMP_LIVE_OUT") != NULL &&
         (getenv("OMPI_COMM_WORLD_RANK") != NULL || getenv("PMI_RANK") != NULL);
}

__attribute__((constructor)) static void begin(void) {
  if (!is_rank()) return;
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
    say("PAPI", "does not start");
    return;
  }
  int status = PAPI_create_eventset(&set);
  if (status == PAPI_OK) status = PAPI_add_named_event(set, "shrimp:::PACKETS");
  if (status == PAPI_OK) status = PAPI_add_named_event(set, "shrimp:::BYTES");
  if (status == PAPI_OK) status = PAPI_start(set);
  if (status != PAPI_OK) {
    say("PAPI", PAPI_strerror(status));
    return;
  }
  // By sender, size in chunks of 16 bytes, and category: the program's region or printed section.
  if (substrata_shrimp_command(0, SUBSTRATA_SHRIMP_EVERY_NODE, SUBSTRATA_SHRIMP_MULTIPLEXER, kSelection) != 0)
    say("multiplexer", substrata_shrimp_error());
  if (substrata_follow("shrimp", NULL, &following) != 0) say("follow", substrata_feed_error());
}

__attribute__((destructor)) static void end(void) {
  if (following == NULL) return;
  substrata_unfollow(following);
  following = NULL;
  long long counts[2] = {0, 0};
  if (PAPI_stop(set, counts) != PAPI_OK) {
    say("PAPI", "does not stop");
    return;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/%ld.csv", getenv("SHRIMP_LIVE_OUT"), (long)getpid());
  FILE* const file = fopen(path, "w");
  uint64_t* const words = malloc(SUBSTRATA_SHRIMP_WORDS * sizeof *words);
  if (file == NULL || words == NULL) {
    say(path, "cannot be written");
    if (file != NULL) fclose(file);
    free(words);
    return;
  }
  // All receivers together.
  if (substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words) != 0) say("read", substrata_shrimp_error());
  fprintf(file, "# %lld packets, %lld bytes\n", counts[0], counts[1]);
  for (uint32_t i = 0; i < SUBSTRATA_SHRIMP_WORDS; ++i) {
    struct substrata_shrimp_variables of;
    if (words[i] == 0 || substrata_shrimp_variables_of(kSelection, i, &of) != 0) continue;
    fprintf(file, "%u,%u,%llu,%u\n", of.sender, of.size, (unsigned long long)words[i], of.category);
  }
  for (uint16_t region = 1; region < 16 && substrata_region_name(region) != NULL; ++region)
    fprintf(file, "category,%u,%s\n", region, substrata_region_name(region));
  free(words);
  fclose(file);
}
