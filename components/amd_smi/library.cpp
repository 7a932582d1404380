// Loads libamd_smi, lists its GPUs and asks it.
#include "library.hpp"

#include <utility>
#include <vector>

namespace substrata::amd_smi {
namespace {

constexpr uint64_t kGpus = 2;  // AMDSMI_INIT_AMD_GPUS

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
    if (what == kTemperature)
      return temperature_ == nullptr ? kNoFunction
                                     : temperature_(gpus_[gpu], static_cast<int>(argument), 0, value);
    return energy_of(energy_, gpus_[gpu], value);
  }

 private:
  using Handle = void*;

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
};

}  // namespace

std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why) {
  auto library = std::make_unique<Library>();
  if (!library->load(host, why)) return nullptr;
  return library;
}

}  // namespace substrata::amd_smi
