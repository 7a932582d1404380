// Asks NVML, CUDA's driver library and the kernel's topology of AMD's GPUs.
#include "core/system/accelerators.hpp"

#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/environment.hpp"
#include "base/immortal.hpp"
#include "base/kept.hpp"
#include "base/result.hpp"
#include "base/shared_library.hpp"
#include "nvidia/library.hpp"
#include "sysfs/amd_gpus.hpp"
#include "sysfs/number_files.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata {
namespace {

// PAPI's hash of a UUID (djb2).
uint64_t hash_of(std::string_view text) noexcept {
  uint64_t hash = 5381;
  for (const char c : text) hash = hash * 33 + static_cast<uint64_t>(static_cast<unsigned char>(c));
  return hash;
}

// CUDA's driver library, which comes with NVIDIA's driver: the numbers of its attributes (CUdevice_attribute) that
// cuda::Attribute names, in that order.
constexpr int kCudaAttributes[cuda::kAttributes] = {10, 8,  81, 2,  3,  4,  5,  6,  7,  1,
                                                    16, 31, 19, 15, 41, 83, 75, 76, 106};

class Cuda {
 public:
  Cuda() : library_(SharedLibrary::load("libcuda.so.1")) {
    int (*start)(unsigned) = nullptr;
    find("cuInit", &start);
    find("cuDeviceGetByPCIBusId", &by_bus_);
    find("cuDeviceGetAttribute", &attribute_);
    started_ = start != nullptr && by_bus_ != nullptr && attribute_ != nullptr && start(0) == 0;
  }
  void describe(const char* bus, Accelerator* gpu) const {
    int device = 0;
    if (!started_ || by_bus_(&device, bus) != 0) return;
    for (uint32_t i = 0; i < cuda::kAttributes; ++i)
      if (int value = 0; attribute_(&value, kCudaAttributes[i], device) == 0)
        gpu->attributes[i] = static_cast<unsigned>(value);
  }

 private:
  template <typename Function>
  void find(const char* name, Function* function) const {
    if (library_) *function = reinterpret_cast<Function>(library_->symbol(name));
  }

  Result<SharedLibrary> library_;
  int (*by_bus_)(int*, const char*) = nullptr;
  int (*attribute_)(int*, int, int) = nullptr;
  bool started_ = false;
};

std::vector<Accelerator> nvidia_gpus(const Host& host) {
  std::vector<Accelerator> gpus;
  const char* chosen = sysfs::setting(host, "PAPI_NVML_MAIN");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  if (!is_chosen && *host.root != '\0') return gpus;  // the library would answer for this machine
  if (!is_chosen && sysfs::list_folder(sysfs::below_root(host, "/proc/driver/nvidia")).empty()) return gpus;
  nvml::Library library;
  std::string why;
  unsigned count = 0;
  if (!library.load(chosen, &why) || library.begin() != nvml::kDone || library.count(&count) != nvml::kDone)
    return gpus;
  static Immortal<Cuda> cuda_library;  // started once, and never unloaded under what it started
  for (unsigned index = 0; index < count; ++index) {
    nvml::Handle handle = nullptr;
    if (library.handle_by_index(index, &handle) != nvml::kDone) continue;
    Accelerator gpu;
    char text[96] = "";
    if (library.name(handle, text, sizeof text) == nvml::kDone) gpu.name = text;
    if (nvml::Library::call(library.uuid, handle, text, static_cast<unsigned>(sizeof text)) == nvml::kDone)
      gpu.uid = hash_of(text);
    nvml::PciPlace place{};
    if (nvml::Library::call(library.pci, handle, &place) == nvml::kDone)
      (*cuda_library).describe(place.old_bus[0] != 0 ? place.old_bus : place.text, &gpu);
    int major = 0, minor = 0;
    if (nvml::Library::call(library.capability, handle, &major, &minor) == nvml::kDone) {
      gpu.attributes[cuda::kCapabilityMajor] = static_cast<unsigned>(major);
      gpu.attributes[cuda::kCapabilityMinor] = static_cast<unsigned>(minor);
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

// A line "name number" of a node's properties; 0 where it is not there.
uint64_t property(const std::string& properties, const char* name) {
  sysfs::NumberSource source;
  source.key = std::string(name) + " ";
  uint64_t number = 0;
  return sysfs::number_at_front(sysfs::find_number(properties, source), &number) ? number : 0;
}

// The name that the card's firmware gives: of the DRM card at the same place on the bus.
std::string product_at(const std::vector<sysfs::AmdGpu>& cards, uint64_t domain, uint64_t place) {
  char bus[32];
  std::snprintf(bus, sizeof bus, "%04x:%02x:%02x.%x", static_cast<unsigned>(domain),
                static_cast<unsigned>(place >> 8 & 0xff), static_cast<unsigned>(place >> 3 & 0x1f),
                static_cast<unsigned>(place & 7));
  std::string name;
  for (const sysfs::AmdGpu& card : cards)
    if (sysfs::last_part(sysfs::resolved(card.folder)) == bus)
      sysfs::read_text(card.folder + "/product_name", &name);
  return name;
}

// "gfx942" of 90402, "gfx90a" of 90010.
std::string architecture(uint64_t target) {
  char name[32];
  std::snprintf(name, sizeof name, "gfx%u%x%x", static_cast<unsigned>(target / 10000),
                static_cast<unsigned>(target / 100 % 100), static_cast<unsigned>(target % 100));
  return name;
}

// The kernel's topology (KFD), which ROCm's own libraries read.
std::vector<Accelerator> amd_gpus(const Host& host) {
  std::vector<Accelerator> gpus;
  const std::vector<sysfs::AmdGpu> cards = sysfs::amd_gpus(host);
  const std::string nodes = sysfs::below_root(host, "/sys/class/kfd/kfd/topology/nodes");
  for (const std::string& node : sysfs::list_folder(nodes)) {
    std::string text;
    if (!sysfs::read_text(nodes + "/" + node + "/properties", &text)) continue;
    const uint64_t simds = property(text, "simd_count");
    const uint64_t per_unit = property(text, "simd_per_cu");
    if (simds == 0 || per_unit == 0) continue;  // a processor
    Accelerator gpu;
    const uint64_t domain = property(text, "domain");
    const uint64_t place = property(text, "location_id");
    gpu.uid = domain << 32 | place;
    gpu.name = product_at(cards, domain, place);
    if (gpu.name.empty()) sysfs::read_text(nodes + "/" + node + "/name", &gpu.name);
    const uint64_t target = property(text, "gfx_target_version");  // 90402: gfx942
    // What the kernel calls every GPU that it has no table of: the name that ROCm gives instead.
    if (gpu.name == "ip discovery" && target != 0) gpu.name = architecture(target);
    const auto set = [&](rocm::Attribute attribute, uint64_t value) {
      gpu.attributes[attribute] = static_cast<unsigned>(value);
    };
    set(rocm::kWavefrontSize, property(text, "wave_front_size"));
    set(rocm::kWavesPerUnit, property(text, "max_waves_per_simd") * per_unit);
    set(rocm::kMemoryPerWorkgroup, property(text, "lds_size_in_kb") << 10);
    set(rocm::kUnits, simds / per_unit);
    set(rocm::kSimdsPerUnit, per_unit);
    set(rocm::kCapabilityMajor, target / 10000);
    set(rocm::kCapabilityMinor, target / 100 % 100);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace

Accelerators find_accelerators(const Host& host) { return {nvidia_gpus(host), amd_gpus(host)}; }

const Accelerators* accelerators() {
  static Immortal<Kept<Accelerators>> found;  // clients hold on to it
  return (*found).get([] {
    Host host;
    host.setting = [](void*, const char* name) noexcept { return environment(name); };
    host.root = machine_root();
    return std::make_unique<Accelerators>(find_accelerators(host));
  });
}

}  // namespace substrata
