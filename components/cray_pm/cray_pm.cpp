// The substrate `cray_pm`: power and energy of a node of an HPE Cray machine, from /sys/cray/pm_counters.
#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;

constexpr const char* kFolder = "/sys/cray/pm_counters";

// The end of a file's name decides what it is; what stands before says of which part.
constexpr sysfs::Quantity kQuantities[] = {
    {"PM_ENERGY", "energy", "J", "energy used by", true},
    {"PM_POWER_CAP", "power_cap", "W", "power cap, 0 for none, of"},
    {"PM_POWER", "power", "W", "power used by"},
    {"PM_TEMP", "temp", "degC", "temperature of"},  // not one of HPE's names
};

// "" is NODE, "cpu" CPU, "memory" MEMORY, "accel" ACC and "accel2" ACC2; "" for anything else.
std::string part_of(std::string_view start) {
  if (start.empty()) return "NODE";
  if (start.back() != '_') return "";
  start.remove_suffix(1);
  if (start == "cpu") return "CPU";
  if (start == "memory") return "MEMORY";
  if (!start.starts_with("accel")) return "";
  start.remove_prefix(5);
  if (int64_t number = 0; !start.empty() && !parse_integer(start, &number)) return "";
  return "ACC" + std::string(start);
}

class Counters : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    if (!sysfs::list_folder(sysfs::below_root(host, kFolder)).empty()) return kSuccess;
    return {Code::kNoSupport, 0,
            "no /sys/cray/pm_counters: only compute nodes of HPE Cray machines have it (driver pm_counters)"};
  }

  Status scan() {
    const std::string folder = sysfs::below_root(host_, kFolder);
    for (const std::string& file : sysfs::list_folder(folder)) {
      for (const sysfs::Quantity& quantity : kQuantities) {
        const std::string_view end = quantity.file;
        if (!file.ends_with(end)) continue;
        const std::string part = part_of(std::string_view(file).substr(0, file.size() - end.size()));
        if (part.empty()) continue;
        sysfs::NumberSource source;
        source.path = folder + "/" + file;
        source.renewed = folder + "/freshness";
        source.more_follows = true;  // the unit and the time
        add(sysfs::entry_of(quantity, std::string(quantity.name) + ":" + part,
                            part + " (pm_counters/" + file + ")"),
            std::move(source));
      }
    }
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Counters>::table(
    "cray_pm", "Power and energy of a node of an HPE Cray machine, from /sys/cray/pm_counters", "PM_*:*");

}  // namespace

SUBSTRATA_PUBLISH(cray_pm, kTable);
