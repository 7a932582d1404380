/* A PAPI 7.0 with components that no test machine has: a stand-in for an installed one with a GPU and a
 * fabric. Its calls of PAPI_ functions go through the dynamic linker, as the real one's do. */
#define PAPI_GENERATION_7_0
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION PAPI_VERSION_NUMBER(7, 0, 0, 0)
#endif

enum { kGpu, kFabric, kNet, kBroken, kLazy, kIntel, kComponents };
static PAPI_component_info_t components[kComponents];
static int initialised, lazy_asked;

enum { kBusy, kBytes, kPackets, kLocked, kStuck, kLoopback, kReady, kMetric, kEvents, kDevice = 0x100 };
enum { kPreset = PAPI_PRESET_MASK | 77 }; /* PAPI_GPU_BYTES: what gpu:::bytes counts */
static const struct {
  const char* name;
  int component;
  const char* unit;
  int timescope;
  int step; /* what a read adds */
} events[kEvents] = {
    {"gpu:::busy", kGpu, "%", PAPI_TIMESCOPE_POINT, 0},
    {"gpu:::bytes", kGpu, "bytes", PAPI_TIMESCOPE_SINCE_START, 100},
    {"fabric:::packets", kFabric, "", PAPI_TIMESCOPE_SINCE_START, 10},
    {"fabric:::locked", kFabric, "", PAPI_TIMESCOPE_SINCE_START, 0},
    {"fabric:::stuck", kFabric, "", PAPI_TIMESCOPE_SINCE_START, 0},
    {"net:::lo", kNet, "", PAPI_TIMESCOPE_SINCE_START, 0},
    {"lazy:::ready", kLazy, "", PAPI_TIMESCOPE_SINCE_START, 1},
    {"intel_gpu:::ComputeBasic.GpuTime", kIntel, "ns", PAPI_TIMESCOPE_SINCE_START, 7},
};

enum { kMostSets = 32, kMostMembers = 8 };
static struct {
  int used, running, count;
  unsigned long attached;
  int codes[kMostMembers];
  long long values[kMostMembers];
} sets[kMostSets];

/* For the test: eventsets that were not destroyed, and those that run. */
int fake_papi_sets(void) {
  int used = 0;
  for (int i = 0; i < kMostSets; ++i) used += sets[i].used;
  return used;
}
int fake_papi_running(void) {
  int running = 0;
  for (int i = 0; i < kMostSets; ++i) running += sets[i].used && sets[i].running;
  return running;
}

static int index_of(int code) {
  const int index = code & ~PAPI_NATIVE_MASK;
  if (code == kPreset) return kBytes;
  return index >= kDevice ? kBytes : index < kEvents ? index : -1;
}
static int set_is(int set) { return set >= 0 && set < kMostSets && sets[set].used; }

int PAPI_get_opt(int option, PAPI_option_t* ptr) {
  (void)ptr;
  return option == PAPI_LIB_VERSION ? FAKE_VERSION : PAPI_EINVAL;
}
int PAPI_is_initialized(void) { return initialised; }

static void describe(int component, const char* name, int disabled, const char* reason) {
  PAPI_component_info_t* info = &components[component];
  strcpy(info->name, name);
  if (info->disabled == 0) {
    info->disabled = disabled;
    strcpy(info->disabled_reason, reason);
  }
}

int PAPI_library_init(int version) {
  /* Through the linker: with another library's function in its place this would fail. */
  if (version != (PAPI_get_opt(PAPI_LIB_VERSION, NULL) & ~0xffff)) return PAPI_EINVAL;
  if (getenv("FAKE_PAPI_HANGS") != NULL)
    for (;;) pause();
  if (getenv("FAKE_PAPI_CRASHES") != NULL) abort();
  describe(kGpu, "gpu", 0, "");
  describe(kFabric, "fabric", 0, "");
  describe(kNet, "net", 0, "");
  describe(kBroken, "broken", PAPI_ECMP, "no such card");
  describe(kIntel, "intel_gpu", 0, "");
  describe(kLazy, "lazy", PAPI_EDELAY_INIT, "not used yet");
  initialised = PAPI_LOW_LEVEL_INITED;
  return version;
}
int PAPI_thread_init(unsigned long (*id)(void)) { return id != NULL ? PAPI_OK : PAPI_EINVAL; }

int PAPI_disable_component_by_name(const char* name) {
  if (initialised || strcmp(name, "net") != 0) return PAPI_ENOCMP;
  components[kNet].disabled = PAPI_ECMP_DISABLED;
  strcpy(components[kNet].disabled_reason, "disabled by its user");
  return PAPI_OK;
}
int PAPI_num_components(void) { return kComponents; }
const PAPI_component_info_t* PAPI_get_component_info(int component) {
  return component >= 0 && component < kComponents ? &components[component] : NULL;
}

int PAPI_enum_cmp_event(int* code, int modifier, int component) {
  if (component == kLazy && !lazy_asked) {
    lazy_asked = 1;
    components[kLazy].disabled = 0;
    components[kLazy].disabled_reason[0] = '\0';
  }
  int next = modifier == PAPI_ENUM_FIRST ? 0 : (*code & ~PAPI_NATIVE_MASK) + 1;
  while (next < kEvents && events[next].component != component) ++next;
  if (next >= kEvents) return PAPI_ENOEVNT;
  *code = next | PAPI_NATIVE_MASK;
  return PAPI_OK;
}
int PAPI_get_event_info(int code, PAPI_event_info_t* info) {
  const int index = index_of(code);
  if (index < 0) return PAPI_ENOEVNT;
  memset(info, 0, sizeof *info);
  strcpy(info->symbol, events[index].name);
  snprintf(info->long_descr, sizeof info->long_descr, "stands for %s", events[index].name);
  strcpy(info->units, events[index].unit);
  info->timescope = events[index].timescope;
  return PAPI_OK;
}
int PAPI_event_name_to_code(const char* name, int* code) {
  int device = 0;
  if (sscanf(name, "gpu:::bytes:device=%d", &device) == 1) {
    *code = (kDevice + device) | PAPI_NATIVE_MASK;
    return PAPI_OK;
  }
  if (strcmp(name, "PAPI_GPU_BYTES") == 0) {
    *code = kPreset;
    return PAPI_OK;
  }
  for (int i = 0; i < kEvents; ++i)
    if (strcmp(name, events[i].name) == 0) {
      *code = i | PAPI_NATIVE_MASK;
      return PAPI_OK;
    }
  return PAPI_ENOEVNT;
}
int PAPI_get_event_component(int code) {
  const int index = index_of(code);
  return index < 0 ? PAPI_ENOEVNT : events[index].component;
}

int PAPI_create_eventset(int* set) {
  for (int i = 0; i < kMostSets; ++i)
    if (!sets[i].used) {
      memset(&sets[i], 0, sizeof sets[i]);
      sets[i].used = 1;
      *set = i;
      return PAPI_OK;
    }
  return PAPI_ENOMEM;
}
int PAPI_add_event(int set, int code) {
  const int index = index_of(code);
  if (!set_is(set) || index < 0) return PAPI_EINVAL;
  if (index == kLocked) return PAPI_EPERM;
  if (sets[set].count > 0 && PAPI_get_event_component(sets[set].codes[0]) != PAPI_get_event_component(code))
    return PAPI_EINVAL;
  if (sets[set].count == kMostMembers) return PAPI_ECOUNT;
  sets[set].codes[sets[set].count++] = code;
  return PAPI_OK;
}
int PAPI_cleanup_eventset(int set) {
  if (!set_is(set)) return PAPI_ENOEVST;
  if (sets[set].running) return PAPI_EISRUN;
  sets[set].count = 0;
  return PAPI_OK;
}
int PAPI_destroy_eventset(int* set) {
  if (!set_is(*set)) return PAPI_ENOEVST;
  if (sets[*set].running || sets[*set].count > 0) return PAPI_EINVAL;
  sets[*set].used = 0;
  *set = PAPI_NULL;
  return PAPI_OK;
}

int PAPI_reset(int set) {
  if (!set_is(set)) return PAPI_ENOEVST;
  memset(sets[set].values, 0, sizeof sets[set].values);
  return PAPI_OK;
}
/* The fabric's packets of another process are as many as its number. */
int PAPI_attach(int set, unsigned long process) {
  if (!set_is(set)) return PAPI_ENOEVST;
  if (sets[set].count > 0 && PAPI_get_event_component(sets[set].codes[0]) != kFabric) return PAPI_ECMP;
  sets[set].attached = process;
  return PAPI_OK;
}
int PAPI_start(int set) {
  if (!set_is(set)) return PAPI_ENOEVST;
  for (int i = 0; i < sets[set].count; ++i)
    if (index_of(sets[set].codes[i]) == kStuck) return PAPI_ECNFLCT;
  sets[set].running = 1;
  return PAPI_reset(set);
}
/* For the test: reads of the fabric wait while what this points to is not 0, as a vendor's library may. */
volatile int* fake_papi_fabric_hangs;

int PAPI_read(int set, long long* values) {
  if (!set_is(set)) return PAPI_ENOEVST;
  const int of_fabric = sets[set].count > 0 && PAPI_get_event_component(sets[set].codes[0]) == kFabric;
  while (of_fabric && (getenv("FAKE_PAPI_HANGS_IN_READ") != NULL ||
                       (fake_papi_fabric_hangs != NULL && *fake_papi_fabric_hangs != 0)))
    usleep(1000);
  for (int i = 0; i < sets[set].count; ++i) {
    const int device = sets[set].codes[i] == kPreset ? 0 : (sets[set].codes[i] & ~PAPI_NATIVE_MASK) - kDevice;
    const int index = index_of(sets[set].codes[i]);
    if (index < 0) continue;
    sets[set].values[i] += device > 0 ? 1000LL * device : events[index].step;
    values[i] = index == kBusy            ? 37
                : sets[set].attached != 0 ? (long long)sets[set].attached
                                          : sets[set].values[i];
  }
  return PAPI_OK;
}
int PAPI_stop(int set, long long* values) {
  if (!set_is(set)) return PAPI_ENOEVST;
  if (!sets[set].running) return PAPI_ENOTRUN;
  sets[set].running = 0;
  return PAPI_read(set, values);
}
char* PAPI_strerror(int error) {
  static char texts[32][32];
  if (error > 0 || error <= -32) return NULL;
  snprintf(texts[-error], sizeof texts[0], "fake error %d", error);
  return texts[-error];
}
