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
struct Quantity {
  std::string_view file;  // "energy", "cpu_energy"
  const char* event;
  const char* unit;
  const char* text;
  bool counts;
};
constexpr Quantity kQuantities[] = {
    {"energy", "PM_ENERGY", "J", "energy used by", true},
    {"power_cap", "PM_POWER_CAP", "W", "power cap, 0 for none, of", false},
    {"power", "PM_POWER", "W", "power used by", false},
    {"temp", "PM_TEMP", "degC", "temperature of", false},  // not one of HPE's names
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
      for (const Quantity& quantity : kQuantities) {
        if (!std::string_view(file).ends_with(quantity.file)) continue;
        const std::string part =
            part_of(std::string_view(file).substr(0, file.size() - quantity.file.size()));
        if (part.empty()) continue;
        sysfs::CatalogueEntry entry;
        entry.name = std::string(quantity.event) + ":" + part;
        entry.text = std::string(quantity.text) + " " + part + " (pm_counters/" + file + ")";
        entry.unit = quantity.unit;
        entry.kind = quantity.counts ? ValueKind::kCount : ValueKind::kGauge;
        entry.flags = kEventScopeNode;
        sysfs::NumberSource source;
        source.path = folder + "/" + file;
        source.renewed = folder + "/freshness";
        source.more_follows = true;  // the unit and the time
        add(std::move(entry), std::move(source));
      }
    }
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Counters>::table(
    "cray_pm", "Power and energy of a node of an HPE Cray machine, from /sys/cray/pm_counters", "PM_*:*");

}  // namespace

SUBSTRATA_PUBLISH(cray_pm, kTable);
