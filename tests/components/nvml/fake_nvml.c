// The stand-in's functions. FAKE_OLD_DRIVER leaves out what drivers of 2016 lack.
#include "fake_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct FakeNode fake_node;

struct Part {
  struct FakeGpu* whole;
  unsigned number;
};
static struct Part parts[FAKE_MOST_GPUS][8];

static struct timespec taken;  // the file's time when it was read

// What a recorded machine's events.txt says, named by FAKE_NVML_ANSWERS: "nvml:::NVIDIA_H200:device_0:power mW 655000".
// Read again when the file has changed.
static void take_recorded_answers(void) {
  const char* const path = getenv("FAKE_NVML_ANSWERS");
  struct stat now;
  if (path == NULL || stat(path, &now) != 0) return;
  if (now.st_mtim.tv_sec == taken.tv_sec && now.st_mtim.tv_nsec == taken.tv_nsec) return;
  FILE* const file = fopen(path, "r");
  if (file == NULL) return;
  taken = now.st_mtim;
  char name[96], what[64];
  unsigned number;
  unsigned long long value;
  fake_node.gpus = 0;
  for (unsigned i = 0; i < FAKE_MOST_GPUS; ++i) fake_node.gpu[i].has_gpm = 0;  // its means take 100 ms each
  for (char line[1024]; fgets(line, sizeof line, file) != NULL;) {
    if (sscanf(line, "nvml:::%95[^:]:device_%u:%63s %*s %llu", name, &number, what, &value) != 4) continue;
    if (number >= FAKE_MOST_GPUS) continue;
    struct FakeGpu* const gpu = &fake_node.gpu[number];
    if (number >= fake_node.gpus) fake_node.gpus = number + 1;
    for (char* blank = strcpy(gpu->name, name); (blank = strchr(blank, '_')) != NULL;) *blank = ' ';
    const unsigned small = (unsigned)value;
    if (strcmp(what, "graphics_clock") == 0) gpu->clock[0] = small;
    if (strcmp(what, "sm_clock") == 0) gpu->clock[1] = small;
    if (strcmp(what, "memory_clock") == 0) gpu->clock[2] = small;
    if (strcmp(what, "gpu_utilization") == 0) gpu->gpu_percent = small;
    if (strcmp(what, "memory_utilization") == 0) gpu->memory_percent = small;
    if (strcmp(what, "temperature") == 0) gpu->temperature = small;
    if (strcmp(what, "power") == 0) gpu->power_mw = small;
    if (strcmp(what, "power_management_limit") == 0) gpu->limit_mw = small;
    if (strcmp(what, "total_energy_consumption") == 0) gpu->energy_mj = value;
    if (strcmp(what, "total_memory") == 0) gpu->memory_total = value;
    if (strcmp(what, "allocated_memory") == 0) gpu->memory_used = value;
    gpu->memory_free = gpu->memory_total - gpu->memory_used;
  }
  fclose(file);
}

// Eight equal GPUs but for their memory's checks: every second one has them. Numbers of GPU i end in i where they can.
__attribute__((constructor)) void fake_node_as_new(void) {
  memset(&fake_node, 0, sizeof fake_node);
  fake_node.gpus = FAKE_MOST_GPUS;
  for (unsigned i = 0; i < FAKE_MOST_GPUS; ++i) {
    struct FakeGpu* gpu = &fake_node.gpu[i];
    strcpy(gpu->name, "NVIDIA H200");
    gpu->has_ecc = i % 2 == 0;
    gpu->has_gpm = 1;
    for (unsigned which = 0; which < 3; ++which) {
      gpu->clock[which] = 1000 + 100 * which + i;
      gpu->max_clock[which] = 1900 + 100 * which + i;
    }
    gpu->gpu_percent = 50 + i;
    gpu->memory_percent = 20 + i;
    gpu->memory_total = 150000000000ULL;
    gpu->memory_used = 1000000000ULL + i;
    gpu->memory_free = gpu->memory_total - gpu->memory_used;
    gpu->power_mw = 300000 + i;
    gpu->energy_mj = 5000000 + i;
    gpu->limit_mw = 700000;
    gpu->limit_least = 200000;
    gpu->limit_most = 700000;
    gpu->temperature = 40 + i;
    gpu->corrected = 3;
    gpu->uncorrected = 1;
    gpu->capability[0] = 9;
  }
  taken.tv_sec = 0;
  take_recorded_answers();
}

typedef struct FakeGpu* Device;

static int is_part(Device device) {
  return (char*)device >= (char*)parts && (char*)device < (char*)parts + sizeof parts;
}
static int refuses(Device device) {
  ++fake_node.calls;
  take_recorded_answers();
  if (is_part(device)) return 3;
  return device->lost ? 15 : 0;
}

int nvmlInit_v2(void) {
  if (fake_node.init_answer == 0) ++fake_node.started;
  return fake_node.init_answer;
}
int nvmlShutdown(void) {
  --fake_node.started;
  return 0;
}
const char* nvmlErrorString(int answer) { return answer == 999 ? "an error of the stand-in" : "?"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = fake_node.gpus;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= fake_node.gpus) return 2;
  *device = &fake_node.gpu[index];
  return fake_node.gpu[index].lost ? 15 : 0;
}
int nvmlDeviceGetName(Device device, char* text, unsigned length) {
  if (refuses(device)) return 15;
  strncpy(text, device->name, length - 1);
  text[length - 1] = 0;
  return 0;
}

// GPU i is GPU-...0i at 00000000:1i:00.0.
static unsigned number_of(Device device) { return (unsigned)(device - fake_node.gpu); }
int nvmlDeviceGetUUID(Device device, char* text, unsigned length) {
  if (refuses(device)) return 15;
  snprintf(text, length, "GPU-00000000-0000-0000-0000-00000000000%u", number_of(device));
  return 0;
}
struct Place {
  char old_bus[16];
  unsigned domain, bus, device, identity, subsystem;
  char text[32];
};
int nvmlDeviceGetPciInfo_v3(Device device, struct Place* place) {
  if (refuses(device)) return 15;
  memset(place, 0, sizeof *place);
  snprintf(place->text, sizeof place->text, "00000000:1%u:00.0", number_of(device));
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  if (refuses(device)) return 15;
  *major = device->capability[0];
  *minor = device->capability[1];
  return 0;
}

#define GIVE(function, type, condition, expression)       \
  int function(Device device, type* out) {                \
    if (refuses(device)) return is_part(device) ? 3 : 15; \
    if (!(condition)) return 3;                           \
    *out = (expression);                                  \
    return 0;                                             \
  }
GIVE(nvmlDeviceGetPowerUsage, unsigned, 1, device->power_mw)
GIVE(nvmlDeviceGetPowerManagementLimit, unsigned, 1, device->limit_mw)
GIVE(nvmlDeviceGetFanSpeed, unsigned, device->has_fan, 33)
GIVE(nvmlDeviceGetPerformanceState, int, 1, 2)
GIVE(nvmlDeviceGetPcieReplayCounter, unsigned, 1, 5)
GIVE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 1, device->throttle_reasons)

int nvmlDeviceGetClockInfo(Device device, int which, unsigned* out) {
  const int refused = refuses(device);
  if (!refused) *out = device->clock[which];
  return refused;
}
int nvmlDeviceGetMaxClockInfo(Device device, int which, unsigned* out) {
  const int refused = refuses(device);
  if (!refused) *out = device->max_clock[which];
  return refused;
}
int nvmlDeviceGetUtilizationRates(Device device, unsigned* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  if (device->parts) return 3;
  out[0] = device->gpu_percent;
  out[1] = device->memory_percent;
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device device, unsigned long long* out) {
  ++fake_node.calls;
  if (is_part(device)) {
    const struct Part* part = (const struct Part*)(void*)device;
    out[0] = part->whole->memory_total / part->whole->parts;
    out[1] = out[0] - part->number;
    out[2] = part->number;
    return 0;
  }
  if (device->lost) return 15;
  out[0] = device->memory_total;
  out[1] = device->memory_free;
  out[2] = device->memory_used;
  return 0;
}
int nvmlDeviceSetPowerManagementLimit(Device device, unsigned limit) {
  const int refused = refuses(device);
  if (refused) return refused;
  if (device->limit_answer) return device->limit_answer;
  device->limit_mw = limit;
  return 0;
}
int nvmlDeviceGetPowerManagementLimitConstraints(Device device, unsigned* least, unsigned* most) {
  const int refused = refuses(device);
  if (refused) return refused;
  *least = device->limit_least;
  *most = device->limit_most;
  return 0;
}
int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  if (device->temperature_answer || sensor != 0) return device->temperature_answer;
  *out = device->temperature;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(Device device, int type, int counter, unsigned long long* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  if (!device->has_ecc || counter != 0) return 3;
  *out = type == 0 ? device->corrected : device->uncorrected;
  return 0;
}
int nvmlDeviceGetMemoryErrorCounter(Device device, int type, int counter, int place,
                                    unsigned long long* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  if (!device->has_ecc || counter != 0) return 3;
  *out = (type == 0 ? device->corrected : device->uncorrected) * 10 + (unsigned)place;
  return 0;
}
int nvmlDeviceGetPcieThroughput(Device device, int direction, unsigned* out) {
  const int refused = refuses(device);
  if (!refused) *out = direction == 0 ? 12 : 34;
  return refused;
}
int nvmlDeviceGetEncoderUtilization(Device device, unsigned* percent, unsigned* period) {
  const int refused = refuses(device);
  if (refused) return refused;
  *percent = 7;
  *period = 167000;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, void* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  const unsigned place = *count;
  *count = device->processes;
  if (device->processes > place) return 7;
  memcpy(out, device->process, device->processes * sizeof device->process[0]);
  return 0;
}

#ifndef FAKE_OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, void* out) {
  return nvmlDeviceGetComputeRunningProcesses_v2(device, count, out);
}
int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* out) {
  const int refused = refuses(device);
  if (!refused) *out = device->energy_mj;
  return refused;
}
int nvmlDeviceGetViolationStatus(Device device, int policy, unsigned long long* out) {
  const int refused = refuses(device);
  if (refused) return refused;
  out[0] = 1;
  out[1] = device->throttled_ns[policy];
  return 0;
}

struct Field {
  unsigned id, scope;
  long long time_us, latency_us;
  int type, answer;
  union {
    unsigned u32;
    unsigned long long u64;
  } value;
};
int nvmlDeviceGetFieldValues(Device device, int count, struct Field* fields) {
  const int refused = refuses(device);
  if (refused) return refused;
  for (int i = 0; i < count; ++i) {
    struct Field* field = &fields[i];
    field->answer = 0;
    field->type = 1;
    field->time_us = device->field_time_us;
    switch (field->id) {
      case 82:
        field->value.u32 = device->temperature + 10;
        break;
      case 185:
        field->value.u32 = field->scope == 2 ? 80000 : device->power_mw;
        break;
      case 186:
        field->value.u32 = device->power_mw + 1500;
        break;
      case 138:
      case 139:
        field->type = 3;
        field->value.u64 = device->nvlink_kib[field->id - 138];
        if (field->scope != ~0U) field->answer = 2;
        break;
      case 197:
      case 198:
        field->value.u32 = device->pcie_bytes[field->id - 197];
        break;
      default:
        field->answer = 3;
    }
  }
  return 0;
}

int nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* later) {
  const int refused = refuses(device);
  *now = *later = !refused && device->parts > 0;
  return refused;
}
int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  *count = device->parts + 1;  // one place is free
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned number, Device* out) {
  if (number >= device->parts) return 6;
  struct Part* part = &parts[device - fake_node.gpu][number];
  part->whole = device;
  part->number = number;
  *out = (Device)(void*)part;
  return 0;
}
int nvmlDeviceGetGpuInstanceId(Device device, unsigned* out) {
  *out = ((struct Part*)(void*)device)->number + 1;
  return 0;
}

int nvmlGpmQueryDeviceSupport(Device device, unsigned* out) {
  out[1] = (unsigned)device->has_gpm;
  return 0;
}
int nvmlGpmSampleAlloc(unsigned long long** sample) {
  *sample = calloc(1, sizeof **sample);
  return 0;
}
int nvmlGpmSampleFree(unsigned long long* sample) {
  free(sample);
  return 0;
}
int nvmlGpmSampleGet(Device device, unsigned long long* sample) {
  const int refused = refuses(device);
  *sample = device->gpm_total;
  return refused ? refused : device->gpm_answer;
}
int nvmlGpmMigSampleGet(Device device, unsigned instance, unsigned long long* sample) {
  *sample = device->gpm_total * instance;
  return 0;
}
struct GpmMetric {
  unsigned id;
  int answer;
  double value;
  const char* names[3];
};
struct GpmMetrics {
  unsigned version, count;
  unsigned long long *older, *newer;
  struct GpmMetric metrics[333];
};
int nvmlGpmMetricsGet(struct GpmMetrics* asked) {
  for (unsigned i = 0; i < asked->count; ++i) {
    asked->metrics[i].answer = asked->metrics[i].id == 60 ? 3 : 0;
    asked->metrics[i].value = (double)(*asked->newer - *asked->older) + asked->metrics[i].id * 0.5;
  }
  // The real one clears the whole of the newest header's array.
  memset(&asked->metrics[asked->count], 0, (333 - asked->count) * sizeof(struct GpmMetric));
  return 0;
}
#endif
