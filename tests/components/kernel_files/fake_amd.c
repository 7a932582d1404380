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
