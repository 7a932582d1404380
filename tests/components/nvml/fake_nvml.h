// A stand-in for NVIDIA's management library: a node whose GPUs a test sets as it likes.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#define FAKE_MOST_GPUS 8

// One GPU: every number that the functions give, and what they answer instead (0: the number).
struct FakeGpu {
  char name[96];
  int lost;     // every call answers 15
  int has_ecc;  // otherwise the calls for errors answer 3
  int has_fan;
  int has_gpm;
  int gpm_answer;  // of taking a sample
  int temperature_answer;
  unsigned clock[3], max_clock[3];
  unsigned gpu_percent, memory_percent;
  unsigned long long memory_total, memory_free, memory_used;
  unsigned power_mw;
  unsigned long long energy_mj;
  unsigned limit_mw, limit_least, limit_most;
  int limit_answer;  // of setting it
  unsigned temperature;
  unsigned long long corrected, uncorrected;  // of every place
  unsigned pcie_bytes[2];
  unsigned long long nvlink_kib[2];
  unsigned long long throttle_reasons, throttled_ns[2];
  long long field_time_us;  // when a field's value was taken
  unsigned processes;       // each of `process`
  struct {
    unsigned number;
    unsigned long long memory;
    unsigned instances[2];
  } process[4];
  int capability[2];
  unsigned long long gpm_total;  // grows with work; a metric is its difference
  unsigned parts;                // more than 0: divided
};

struct FakeNode {
  int init_answer;
  int started;  // inits less shutdowns
  unsigned gpus;
  unsigned calls;  // of any function for a GPU
  struct FakeGpu gpu[FAKE_MOST_GPUS];
};

// The library exports `struct FakeNode fake_node` and this, which sets it to what it is when it is loaded.
void fake_node_as_new(void);

#ifdef __cplusplus
}
#endif
