// Finds Intel's GPUs below /sys/class/drm and their counter units below /sys/bus/event_source/devices.
#include "intel_gpu/gpus.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/parse.hpp"
#include "perf_events/device_files.hpp"
#include "perf_events/encoding.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::intel_gpu {
namespace {

using perf::Pmu;
using sysfs::list_folder;

bool is_there(const std::string& path) { return sysfs::KeptFile().open(path) != ENOENT; }

// "/sys/class/drm/card0" of each, root included.
std::vector<std::string> cards(const Host& host) {
  std::vector<std::string> found;
  const std::string folder = sysfs::below_root(host, "/sys/class/drm");
  for (const std::string& card : list_folder(folder)) {
    int64_t number = 0;
    std::string vendor;
    if (card.starts_with("card") && parse_integer(card.substr(4), &number) &&
        sysfs::read_text(folder + "/" + card + "/device/vendor", &vendor) && vendor == "0x8086")
      found.push_back(folder + "/" + card);
  }
  return found;
}

// The files of one of a GPU's parts, "gt": of i915 (Documentation/gpu/i915) or xe (Documentation/gpu/xe).
struct PartFile {
  const char* name;
  const char* i915;
  const char* xe;
  const char* unit;
  const char* text;
  bool counts;
};
constexpr PartFile kPartFiles[] = {
    {"frequency", "rps_act_freq_mhz", "freq0/act_freq", "MHz", "frequency now, 0 while idle, of", false},
    {"frequency_requested", "rps_cur_freq_mhz", "freq0/cur_freq", "MHz",
     "frequency that the driver asked for of", false},
    {"frequency_highest", "rps_max_freq_mhz", "freq0/max_freq", "MHz", "highest frequency that is allowed of",
     false},
    {"idle_residency", "rc6_residency_ms", "gtidle/idle_residency_ms", "ms", "time without power of", true},
    {"throttled", "throttle_reason_status", "freq0/throttle/status", "", "1 while heat or power slow down",
     false},
};

void add_part(const std::string& folder, const std::string& which, bool is_xe, Gpu* gpu) {
  for (const PartFile& file : kPartFiles) {
    const std::string path = folder + "/" + (is_xe ? file.xe : file.i915);
    if (is_there(path))
      gpu->files.push_back(
          {file.name + which, path, file.unit, std::string(file.text) + " part", file.counts});
  }
}

// The sensors (Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon).
struct Sensor {
  const char* prefix;
  const char* suffix;
  const char* name;
  const char* unit;
  bool counts;
};
constexpr Sensor kSensors[] = {{"energy", "_input", "energy", "uJ", true},
                               {"power", "_max", "power_limit", "uW", false},
                               {"temp", "_input", "temperature", "mdegC", false},
                               {"in", "_input", "voltage", "mV", false},
                               {"fan", "_input", "fan", "RPM", false}};

void add_sensors(const std::string& folder, Gpu* gpu) {
  for (const std::string& file : list_folder(folder))
    for (const Sensor& sensor : kSensors) {
      const std::string_view name = file;
      if (!name.starts_with(sensor.prefix) || !name.ends_with(sensor.suffix)) continue;
      const std::string stem = file.substr(0, file.size() - std::string_view(sensor.suffix).size());
      int64_t number = 0;
      if (!parse_integer(std::string_view(stem).substr(std::string_view(sensor.prefix).size()), &number))
        continue;
      std::string label;
      if (!sysfs::read_text(folder + "/" + stem + "_label", &label))
        label = number > 1 ? std::to_string(number) : "";
      gpu->files.push_back(
          {sensor.name + (label.empty() ? "" : "_" + sysfs::plain_name(label)), folder + "/" + file,
           sensor.unit, std::string(sensor.name) + (label.empty() ? "" : " (" + label + ")"), sensor.counts});
    }
}

void add_unit(const Pmu& pmu, const std::string& name, const std::string& terms, const std::string& unit,
              Gpu* gpu) {
  std::string error;
  const auto words = perf::encode_terms(pmu, terms, &error);
  if (!words) return;
  perf_event_attr attr = perf::blank_attr();
  attr.type = pmu.type;
  attr.config = words->word[0];
  attr.exclude_kernel = attr.exclude_hv = attr.exclude_idle = 0;  // units of devices refuse to exclude
  gpu->units.push_back({name, attr, pmu.cpumask.empty() ? 0 : pmu.cpumask.front(), unit,
                        "event " + terms + " of the kernel's unit " + pmu.name});
}

// Classes of engines as xe numbers them (include/uapi/drm/xe_drm.h).
constexpr const char* kClasses[] = {"rcs", "bcs", "vcs", "vecs", "ccs"};

void add_units(const Pmu& pmu, const std::string& device, Gpu* gpu) {
  for (const auto& [event, terms] : pmu.events) {
    if (event.ends_with("frequency")) continue;  // sums of samples; the files have the frequency
    const auto unit = pmu.units.find(event);
    // xe: of an engine, which its parts list by class.
    if (!event.starts_with("engine-") && !event.starts_with("gt-")) {
      add_unit(pmu, event, event, unit == pmu.units.end() ? "" : unit->second, gpu);
      continue;
    }
    for (const std::string& tile : list_folder(device)) {
      if (!tile.starts_with("tile")) continue;
      for (const std::string& part : list_folder(device + "/" + tile)) {
        int64_t number = 0;
        if (!part.starts_with("gt") || !parse_integer(part.substr(2), &number)) continue;
        const std::string which = ":gt=" + std::to_string(number);
        const std::string of_part = terms + ",gt=" + std::to_string(number);
        if (event.starts_with("gt-")) {
          add_unit(pmu, event + which, of_part, unit == pmu.units.end() ? "" : unit->second, gpu);
          continue;
        }
        for (const std::string& engine : list_folder(device + "/" + tile + "/" + part + "/engines")) {
          const auto its = std::find(std::begin(kClasses), std::end(kClasses), engine);
          if (its == std::end(kClasses)) continue;
          add_unit(pmu, engine + "0" + event.substr(6) + which,
                   of_part + ",engine_instance=0,engine_class=" + std::to_string(its - std::begin(kClasses)),
                   "ticks", gpu);
        }
      }
    }
  }
}

// "0000:03:00.0" is the device of the unit "xe_0000_03_00.0"; "i915" alone is the one in the processor.
bool is_unit_of(const std::string& unit, const std::string& driver, std::string place) {
  std::replace(place.begin(), place.end(), ':', '_');
  return unit == driver + "_" + place || (unit == driver && place == "0000_00_02.0");
}

}  // namespace

bool has_gpu(const Host& host) { return !cards(host).empty(); }

std::vector<Gpu> find_gpus(const Host& host) {
  std::vector<Gpu> gpus;
  const std::vector<Pmu> pmus = perf::read_pmus(host.root);
  for (const std::string& card : cards(host)) {
    Gpu gpu;
    const std::string device = card + "/device";
    for (const std::string& part : list_folder(card + "/gt"))
      add_part(card + "/gt/" + part, ":gt=" + part.substr(std::min<size_t>(2, part.size())), false, &gpu);
    for (const std::string& tile : list_folder(device))
      if (tile.starts_with("tile"))
        for (const std::string& part : list_folder(device + "/" + tile))
          if (part.starts_with("gt"))
            add_part(device + "/" + tile + "/" + part, ":gt=" + part.substr(2), true, &gpu);
    for (const std::string& monitor : list_folder(device + "/hwmon"))
      add_sensors(device + "/hwmon/" + monitor, &gpu);
    const std::string place = sysfs::last_part(sysfs::resolved(device));
    for (const Pmu& pmu : pmus)
      if (is_unit_of(pmu.name, "i915", place) || is_unit_of(pmu.name, "xe", place))
        add_units(pmu, device, &gpu);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace substrata::intel_gpu
