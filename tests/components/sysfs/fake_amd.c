// A stand-in for AMD's libraries, under the names of both: two GPUs, which it numbers against their order on the bus.
#include <stdint.h>
#include <stdlib.h>

struct FakeAmd {
  int started;  // inits less shutdowns
  int answer;   // of every number
  uint64_t energy[2];
} fake_amd = {0, 0, {1000, 2000}};

static int started(void) {
  ++fake_amd.started;
  return 0;
}
static int ended(void) {
  --fake_amd.started;
  return 0;
}
// GPU 0 is at 0000:c2:00.0, GPU 1 at 0000:c1:00.0, in the third partition of its package.
static int place_of(uint32_t gpu, uint64_t* place) {
  *place = gpu == 0 ? 0xc200 : 0x2000c100;
  return 0;
}
static int energy_of(uint32_t gpu, uint64_t* counts, float* each, uint64_t* time) {
  *counts = fake_amd.energy[gpu];
  *each = 15.25F;
  *time = 1;
  return fake_amd.answer;
}
// Sensor 4 is none.
static int heat_of(uint32_t gpu, uint32_t sensor, int metric, int64_t scale, int64_t* out) {
  if (sensor == 4) return 2;
  *out = (40 + (int64_t)gpu + (int64_t)sensor + 60 * metric) * scale;
  return fake_amd.answer;
}
static int words_for(int answer, const char** words) {
  *words = answer == 2 ? "the stand-in does not have it" : "an error of the stand-in";
  return 0;
}

int rsmi_init(uint64_t flags) { return flags == 0 ? started() : 1; }
int rsmi_shut_down(void) { return ended(); }
int rsmi_num_monitor_devices(uint32_t* count) {
  *count = 2;
  return 0;
}
int rsmi_dev_pci_id_get(uint32_t gpu, uint64_t* place) { return place_of(gpu, place); }
int rsmi_dev_energy_count_get(uint32_t gpu, uint64_t* counts, float* each, uint64_t* time) {
  return energy_of(gpu, counts, each, time);
}
int rsmi_dev_temp_metric_get(uint32_t gpu, uint32_t sensor, int metric, int64_t* out) {
  return heat_of(gpu, sensor, metric, 1000, out);
}
int rsmi_status_string(int answer, const char** words) { return words_for(answer, words); }

// A socket for each GPU; handles are the numbers, and one.
int amdsmi_init(uint64_t flags) { return flags == 2 ? started() : 1; }
int amdsmi_shut_down(void) { return ended(); }
static int handles(uintptr_t first, uint32_t all, uint32_t* count, void** out) {
  for (uint32_t i = 0; out != NULL && i < *count && i < all; ++i) out[i] = (void*)(first + i);
  *count = all;
  return 0;
}
int amdsmi_get_socket_handles(uint32_t* count, void** out) { return handles(1, 2, count, out); }
int amdsmi_get_processor_handles(void* socket, uint32_t* count, void** out) {
  return handles((uintptr_t)socket, 1, count, out);
}
static uint32_t gpu_of(void* handle) { return (uint32_t)(uintptr_t)handle - 1; }
int amdsmi_get_gpu_bdf_id(void* gpu, uint64_t* place) { return place_of(gpu_of(gpu), place); }
int amdsmi_get_energy_count(void* gpu, uint64_t* counts, float* each, uint64_t* time) {
  return energy_of(gpu_of(gpu), counts, each, time);
}
int amdsmi_get_temp_metric(void* gpu, int sensor, int metric, int64_t* out) {
  return heat_of(gpu_of(gpu), (uint32_t)sensor, metric, 1, out);
}
int amdsmi_status_code_to_string(int answer, const char** words) { return words_for(answer, words); }
// Structures as amdsmi.h of ROCm 6.4 has them, as far as they are filled here. The second GPU states little.
#define NOT_STATED 0xffffffffu
int amdsmi_get_gpu_activity(void* gpu, void* out) {
  uint32_t* usage = out;
  usage[0] = 91;
  usage[1] = 40;
  usage[2] = gpu_of(gpu) == 0 ? NOT_STATED : 7;
  return fake_amd.answer;
}
int amdsmi_get_power_cap_info(void* gpu, uint32_t sensor, void* out) {
  uint64_t* cap = out;
  if (sensor != 0) return 2;
  cap[0] = 550000000;
  cap[1] = 560000000;
  cap[2] = 2100;
  cap[3] = 100000000;
  cap[4] = 600000000 + gpu_of(gpu);
  return 0;
}
int amdsmi_get_gpu_total_ecc_count(void* gpu, void* out) {
  uint64_t* errors = out;
  errors[0] = 12 + gpu_of(gpu);
  errors[1] = 1;
  errors[2] = 2;
  return 0;
}
int amdsmi_get_clock_info(void* gpu, int type, void* out) {
  uint32_t* clock = out;
  (void)gpu;
  clock[0] = type == 0 ? 2100 : 1300;
  clock[1] = 132;
  clock[2] = type == 0 ? 2101 : 1301;
  return type == 0 || type == 4 ? 0 : 2;
}
// Since ROCm 6.3 with four finer values behind.
struct Activity {
  int type;
  uint64_t value, finer[4];
  uint16_t finer_count;
};
int amdsmi_get_utilization_count(void* gpu, struct Activity* out, uint32_t count, uint64_t* time) {
  for (uint32_t i = 0; i < count; ++i) {
    if (out[i].type > 1) return 2;
    out[i].value = 1000 * ((uint64_t)out[i].type + 1) + fake_amd.energy[gpu_of(gpu)];
    for (int k = 0; k < 4; ++k) out[i].finer[k] = 5;
    out[i].finer_count = 4;
  }
  *time = 1;
  return fake_amd.answer;
}
struct PciExpress {
  uint16_t most_width;
  uint32_t most_speed, version, slot, most_version;
  uint64_t kept[9];
  uint16_t width;
  uint32_t speed, bandwidth;
  uint64_t replays, recoveries, rollovers, naks_sent, naks_received;
  uint32_t others;
  uint64_t more[44];
};
int amdsmi_get_pcie_info(void* gpu, struct PciExpress* out) {
  *out = (struct PciExpress){.most_width = 16,
                             .most_speed = 32000,
                             .version = 5,
                             .slot = 1,
                             .most_version = 5,
                             .width = 16,
                             .speed = 16000,
                             .bandwidth = 812,
                             .replays = 3 + fake_amd.energy[gpu_of(gpu)],
                             .recoveries = 4,
                             .rollovers = 5,
                             .naks_sent = 6,
                             .naks_received = 7,
                             .others = 8};
  return 0;
}
int amdsmi_get_gpu_subsystem_id(void* gpu, uint16_t* id) {
  *id = (uint16_t)(0x74a0 + gpu_of(gpu));
  return 0;
}
int amdsmi_get_gpu_topo_numa_affinity(void* gpu, int32_t* node) {
  *node = gpu_of(gpu) == 0 ? -1 : 3;
  return 0;
}
int amdsmi_get_gpu_memory_total(void* gpu, int type, uint64_t* bytes) {
  (void)gpu;
  *bytes = (uint64_t)(type + 1) << 30;
  return 0;
}
