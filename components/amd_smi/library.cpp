// Loads libamd_smi, lists its GPUs and asks it.
#include "amd_smi/library.hpp"

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace substrata::amd_smi {
namespace {

constexpr uint64_t kGpus = 2;  // AMDSMI_INIT_AMD_GPUS

// The library's structures, as far as their fields have kept their places (see library.hpp).
struct UsageFields {
  uint32_t graphics, memory, media;
};
struct CapFields {
  uint64_t cap, usual, clock, least, most;
};
struct MemoryFields {
  uint32_t total, used;
};
struct ErrorFields {
  uint64_t correctable, uncorrectable, deferred;
};
struct ClockFields {
  uint32_t now, least, most;
};
struct ActivityFields {
  int type;
  uint64_t value;
};
struct PciExpressFields {
  uint16_t most_lanes;
  uint32_t most_speed, version;
  int slot;
  uint64_t kept[10];
  uint16_t lanes;
  uint32_t speed, bandwidth;
  uint64_t replays, recoveries, rollovers, naks_sent, naks_received;
};
static_assert(offsetof(PciExpressFields, lanes) == 96 && offsetof(PciExpressFields, replays) == 112);

// A structure with space for what later releases have put behind.
template <typename Fields>
struct Roomy {
  Fields fields{};
  char more[4096] = {};
};

class Library : public sysfs::AmdLibrary {
 public:
  bool load(const Host& host, std::string* why) {
    if (!AmdLibrary::load(host, "PAPI_AMDSMI_ROOT", "libamd_smi.so", "amd-smi-lib", why)) return false;
    if (!library_.find("amdsmi_init", &init_) || !library_.find("amdsmi_shut_down", &shut_down_) ||
        !library_.find("amdsmi_get_socket_handles", &sockets_) ||
        !library_.find("amdsmi_get_processor_handles", &processors_)) {
      *why = "the libamd_smi.so found lacks functions that all have; install a newer amd-smi-lib";
      return false;
    }
    library_.find("amdsmi_get_gpu_bdf_id", &place_);
    library_.find("amdsmi_get_energy_count", &energy_);
    library_.find("amdsmi_get_temp_metric", &temperature_);
    library_.find("amdsmi_status_code_to_string", &words_);
    library_.find("amdsmi_get_gpu_activity", &usage_);
    library_.find("amdsmi_get_power_cap_info", &cap_);
    library_.find("amdsmi_get_gpu_memory_total", &memory_total_);
    library_.find("amdsmi_get_gpu_memory_usage", &memory_usage_);
    library_.find("amdsmi_get_gpu_vram_usage", &vram_);
    library_.find("amdsmi_get_gpu_total_ecc_count", &errors_);
    library_.find("amdsmi_get_clock_info", &clock_);
    library_.find("amdsmi_get_utilization_count", &activity_);
    library_.find("amdsmi_get_pcie_info", &pci_express_);
    library_.find("amdsmi_get_gpu_fan_rpms", &fan_rpm_);
    library_.find("amdsmi_get_gpu_fan_speed", &fan_speed_);
    library_.find("amdsmi_get_gpu_fan_speed_max", &fan_most_);
    library_.find("amdsmi_get_gpu_pci_replay_counter", &replays_);
    library_.find("amdsmi_get_gpu_overdrive_level", &overdrive_[0]);
    library_.find("amdsmi_get_gpu_mem_overdrive_level", &overdrive_[1]);
    library_.find("amdsmi_get_gpu_perf_level", &perf_level_);
    library_.find("amdsmi_gpu_xgmi_error_status", &xgmi_errors_);
    library_.find("amdsmi_get_gpu_ecc_enabled", &ecc_blocks_);
    library_.find("amdsmi_get_gpu_id", &identity_[kDeviceId]);
    library_.find("amdsmi_get_gpu_revision", &identity_[kRevision]);
    library_.find("amdsmi_get_gpu_subsystem_id", &identity_[kSubsystem]);
    library_.find("amdsmi_get_gpu_topo_numa_affinity", &numa_[0]);
    library_.find("amdsmi_topo_get_numa_node_number", &numa_[1]);
    library_.find("amdsmi_get_gpu_memory_reserved_pages", &reserved_);
    int answer = init_(kGpus);
    began_ = answer == 0;
    if (began_) answer = list_gpus();
    if (answer != 0) *why = "libamd_smi does not start: " + text(answer);
    return answer == 0;
  }

  uint32_t count() const noexcept override { return static_cast<uint32_t>(gpus_.size()); }

  int place(uint32_t gpu, uint64_t* place) const noexcept override {
    return place_ == nullptr ? kNoFunction : place_(gpus_[gpu], place);
  }

  int read(uint32_t gpu, int what, int64_t argument, int64_t* value) const noexcept override {
    constexpr int kNotFound = 31;
    if (gpu >= gpus_.size()) return kNotFound;
    const Handle of = gpus_[gpu];
    const int which = static_cast<int>(argument);
    switch (static_cast<What>(what)) {
      case kEnergy:
        return energy_of(energy_, of, value);
      case kEnergyTime:
        return number<uint64_t>(energy_, value, [&](uint64_t* time) {
          uint64_t counts = 0;
          float each = 0;
          return energy_(of, &counts, &each, time);
        });
      case kTemperature:
        return temperature_ == nullptr ? kNoFunction : temperature_(of, which, 0, value);
      case kUsage:
        return field<UsageFields>(
            usage_, value, [&](void* into) { return usage_(of, into); },
            [&](const UsageFields& got) {
              return which == kGraphics ? got.graphics : which == kMemory ? got.memory : got.media;
            });
      case kPowerCap:
        return field<CapFields>(
            cap_, value, [&](void* into) { return cap_(of, 0, into); },
            [&](const CapFields& got) {
              return which == kCap          ? got.cap
                     : which == kUsualCap   ? got.usual
                     : which == kClockOfCap ? got.clock
                     : which == kLeastCap   ? got.least
                                            : got.most;
            });
      case kMemoryTotal:
        return number<uint64_t>(memory_total_, value,
                                [&](uint64_t* bytes) { return memory_total_(of, which, bytes); });
      case kMemoryUsage:
        return number<uint64_t>(memory_usage_, value,
                                [&](uint64_t* bytes) { return memory_usage_(of, which, bytes); });
      case kVram:
        return field<MemoryFields>(
            vram_, value, [&](void* into) { return vram_(of, into); },
            [&](const MemoryFields& got) { return which == 0 ? got.total : got.used; });
      case kErrors:
        return field<ErrorFields>(
            errors_, value, [&](void* into) { return errors_(of, into); },
            [&](const ErrorFields& got) {
              return which == kCorrectable     ? got.correctable
                     : which == kUncorrectable ? got.uncorrectable
                                               : got.deferred;
            });
      case kClock:
        return field<ClockFields>(
            clock_, value, [&](void* into) { return clock_(of, which / 4, into); },
            [&](const ClockFields& got) {
              return which % 4 == kNow ? got.now : which % 4 == kLeast ? got.least : got.most;
            });
      case kActivity:
        return activity(of, which, value);
      case kPciExpress:
        return pci_express(of, which, value);
      case kFan:
        if (which == 2)
          return number<uint64_t>(fan_most_, value, [&](uint64_t* most) { return fan_most_(of, 0, most); });
        return number<int64_t>(which == 0 ? fan_rpm_ : fan_speed_, value, [&](int64_t* now) {
          return which == 0 ? fan_rpm_(of, 0, now) : fan_speed_(of, 0, now);
        });
      case kReplays:
        return number<uint64_t>(replays_, value, [&](uint64_t* count) { return replays_(of, count); });
      case kOverdrive:
        return number<uint32_t>(overdrive_[which], value,
                                [&](uint32_t* percent) { return overdrive_[which](of, percent); });
      case kPerfLevel:
        return number<uint32_t>(perf_level_, value, [&](uint32_t* level) { return perf_level_(of, level); });
      case kXgmiErrors:
        return number<uint32_t>(xgmi_errors_, value,
                                [&](uint32_t* state) { return xgmi_errors_(of, state); });
      case kEccBlocks:
        return number<uint64_t>(ecc_blocks_, value, [&](uint64_t* mask) { return ecc_blocks_(of, mask); });
      case kIdentity:
        if (which == kPlace)
          return number<uint64_t>(place_, value, [&](uint64_t* place) { return place_(of, place); });
        return number<uint16_t>(identity_[which], value,
                                [&](uint16_t* id) { return identity_[which](of, id); });
      case kNumaNode:
        return number<uint32_t>(numa_[which], value, [&](uint32_t* node) { return numa_[which](of, node); });
      case kReservedPages:
        return number<uint32_t>(reserved_, value,
                                [&](uint32_t* count) { return reserved_(of, count, nullptr); });
    }
    return kNoFunction;
  }

 private:
  using Handle = void*;

  // All bits set is how the library says that there is none.
  template <typename Number>
  static int stated(Number got, int64_t* value) noexcept {
    if (!std::numeric_limits<Number>::is_signed && got == std::numeric_limits<Number>::max())
      return kNotStated;
    *value = static_cast<int64_t>(got);
    return 0;
  }

  // Of a function that gives one number.
  template <typename Number, typename Function, typename Call>
  static int number(Function function, int64_t* value, const Call& call) noexcept {
    if (function == nullptr) return kNoFunction;
    Number got{};
    const int answer = call(&got);
    return answer != 0 ? answer : stated(got, value);
  }

  // Of a function that fills a structure.
  template <typename Fields, typename Function, typename Call, typename Take>
  static int field(Function function, int64_t* value, const Call& call, const Take& take) noexcept {
    if (function == nullptr) return kNoFunction;
    Roomy<Fields> got;
    const int answer = call(&got);
    return answer != 0 ? answer : stated(take(got.fields), value);
  }

  int activity(Handle gpu, int which, int64_t* value) const noexcept {
    if (activity_ == nullptr) return kNoFunction;
    Roomy<ActivityFields> got;
    got.fields.type = which;
    uint64_t time = 0;
    const int answer = activity_(gpu, &got, 1, &time);
    return answer != 0 ? answer : stated(got.fields.value, value);
  }

  int pci_express(Handle gpu, int which, int64_t* value) const noexcept {
    if (pci_express_ == nullptr) return kNoFunction;
    Roomy<PciExpressFields> got;
    if (const int answer = pci_express_(gpu, &got); answer != 0) return answer;
    const PciExpressFields& its = got.fields;
    switch (static_cast<PciExpressField>(which)) {
      case kMostLanes:
        return stated(its.most_lanes, value);
      case kMostSpeed:
        return stated(its.most_speed, value);
      case kVersion:
        return stated(its.version, value);
      case kSlot:
        return stated(static_cast<uint32_t>(its.slot), value);
      case kLanes:
        return stated(its.lanes, value);
      case kSpeed:
        return stated(its.speed, value);
      case kBandwidth:
        return stated(its.bandwidth, value);
      case kReplayCount:
        return stated(its.replays, value);
      case kRecoveries:
        return stated(its.recoveries, value);
      case kRollovers:
        return stated(its.rollovers, value);
      case kNaksSent:
        return stated(its.naks_sent, value);
      case kNaksReceived:
        return stated(its.naks_received, value);
    }
    return kNoFunction;
  }

  int list_gpus() {
    uint32_t count = 0;
    int answer = sockets_(&count, nullptr);
    if (answer != 0) return answer;
    std::vector<Handle> sockets(count);
    answer = sockets_(&count, sockets.data());
    for (uint32_t i = 0; answer == 0 && i < count; ++i) {
      uint32_t more = 0;
      answer = processors_(sockets[i], &more, nullptr);
      const size_t before = gpus_.size();
      gpus_.resize(before + more);
      if (answer == 0) answer = processors_(sockets[i], &more, gpus_.data() + before);
    }
    return answer;
  }

  std::vector<Handle> gpus_;
  int (*init_)(uint64_t) = nullptr;
  int (*sockets_)(uint32_t*, Handle*) = nullptr;
  int (*processors_)(Handle, uint32_t*, Handle*) = nullptr;
  int (*place_)(Handle, uint64_t*) = nullptr;
  int (*energy_)(Handle, uint64_t*, float*, uint64_t*) = nullptr;
  int (*temperature_)(Handle, int sensor, int metric, int64_t*) = nullptr;
  int (*usage_)(Handle, void*) = nullptr;
  int (*cap_)(Handle, uint32_t sensor, void*) = nullptr;
  int (*memory_total_)(Handle, int type, uint64_t*) = nullptr;
  int (*memory_usage_)(Handle, int type, uint64_t*) = nullptr;
  int (*vram_)(Handle, void*) = nullptr;
  int (*errors_)(Handle, void*) = nullptr;
  int (*clock_)(Handle, int type, void*) = nullptr;
  int (*activity_)(Handle, void*, uint32_t count, uint64_t* time) = nullptr;
  int (*pci_express_)(Handle, void*) = nullptr;
  int (*fan_rpm_)(Handle, uint32_t sensor, int64_t*) = nullptr;
  int (*fan_speed_)(Handle, uint32_t sensor, int64_t*) = nullptr;
  int (*fan_most_)(Handle, uint32_t sensor, uint64_t*) = nullptr;
  int (*replays_)(Handle, uint64_t*) = nullptr;
  int (*overdrive_[2])(Handle, uint32_t*) = {};
  int (*perf_level_)(Handle, uint32_t*) = nullptr;
  int (*xgmi_errors_)(Handle, uint32_t*) = nullptr;
  int (*ecc_blocks_)(Handle, uint64_t*) = nullptr;
  int (*identity_[3])(Handle, uint16_t*) = {};
  int (*numa_[2])(Handle, uint32_t*) = {};
  int (*reserved_)(Handle, uint32_t* count, void* records) = nullptr;
};

}  // namespace

std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why) {
  auto library = std::make_unique<Library>();
  if (!library->load(host, why)) return nullptr;
  return library;
}

}  // namespace substrata::amd_smi
