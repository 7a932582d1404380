// Lists the zones of /sys/class/powercap.
#include "sysfs/energy_zones.hpp"

#include <utility>

#include "base/parse.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {
namespace {

bool parse_zone(const std::string& folder, EnergyZone* zone) {
  const std::vector<std::string> parts = split(folder, ':');
  if (parts.size() < 2 || parts[0].empty()) return false;
  zone->control = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    int64_t number = 0;
    if (!parse_integer(parts[i], &number)) return false;
    zone->path.push_back(number);
  }
  return true;
}

}  // namespace

std::vector<EnergyZone> energy_zones(const Host& host) {
  std::vector<EnergyZone> zones;
  const std::string root = below_root(host, "/sys/class/powercap");
  for (const std::string& folder : list_folder(root)) {
    EnergyZone zone;
    if (!parse_zone(folder, &zone)) continue;
    zone.folder = root + "/" + folder;
    std::string around = zone.control;
    for (const int64_t number : zone.path) {
      around += ":" + std::to_string(number);
      if (!read_text(root + "/" + around + "/name", &zone.name)) zone.name = around;
      zone.content += (zone.content.empty() ? "" : "/") + plain_name(zone.name);
    }
    if (!read_integer(zone.folder + "/max_energy_range_uj", &zone.range_uj)) zone.range_uj = 0;
    zones.push_back(std::move(zone));
  }
  return zones;
}

}  // namespace substrata::sysfs
