// The substrate `powercap`: energy used and power limits of processor packages and their parts (RAPL), from
// /sys/class/powercap.
#include <substrata/substrate.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "sysfs/energy_zones.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using sysfs::EnergyZone;
using sysfs::Quantity;

// The numbers of a zone (Documentation/power/powercap/powercap.rst) under PAPI's names. Constraint 0 is the
// long-term limit (PAPI's A), constraint 1 the short-term one (B).
constexpr Quantity kQuantities[] = {
    {"ENERGY_UJ", "energy_uj", "uJ", "energy used by", true},
    {"MAX_ENERGY_RANGE_UJ", "max_energy_range_uj", "uJ", "where the energy counter starts again, of"},
    {"MAX_POWER_A_UW", "constraint_0_max_power_uw", "uW", "highest long-term power limit of"},
    {"POWER_LIMIT_A_UW", "constraint_0_power_limit_uw", "uW", "long-term power limit of", false, true},
    {"TIME_WINDOW_A_US", "constraint_0_time_window_us", "us", "time window of the long-term limit of"},
    {"MAX_POWER_B_UW", "constraint_1_max_power_uw", "uW", "highest short-term power limit of"},
    {"POWER_LIMIT_B_UW", "constraint_1_power_limit_uw", "uW", "short-term power limit of", false, true},
    {"TIME_WINDOW_B", "constraint_1_time_window_us", "us", "time window of the short-term limit of"},
    {"ENABLED", "enabled", "", "1 if the limits are enforced, of"},
    {"NAME", "name", "", "name of"},
};
constexpr uint32_t kName = sizeof kQuantities / sizeof kQuantities[0] - 1;

class Zones : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    if (!sysfs::energy_zones(host).empty()) return kSuccess;
    return {Code::kNoSupport, 0, sysfs::kNoEnergyZone};
  }

  Status scan() {
    for (const EnergyZone& zone : sysfs::energy_zones(host_)) add_zone(zone);
    catalogue_.index_aliases();
    return kSuccess;
  }

 private:
  void add_zone(const EnergyZone& zone) {
    // PAPI's ZONE1_SUBZONE0; zones of other control types than intel-rapl carry theirs in front.
    std::string place = zone.control == "intel-rapl" ? "ZONE" : zone.control + "_ZONE";
    for (size_t depth = 0; depth < zone.path.size(); ++depth) {
      if (depth > 0) place += "_SUBZONE";
      place += std::to_string(zone.path[depth]);
    }
    const std::vector<std::string> present = sysfs::list_folder(zone.folder);
    for (uint32_t i = 0; i <= kName; ++i) {
      const Quantity& quantity = kQuantities[i];
      if (std::find(present.begin(), present.end(), quantity.file) == present.end()) continue;
      sysfs::CatalogueEntry entry =
          sysfs::entry_of(quantity, std::string(quantity.name) + ":" + place,
                          zone.content + " (" + sysfs::last_part(zone.folder) + ")");
      // By content, since zone numbers move when a machine has a psys zone.
      entry.aliases.push_back(std::string(quantity.name) + ":" + zone.content);
      entry.flags = kEventScopePackage;
      if (i == kName) {
        add_unavailable(std::move(entry), "a zone's name is not a number; this one is " + zone.content);
        continue;
      }
      sysfs::NumberSource source;
      source.path = zone.folder + "/" + quantity.file;
      source.permission = sysfs::kEnergyIsForRoot;
      // As in PAPI, limits of a package as a whole are what can be set.
      if (quantity.is_written && zone.path.size() == 1) source.written = source.path;
      if (quantity.counts && zone.range_uj > 0) {
        source.wrap = sysfs::Wrap::kRange;
        source.range = static_cast<uint64_t>(zone.range_uj);
      }
      add(std::move(entry), std::move(source));
    }
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Zones>::table({
    .name = "powercap",
    .summary = "Energy and power limits of processor packages and their parts, from /sys/class/powercap",
    .version = "1.1",
    .event_names = "ENERGY_UJ:*,MAX_ENERGY_RANGE_UJ:*,MAX_POWER_?_UW:*,POWER_LIMIT_?_UW:*,TIME_WINDOW_?*:*,"
                   "ENABLED:*,NAME:*",
});

}  // namespace

SUBSTRATA_PUBLISH(powercap, kTable);
