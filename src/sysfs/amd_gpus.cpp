// Finds AMD's GPUs below /sys/class/drm and the files of their numbers.
#include "sysfs/amd_gpus.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.hpp"
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

// The place on the bus that the card's folder is a link to, "0000:c1:00.0"; 0 where it is none.
uint64_t place_of(const AmdGpu& gpu) {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(gpu.folder, error).filename();
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (std::sscanf(target.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) return 0;
  return static_cast<uint64_t>(domain) << 32 | bus << 8 | device << 3 | function;
}

// The library's number of that GPU; by its order where the kernel's files do not say its place.
uint32_t number_in(const AmdLibrary& library, const AmdGpu& gpu, uint32_t index) {
  constexpr uint64_t kWithoutPartition = 0xffffffff0fffffff;
  const uint64_t wanted = place_of(gpu);
  for (uint32_t i = 0; wanted != 0 && i < library.count(); ++i)
    if (uint64_t place = 0; library.place(i, &place) == 0 && (place & kWithoutPartition) == wanted) return i;
  return index;
}

// Of an AmdGpuNumber or an AmdLibraryNumber, of the GPU with that number.
template <class Number>
CatalogueEntry entry_of(const Number& number, const std::string& gpu) {
  CatalogueEntry entry;
  entry.name = replaced(number.name, '*', gpu);
  entry.text = std::string(number.text) + " GPU " + gpu;
  entry.unit = number.unit;
  entry.kind = number.counts ? ValueKind::kCount : ValueKind::kGauge;
  entry.flags = kEventScopeNode;
  return entry;
}

}  // namespace

Status AmdLibraryValue::read(const char* name, int64_t* value) const noexcept {
  const int answer = library_->read(gpu_, number_->what, number_->argument, value);
  if (answer == 0) return kSuccess;
  return guarded(
      [&] { return refuse_system(EIO, "%s cannot be read: %s", name, library_->text(answer).c_str()); });
}

Status AmdLibraryValue::fell(const char* name) const noexcept {
  return refuse(Code::kCountersLost, "%s went backwards: the GPU was reset; start the set again", name);
}

AmdLibrary::~AmdLibrary() {
  if (began_) shut_down_();
}

std::string AmdLibrary::text(int answer) const {
  if (answer == kNoFunction) return std::string("the installed ") + file_ + " is too old for it";
  if (answer == kNotStated) return std::string(file_) + " says that this GPU does not state it";
  const char* words = nullptr;
  if (words_ != nullptr && words_(answer, &words) == 0 && words != nullptr) return words;
  return std::string(file_) + " answers " + std::to_string(answer);
}

bool AmdLibrary::load(const Host& host, const char* variable, const char* file, const char* package,
                      std::string* why) {
  file_ = file;
  const char* const chosen = setting(host, variable);
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  if (!is_chosen && *host.root != '\0') {
    *why = std::string("AMD's library knows this machine's GPUs, not those of a recorded one; ") + variable +
           " can name a stand-in";
    return false;
  }
  std::vector<std::string> places;
  if (is_chosen) {
    places = {std::string(chosen) + "/lib/" + file};
  } else {
    places = {file, std::string("/opt/rocm/lib/") + file};
  }
  for (const std::string& place : places) {
    Result<SharedLibrary> loaded = SharedLibrary::load(place);
    if (!loaded) continue;
    library_ = std::move(*loaded);
    return true;
  }
  *why = is_chosen ? std::string(variable) + " is " + chosen + ", below which no lib/" + file + " loads"
                   : std::string("only AMD's ") + file + " has it: install " + package + ", or set " +
                         variable + " to the folder of ROCm";
  return false;
}

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
      source.word = number.starred ? 1 : number.word;
      if (number.key != nullptr) source.key = number.key;
      source.more_follows = source.reads_slowly = number.waits;
      if (number.is_written) {
        source.written = source.path;
        read_integer(source.path + "_min", &source.least);
        read_integer(source.path + "_max", &source.most);
      }
      CatalogueEntry entry = entry_of(number, which);
      const std::string path = source.path;
      add(std::move(entry), std::move(source));
      if (number.levels != nullptr) add_levels(number, path, which);
    }
  }
  return kSuccess;
}

// A line for each: "1: 1725Mhz *".
void AmdGpuNumbers::add_levels(const AmdGpuNumber& number, const std::string& path, const std::string& gpu) {
  std::string text;
  if (!read_text(path, &text)) return;
  const std::string name = replaced(number.levels, '*', gpu);
  for (int level = 0;; ++level) {
    NumberSource source;
    source.key = std::to_string(level) + ": ";
    if (("\n" + text).find("\n" + source.key) == std::string::npos) return;
    source.path = path;
    source.times = number.times;
    source.by = number.by;
    CatalogueEntry entry;
    entry.name = replaced(name, '@', std::to_string(level));
    entry.text = "level " + std::to_string(level) + " of the " + number.text + " GPU " + gpu;
    entry.unit = number.unit;
    entry.flags = kEventScopeNode;
    add(std::move(entry), std::move(source));
  }
}

void AmdGpuNumbers::scan(std::unique_ptr<AmdLibrary> library, const std::string& why,
                         const AmdLibraryNumber* numbers, size_t count) {
  library_ = std::move(library);
  uint32_t index = 0;
  for (const AmdGpu& gpu : amd_gpus(host_)) {
    const uint32_t in_library = library_ == nullptr ? 0 : number_in(*library_, gpu, index);
    const std::string which = std::to_string(index++);
    for (size_t i = 0; i < count; ++i) {
      const AmdLibraryNumber& number = numbers[i];
      CatalogueEntry entry = entry_of(number, which);
      if (uint32_t known = 0; catalogue_.find(entry.name.c_str(), &known).ok()) continue;
      int64_t value = 0;
      const int answer =
          library_ == nullptr ? 0 : library_->read(in_library, number.what, number.argument, &value);
      if (library_ == nullptr || answer != 0) {
        if (number.rare) continue;
        entry.refusal = Code::kNoSupport;
        add_unavailable(std::move(entry), library_ == nullptr ? why : library_->text(answer));
      } else {
        add_other(std::move(entry), [this, &number, in_library](AmdLibraryValue& of) {
          of.set(library_.get(), in_library, &number);
          return kSuccess;
        });
      }
    }
  }
}

}  // namespace substrata::sysfs
