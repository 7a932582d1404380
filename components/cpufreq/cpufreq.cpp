// The substrate `cpufreq`: frequency, idle states and throttling of each processor, from the files that the kernel's
// drivers keep below /sys/devices/system/cpu.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using sysfs::list_folder;
using sysfs::Quantity;

constexpr const char* kProcessors = "/sys/devices/system/cpu";

// A file of every processor that has the driver.
constexpr Quantity kQuantities[] = {
    {"frequency", "cpufreq/scaling_cur_freq", "Hz", "frequency of", false, false, 1000, kEventScopeCore},
    {"frequency:lowest", "cpufreq/scaling_min_freq", "Hz",
     "lowest frequency that the governor may choose for", false, false, 1000, kEventScopeCore},
    {"frequency:highest", "cpufreq/scaling_max_freq", "Hz",
     "highest frequency that the governor may choose for", false, false, 1000, kEventScopeCore},
    {"throttled:core", "thermal_throttle/core_throttle_count", "", "times that heat slowed the core of", true,
     false, 1, kEventScopeCore},
    {"throttled:core:time", "thermal_throttle/core_throttle_total_time_ms", "ns",
     "time that heat slowed the core of", true, false, 1'000'000, kEventScopeCore},
    {"throttled:package", "thermal_throttle/package_throttle_count", "",
     "times that heat slowed the package of", true, false, 1, kEventScopePackage},
    {"throttled:package:time", "thermal_throttle/package_throttle_total_time_ms", "ns",
     "time that heat slowed the package of", true, false, 1'000'000, kEventScopePackage},
};
constexpr Quantity kIdle[] = {
    {"time", "time", "us", "time spent in an idle state by", true, false, 1, kEventScopeCore},
    {"entries", "usage", "", "times that an idle state was entered by", true, false, 1, kEventScopeCore},
};

// The kernel's processors, "cpu0", by the numbers in their names.
std::vector<std::string> processors(const Host& host) {
  std::vector<std::string> all;
  for (std::string& name : list_folder(sysfs::below_root(host, kProcessors)))
    if (int64_t number = 0;
        name.starts_with("cpu") && parse_integer(std::string_view(name).substr(3), &number))
      all.push_back(std::move(name));
  return all;
}

class Processors : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    for (const std::string& processor : processors(host)) {
      const std::string folder = sysfs::below_root(host, kProcessors) + "/" + processor + "/";
      for (const char* driver : {"cpufreq", "cpuidle", "thermal_throttle"})
        if (!list_folder(folder + driver).empty()) return kSuccess;
    }
    return {Code::kNoSupport, 0,
            "no processor below /sys/devices/system/cpu has the files of a frequency or idle driver "
            "(cpufreq, cpuidle, "
            "thermal_throttle): load one (modprobe acpi_cpufreq, cppc_cpufreq); virtual machines mostly lack "
            "them"};
  }

  Status scan() {
    for (const std::string& processor : processors(host_)) {
      const std::string folder = sysfs::below_root(host_, kProcessors) + "/" + processor + "/";
      for (const Quantity& quantity : kQuantities)
        add(quantity, processor + ":" + quantity.name, folder + quantity.file, processor);
      for (const std::string& state : list_folder(folder + "cpuidle")) {
        const std::string files = folder + "cpuidle/" + state + "/";
        std::string name;
        if (!state.starts_with("state") || !sysfs::read_text(files + "name", &name)) continue;
        for (const Quantity& quantity : kIdle)
          add(quantity, processor + ":" + sysfs::plain_name(name) + ":" + quantity.name,
              files + quantity.file, processor + " (" + name + ")");
      }
    }
    return kSuccess;
  }

 private:
  // Nothing where the driver does not have the file.
  void add(const Quantity& quantity, std::string name, std::string path, const std::string& whose) {
    if (sysfs::KeptFile file; file.open(path) == ENOENT) return;
    sysfs::NumberSource source;
    source.path = std::move(path);
    source.times = quantity.times;
    source.reads_slowly = true;
    NumberFiles::add(sysfs::entry_of(quantity, std::move(name), whose), std::move(source));
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Processors>::table(
    "cpufreq", "Frequency, idle states and throttling of each processor, from /sys/devices/system/cpu",
    "cpu[0-9]*:*");

}  // namespace

SUBSTRATA_PUBLISH(cpufreq, kTable);
