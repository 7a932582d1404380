// NVIDIA's management library, loaded at run time: the part of its stable interface that the substrate uses,
// declared here, so that no toolkit is needed to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/shared_library.hpp"

namespace substrata::nvml {

// nvmlReturn_t, as far as an answer of ours depends on it.
enum Answer : int {
  kDone = 0,
  kUnsupported = 3,
  kForbidden = 4,
  kTooSmall = 7,
  kNoDriver = 9,
  kNoLibrary = 12,
  kNoFunction = 13,
  kGpuLost = 15,
  kBlocked = 17,
  kMismatch = 18,
  kOtherNumbers = -1,  // none of NVML's: a container's processes cannot be found in its lists
};

using Handle = void*;  // nvmlDevice_t

struct Utilization {
  unsigned gpu, memory;  // percent
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};
// nvmlProcessInfo_t since its second version.
struct ProcessOnGpu {
  unsigned process;
  unsigned long long memory;  // bytes
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessOnGpu) == 24);
struct Violation {
  unsigned long long reference_us, violation_ns;
};
// nvmlFieldValue_t: a number by its identification.
struct Field {
  unsigned id, scope;
  long long time_us, latency_us;
  int type;  // of value: 0 double, 1 u32, 2 unsigned long, 3 u64, 4 i64, 5 i32, 6 u16
  int answer;
  union {
    double real;
    unsigned u32;
    unsigned long long u64;
    long long i64;
    int i32;
    unsigned short u16;
  } value;
};
static_assert(sizeof(Field) == 40);

// nvmlPciInfo_t.
struct PciPlace {
  char old_bus[16];  // "0000:17:00.0", empty where the domain is too long for it
  unsigned domain, bus, device, identity, subsystem;
  char text[32];  // "00000000:17:00.0"
};
static_assert(sizeof(PciPlace) == 68);

using GpmSample = void*;
struct GpmSupport {
  unsigned version, supported;
};
struct GpmMetric {
  unsigned id;
  int answer;
  double value;
  const char* names[3];
};
// The header's array bound has grown from 98 to 333 under one version, and the library may clear all of it.
struct GpmMetrics {
  static constexpr unsigned kMost = 333;
  unsigned version, count;
  GpmSample older, newer;
  GpmMetric metrics[kMost];
};
static_assert(sizeof(GpmMetric) == 40 && offsetof(GpmMetrics, metrics) == 24);

// A loaded library. A function that the installed driver lacks is null; the calls below answer kNoFunction then.
// Its functions may be called by several threads.
class Library {
 public:
  ~Library();

  // Loads `path` (PAPI_NVML_MAIN) and nothing else where it is set, libnvidia-ml.so.1 otherwise. False with a message.
  bool load(const char* path, std::string* why);
  // Connects to the driver. kDone, or NVML's answer.
  int begin();
  // NVML's words for an answer.
  const char* text(int answer) const noexcept;

  template <typename... Parameters, typename... Arguments>
  static int call(int (*function)(Parameters...), Arguments... arguments) noexcept {
    return function == nullptr ? kNoFunction : function(arguments...);
  }

  int (*count)(unsigned*) = nullptr;
  int (*handle_by_index)(unsigned, Handle*) = nullptr;
  int (*name)(Handle, char*, unsigned) = nullptr;
  int (*pci)(Handle, PciPlace*) = nullptr;
  int (*uuid)(Handle, char*, unsigned) = nullptr;
  int (*capability)(Handle, int* major, int* minor) = nullptr;
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*max_clock)(Handle, int, unsigned*) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*set_power_limit)(Handle, unsigned) = nullptr;
  int (*power_limits)(Handle, unsigned*, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*fan_speed)(Handle, unsigned*) = nullptr;
  int (*performance_state)(Handle, int*) = nullptr;
  int (*total_ecc_errors)(Handle, int, int, unsigned long long*) = nullptr;
  int (*memory_errors)(Handle, int, int, int, unsigned long long*) = nullptr;
  int (*pcie_throughput)(Handle, int, unsigned*) = nullptr;
  int (*pcie_replays)(Handle, unsigned*) = nullptr;
  int (*encoder)(Handle, unsigned*, unsigned*) = nullptr;
  int (*decoder)(Handle, unsigned*, unsigned*) = nullptr;
  int (*throttle_reasons)(Handle, unsigned long long*) = nullptr;
  int (*violation)(Handle, int, Violation*) = nullptr;
  int (*fields)(Handle, int, Field*) = nullptr;
  int (*processes)(Handle, unsigned*, ProcessOnGpu*) = nullptr;
  int (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  int (*mig_most)(Handle, unsigned*) = nullptr;
  int (*mig_handle)(Handle, unsigned, Handle*) = nullptr;
  int (*gpu_instance)(Handle, unsigned*) = nullptr;
  int (*gpm_support)(Handle, GpmSupport*) = nullptr;
  int (*gpm_allocate)(GpmSample*) = nullptr;
  int (*gpm_free)(GpmSample) = nullptr;
  int (*gpm_take)(Handle, GpmSample) = nullptr;
  int (*gpm_take_mig)(Handle, unsigned, GpmSample) = nullptr;
  int (*gpm_compute)(GpmMetrics*) = nullptr;

 private:
  bool find_functions();

  SharedLibrary library_;
  bool began_ = false;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
};

}  // namespace substrata::nvml
