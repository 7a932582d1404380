// Loads librocm_smi64 and asks it.
#include "rocm_smi/library.hpp"

#include <utility>

namespace substrata::rocm_smi {
namespace {

class Library : public sysfs::AmdLibrary {
 public:
  bool load(const Host& host, std::string* why) {
    if (!AmdLibrary::load(host, "PAPI_ROCMSMI_ROOT", "librocm_smi64.so", "rocm-smi-lib", why)) return false;
    if (!library_.find("rsmi_init", &init_) || !library_.find("rsmi_shut_down", &shut_down_) ||
        !library_.find("rsmi_num_monitor_devices", &devices_)) {
      *why = "the librocm_smi64.so found lacks functions that all have; install a newer rocm-smi-lib";
      return false;
    }
    library_.find("rsmi_dev_pci_id_get", &place_);
    library_.find("rsmi_dev_energy_count_get", &energy_);
    library_.find("rsmi_dev_temp_metric_get", &temperature_);
    library_.find("rsmi_status_string", &words_);
    int answer = init_(0);
    began_ = answer == 0;
    if (began_) answer = devices_(&count_);
    if (answer != 0) *why = "librocm_smi64 does not start: " + text(answer);
    return answer == 0;
  }

  uint32_t count() const noexcept override { return count_; }

  int place(uint32_t gpu, uint64_t* place) const noexcept override {
    return place_ == nullptr ? kNoFunction : place_(gpu, place);
  }

  int read(uint32_t gpu, int what, int64_t argument, int64_t* value) const noexcept override {
    if (what == kEnergy) return energy_of(energy_, gpu, value);
    if (temperature_ == nullptr) return kNoFunction;
    return temperature_(gpu, static_cast<uint32_t>(argument & 0xff), static_cast<int>(argument >> 8), value);
  }

 private:
  uint32_t count_ = 0;
  int (*init_)(uint64_t) = nullptr;
  int (*devices_)(uint32_t*) = nullptr;
  int (*place_)(uint32_t, uint64_t*) = nullptr;
  int (*energy_)(uint32_t, uint64_t*, float*, uint64_t*) = nullptr;
  int (*temperature_)(uint32_t, uint32_t sensor, int metric, int64_t*) = nullptr;
};

}  // namespace

std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why) {
  auto library = std::make_unique<Library>();
  if (!library->load(host, why)) return nullptr;
  return library;
}

}  // namespace substrata::rocm_smi
