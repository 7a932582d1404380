// The substrate `rapl`: PAPI's names for the energy and power limits of processor packages, over the zones of
// /sys/class/powercap.
#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "sysfs/energy_zones.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using sysfs::EnergyZone;

// What PAPI calls the energy of a zone, by the zone's own name without its number.
struct Domain {
  std::string_view zone;
  const char* event;
  const char* text;
};
constexpr Domain kDomains[] = {
    {"package", "PACKAGE_ENERGY", "energy used by the whole of"},
    {"core", "PP0_ENERGY", "energy used by the cores of"},
    {"uncore", "PP1_ENERGY", "energy used by what is not core (mostly the graphics unit) of"},
    {"dram", "DRAM_ENERGY", "energy used by the memory of"},
    {"psys", "PSYS_ENERGY", "energy used by the machine around"},
};

// Limits that the processor states for a package: W, as doubles.
struct Limit {
  const char* file;
  const char* event;
  const char* text;
};
constexpr Limit kLimits[] = {
    {"constraint_0_max_power_uw", "THERMAL_SPEC", "thermal design power of"},
    {"constraint_1_max_power_uw", "MAXIMUM_POWER", "highest power limit of"},
};

class Packages : public sysfs::NumberFiles {
 public:
  using NumberFiles::NumberFiles;

  static Status detect(const Host& host) {
    for (const EnergyZone& zone : sysfs::energy_zones(host))
      if (zone.control == "intel-rapl") return kSuccess;
    return {Code::kNoSupport, 0, sysfs::kNoEnergyZone};
  }

  Status scan() {
    std::string package;  // the one whose parts follow it in the list
    for (const EnergyZone& zone : sysfs::energy_zones(host_)) {
      if (zone.control != "intel-rapl") continue;
      if (zone.path.size() == 1) package = place_of(zone);
      add_energy(zone, package);
      if (zone.path.size() == 1 && zone.name.starts_with("package-"))
        for (const Limit& limit : kLimits) add_limit(zone, package, limit);
    }
    return kSuccess;
  }

 private:
  // "package-1" is PACKAGE1; where a package is several dies, "package-1-die-0" is PACKAGE1_DIE0. A machine's psys
  // zone belongs to the first package.
  static std::string place_of(const EnergyZone& zone) {
    const auto parts = split(zone.name, '-');
    if (parts.size() < 2 || parts[0] != "package") return "PACKAGE0";
    return "PACKAGE" + parts[1] + (parts.size() > 3 ? "_DIE" + parts[3] : "");
  }

  void add_energy(const EnergyZone& zone, const std::string& package) {
    const std::string_view kind = std::string_view(zone.name).substr(0, zone.name.find('-'));
    for (const Domain& domain : kDomains) {
      if (kind != domain.zone) continue;
      sysfs::CatalogueEntry entry;
      entry.name = std::string(domain.event) + ":" + package;
      entry.text = std::string(domain.text) + " " + package;
      entry.unit = "nJ";
      entry.kind = ValueKind::kCount;
      entry.flags = kEventScopePackage;
      sysfs::NumberSource source;
      source.path = zone.folder + "/energy_uj";
      source.times = 1000;
      source.permission = sysfs::kEnergyIsForRoot;
      if (zone.range_uj > 0) {
        source.wrap = sysfs::Wrap::kRange;
        source.range = static_cast<uint64_t>(zone.range_uj) * 1000;
      }
      add(std::move(entry), std::move(source));
    }
  }

  void add_limit(const EnergyZone& zone, const std::string& package, const Limit& limit) {
    sysfs::NumberSource source;
    source.path = zone.folder + "/" + limit.file;
    source.unit = 1e-6;
    if (int64_t there = 0; !sysfs::read_integer(source.path, &there)) return;
    sysfs::CatalogueEntry entry;
    entry.name = std::string(limit.event) + ":" + package;
    entry.text = std::string(limit.text) + " " + package;
    entry.unit = "W";
    entry.flags = kEventScopePackage;
    add(std::move(entry), std::move(source));
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Packages>::table({
    .name = "rapl",
    .summary = "Energy of processor packages under the names of PAPI's rapl, from /sys/class/powercap",
    .event_names = "*_ENERGY:PACKAGE*,THERMAL_SPEC:PACKAGE*,MAXIMUM_POWER:PACKAGE*",
});

}  // namespace

SUBSTRATA_PUBLISH(rapl, kTable);
