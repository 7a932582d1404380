// A stand-in for Performance Co-Pilot's client library: a pmcd with the metrics that a test sets.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

struct FakePcp {
  int refuses;      // what every new connection and fetch answers
  int connections;  // made less ended
  int fetches;
  int instance_gone;   // of cpu1
  uint32_t cycles[2];  // of cpu0 and cpu1, 32 bits
  uint64_t bytes;
  double duty;
};
struct FakePcp fake_pcp = {.duty = 0.5};

enum { kCycles = 1, kBytes, kDuty, kName };
static const char* const names[] = {"", "perfevent.cycles", "perfevent.bytes", "perfevent.duty",
                                    "perfevent.name"};

int pmNewContext(int type, const char* host) {
  if (fake_pcp.refuses) return fake_pcp.refuses;
  if (type != 1 || strcmp(host, "local:") != 0) return -1;
  return ++fake_pcp.connections;
}
int pmUseContext(int context) { return context > 0 ? 0 : -1; }
int pmDestroyContext(int context) {
  fake_pcp.connections -= context > 0;
  return 0;
}
int pmTraversePMNS_r(const char* prefix, void (*give)(const char*, void*), void* to) {
  if (strcmp(prefix, "perfevent") != 0) return -12357;
  for (int i = kCycles; i <= kName; ++i) give(names[i], to);
  return kName;
}
int pmLookupName(int count, const char** wanted, uint32_t* metric) {
  for (uint32_t i = kCycles; i <= kName && count == 1; ++i)
    if (strcmp(names[i], wanted[0]) == 0) return *metric = i, 1;
  return -12357;
}
struct Description {
  uint32_t metric;
  int type;
  uint32_t instances;
  int semantics;
  uint32_t units;
};
int pmLookupDesc(uint32_t metric, struct Description* out) {
  const int types[] = {0, 1, 3, 5, 6};  // unsigned 32, unsigned 64, double, text
  *out = (struct Description){metric, types[metric], metric == kCycles ? 77 : 0xffffffff,
                              metric == kDuty ? 3 : 1, 0};
  return 0;
}
int pmLookupText(uint32_t metric, int level, char** text) {
  if (metric != kBytes || level != 1) return -1;
  *text = strdup("bytes that went by");
  return 0;
}
int pmGetInDom(uint32_t domain, int** numbers, char*** of) {
  if (domain != 77) return -1;
  *numbers = malloc(2 * sizeof **numbers);
  (*numbers)[0] = 10;
  (*numbers)[1] = 11;
  *of = malloc(2 * sizeof **of + 10);
  (*of)[0] = memcpy((char*)(*of + 2), "cpu0\0cpu1", 10);
  (*of)[1] = (*of)[0] + 5;
  return 2;
}

struct Value {
  int instance;
  union {
    void* block;
    int number;
  } is;
};
struct Values {
  uint32_t metric;
  int count, format;
  struct Value value[2];
};
struct Result {
  struct timeval time;
  int count;
  struct Values* of[8];
};
int pmFetch(int count, uint32_t* metrics, struct Result** out) {
  if (fake_pcp.refuses) return fake_pcp.refuses;
  ++fake_pcp.fetches;
  struct Result* const result = *out = calloc(1, sizeof **out);
  result->count = count;
  for (int i = 0; i < count; ++i) {
    struct Values* const values = result->of[i] = calloc(1, sizeof *values);
    values->metric = metrics[i];
    values->count = metrics[i] == kCycles && !fake_pcp.instance_gone ? 2 : 1;
    values->value[0] = (struct Value){metrics[i] == kCycles ? 10 : -1, {.number = (int)metrics[i]}};
    values->value[1] = (struct Value){11, {.number = (int)metrics[i]}};
  }
  return 0;
}
void pmFreeResult(struct Result* result) {
  for (int i = 0; i < result->count; ++i) free(result->of[i]);
  free(result);
}
int pmExtractValue(int format, const struct Value* value, int type, void* out, int wanted) {
  if (format != 0 || type != wanted) return -1;
  if (value->is.number == kCycles) memcpy(out, &fake_pcp.cycles[value->instance - 10], 4);
  if (value->is.number == kBytes) memcpy(out, &fake_pcp.bytes, 8);
  if (value->is.number == kDuty) memcpy(out, &fake_pcp.duty, 8);
  return 0;
}
const char* pmUnitsStr_r(const uint32_t* units, char* text, int size) {
  snprintf(text, (size_t)size, "%s", *units == 0 ? "" : "?");
  return text;
}
char* pmErrStr_r(int error, char* text, int size) {
  snprintf(text, (size_t)size, "error %d of the stand-in", error);
  return text;
}
