// Finds AMD's GPUs below /sys/class/drm and the files of their numbers.
#include "sysfs/amd_gpus.hpp"

#include <cerrno>
#include <utility>

#include "base/parse.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {
namespace {

constexpr const char* kCards = "/sys/class/drm";

std::string replaced(std::string text, char what, const std::string& by) {
  if (const size_t at = text.find(what); at != std::string::npos) text.replace(at, 1, by);
  return text;
}

bool is_there(const std::string& path) {
  KeptFile file;
  return file.open(path) != ENOENT;
}

// The file that has the number, "" where this GPU lacks it.
std::string path_of(const AmdGpu& gpu, const AmdGpuNumber& number) {
  for (const char* name : {number.file, number.other_file}) {
    if (name == nullptr) continue;
    std::string file = name;
    std::string folder = gpu.folder;
    if (file.starts_with("sensor/")) {
      if (gpu.sensors.empty()) continue;
      folder = gpu.sensors;
      file.erase(0, 7);
    }
    if (number.label == nullptr) {
      if (is_there(folder + "/" + file)) return folder + "/" + file;
      continue;
    }
    for (int channel = 1; channel <= 8; ++channel) {
      const std::string which = std::to_string(channel);
      std::string label;
      if (!read_text(folder + "/temp" + which + "_label", &label) || label != number.label) continue;
      const std::string path = folder + "/" + replaced(file, '@', which);
      if (is_there(path)) return path;
    }
  }
  return "";
}

}  // namespace

std::vector<AmdGpu> amd_gpus(const Host& host) {
  std::vector<AmdGpu> gpus;
  const std::string cards = below_root(host, kCards);
  for (const std::string& card : list_folder(cards)) {
    int64_t number = 0;
    if (!card.starts_with("card") || !parse_integer(card.substr(4), &number)) continue;  // "card0-DP-1"
    AmdGpu gpu;
    gpu.folder = cards + "/" + card + "/device";
    std::string vendor;
    if (!read_text(gpu.folder + "/vendor", &vendor) || vendor != "0x1002") continue;
    for (const std::string& monitor : list_folder(gpu.folder + "/hwmon")) {
      gpu.sensors = gpu.folder + "/hwmon/" + monitor;
      break;
    }
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Status need_amd_gpu(const Host& host) {
  if (!amd_gpus(host).empty()) return kSuccess;
  return {Code::kNoSupport, 0,
          "no GPU of AMD below /sys/class/drm: load its driver (modprobe amdgpu), or pass the GPU to this "
          "container "
          "or virtual machine"};
}

Status AmdGpuNumbers::scan(const AmdGpuNumber* numbers, size_t count) {
  uint32_t index = 0;
  for (const AmdGpu& gpu : amd_gpus(host_)) {
    const std::string which = std::to_string(index++);
    for (size_t i = 0; i < count; ++i) {
      const AmdGpuNumber& number = numbers[i];
      NumberSource source;
      source.path = path_of(gpu, number);
      if (source.path.empty()) continue;
      source.times = number.times;
      source.by = number.by;
      source.starred = number.starred;
      source.word = number.starred ? 1 : 0;
      if (number.is_written) {
        source.written = source.path;
        read_integer(source.path + "_min", &source.least);
        read_integer(source.path + "_max", &source.most);
      }
      CatalogueEntry entry;
      entry.name = replaced(number.name, '*', which);
      entry.text = std::string(number.text) + " GPU " + which;
      entry.unit = number.unit;
      entry.flags = kEventScopeNode;
      add(std::move(entry), std::move(source));
    }
  }
  return kSuccess;
}

}  // namespace substrata::sysfs
