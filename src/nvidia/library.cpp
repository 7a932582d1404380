// Loads NVIDIA's management library and finds its functions.
#include "nvidia/library.hpp"

#include <utility>

namespace substrata::nvml {
Library::~Library() {
  if (began_) shutdown_();
}

bool Library::load(const char* path, std::string* why) {
  const bool chosen = path != nullptr && *path != '\0';
  Result<SharedLibrary> loaded = SharedLibrary::load(chosen ? path : "libnvidia-ml.so.1");
  if (!loaded && !chosen) loaded = SharedLibrary::load("libnvidia-ml.so");
  if (!loaded) {
    *why =
        chosen
            ? "PAPI_NVML_MAIN is " + std::string(path) + ", which does not load as a library"
            : "libnvidia-ml.so.1, which comes with NVIDIA's driver, is not there; in a container ask for the "
              "driver's 'utility' part (NVIDIA_DRIVER_CAPABILITIES=compute,utility), elsewhere set "
              "PAPI_NVML_MAIN";
    return false;
  }
  library_ = std::move(*loaded);
  if (!find_functions()) {
    *why =
        "the libnvidia-ml found lacks functions that every driver since 2012 has; set PAPI_NVML_MAIN to the "
        "driver's";
    return false;
  }
  return true;
}

// The versioned names: the plain ones are the first version, whose start fails for one bad GPU and whose numbering
// leaves out what may not be used.
bool Library::find_functions() {
  const SharedLibrary& in = library_;
  in.find("nvmlDeviceGetPciInfo_v3", &pci);
  in.find("nvmlDeviceGetUUID", &uuid);
  in.find("nvmlDeviceGetCudaComputeCapability", &capability);
  in.find("nvmlDeviceGetClockInfo", &clock);
  in.find("nvmlDeviceGetMaxClockInfo", &max_clock);
  in.find("nvmlDeviceGetUtilizationRates", &utilization);
  in.find("nvmlDeviceGetMemoryInfo", &memory);
  in.find("nvmlDeviceGetPowerUsage", &power);
  in.find("nvmlDeviceGetTotalEnergyConsumption", &energy);
  in.find("nvmlDeviceGetPowerManagementLimit", &power_limit);
  in.find("nvmlDeviceSetPowerManagementLimit", &set_power_limit);
  in.find("nvmlDeviceGetPowerManagementLimitConstraints", &power_limits);
  in.find("nvmlDeviceGetTemperature", &temperature);
  in.find("nvmlDeviceGetFanSpeed", &fan_speed);
  in.find("nvmlDeviceGetPerformanceState", &performance_state);
  in.find("nvmlDeviceGetTotalEccErrors", &total_ecc_errors);
  in.find("nvmlDeviceGetMemoryErrorCounter", &memory_errors);
  in.find("nvmlDeviceGetPcieThroughput", &pcie_throughput);
  in.find("nvmlDeviceGetPcieReplayCounter", &pcie_replays);
  in.find("nvmlDeviceGetEncoderUtilization", &encoder);
  in.find("nvmlDeviceGetDecoderUtilization", &decoder);
  in.find("nvmlDeviceGetCurrentClocksThrottleReasons", &throttle_reasons);
  in.find("nvmlDeviceGetViolationStatus", &violation);
  in.find("nvmlDeviceGetFieldValues", &fields);
  if (!in.find("nvmlDeviceGetComputeRunningProcesses_v3", &processes))
    in.find("nvmlDeviceGetComputeRunningProcesses_v2", &processes);
  in.find("nvmlDeviceGetMigMode", &mig_mode);
  in.find("nvmlDeviceGetMaxMigDeviceCount", &mig_most);
  in.find("nvmlDeviceGetMigDeviceHandleByIndex", &mig_handle);
  in.find("nvmlDeviceGetGpuInstanceId", &gpu_instance);
  in.find("nvmlGpmQueryDeviceSupport", &gpm_support);
  in.find("nvmlGpmSampleAlloc", &gpm_allocate);
  in.find("nvmlGpmSampleFree", &gpm_free);
  in.find("nvmlGpmSampleGet", &gpm_take);
  in.find("nvmlGpmMigSampleGet", &gpm_take_mig);
  in.find("nvmlGpmMetricsGet", &gpm_compute);
  in.find("nvmlErrorString", &error_string_);
  return in.find("nvmlInit_v2", &init_) && in.find("nvmlShutdown", &shutdown_) &&
         in.find("nvmlDeviceGetCount_v2", &count) &&
         in.find("nvmlDeviceGetHandleByIndex_v2", &handle_by_index) && in.find("nvmlDeviceGetName", &name);
}

int Library::begin() {
  const int answer = init_();
  began_ = answer == kDone;
  return answer;
}

const char* Library::text(int answer) const noexcept {
  switch (answer) {
    case kUnsupported:
      return "this GPU does not have it";
    case kForbidden:
      return "permission denied; run as root, or ask the administrator";
    case kNoDriver:
      return "NVIDIA's driver is not loaded (modprobe nvidia)";
    case kNoFunction:
      return "the installed driver is too old for it";
    case kGpuLost:
      return "the GPU has fallen off the bus; see the kernel's log (dmesg, 'Xid')";
    case kBlocked:
      return "the operating system or the container does not let this process use /dev/nvidiactl and "
             "/dev/nvidia<n>";
    case kMismatch:
      return "the library and the loaded driver are of different versions; load the driver again or restart "
             "the machine";
    case kOtherNumbers:
      return "a container's processes have other numbers than the driver gives; let it see the machine's "
             "(docker run --pid=host)";
    default:
      return error_string_ != nullptr ? error_string_(answer) : "the library gives no reason";
  }
}

}  // namespace substrata::nvml
