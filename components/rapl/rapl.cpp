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

// What PAPI reads from registers that the kernel's zones do not show.
constexpr const char* kRegistersOnly =
    "only the processor's registers have it (/dev/cpu/*/msr, for root), which this substrate does not read; "
    "energies are here in nJ";
struct Register {
  const char* event;
  const char* unit;
  const char* text;
};
constexpr Register kRegisters[] = {
    {"MINIMUM_POWER", "W", "lowest power limit of"},
    {"MAXIMUM_TIME_WINDOW", "s", "longest time window of a power limit of"},
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
      if (zone.path.size() == 1 && zone.name.starts_with("package-")) add_package(zone, package);
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

  void add_package(const EnergyZone& zone, const std::string& package) {
    for (const Limit& limit : kLimits) add_limit(zone, package, limit);
    for (const Register& one : kRegisters)
      add_unavailable(described(std::string(one.event) + ":" + package, one.text, one.unit, package),
                      kRegistersOnly);
  }

  static sysfs::CatalogueEntry described(std::string name, const char* text, const char* unit,
                                         const std::string& package) {
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = std::string(text) + " " + package;
    entry.unit = unit;
    entry.flags = kEventScopePackage;
    return entry;
  }

  void add_energy(const EnergyZone& zone, const std::string& package) {
    const std::string_view kind = std::string_view(zone.name).substr(0, zone.name.find('-'));
    for (const Domain& domain : kDomains) {
      if (kind != domain.zone) continue;
      sysfs::CatalogueEntry entry =
          described(std::string(domain.event) + ":" + package, domain.text, "nJ", package);
      entry.kind = ValueKind::kCount;
      sysfs::NumberSource source;
      source.path = zone.folder + "/energy_uj";
      source.times = 1000;
      source.permission = sysfs::kEnergyIsForRoot;
      if (zone.range_uj > 0) {
        source.wrap = sysfs::Wrap::kRange;
        source.range = static_cast<uint64_t>(zone.range_uj) * 1000;
      }
      add(std::move(entry), std::move(source));
      add_unavailable(described(std::string(domain.event) + "_CNT:" + package, domain.text, "", package),
                      kRegistersOnly);
    }
  }

  void add_limit(const EnergyZone& zone, const std::string& package, const Limit& limit) {
    sysfs::NumberSource source;
    source.path = zone.folder + "/" + limit.file;
    source.unit = 1e-6;
    if (int64_t there = 0; !sysfs::read_integer(source.path, &there)) return;
    add(described(std::string(limit.event) + ":" + package, limit.text, "W", package), std::move(source));
  }
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Packages>::table({
    .name = "rapl",
    .summary = "Energy of processor packages under the names of PAPI's rapl, from /sys/class/powercap",
    .event_names = "*_ENERGY:PACKAGE*,*_ENERGY_CNT:PACKAGE*,THERMAL_SPEC:PACKAGE*,M??IMUM_*:PACKAGE*",
});

}  // namespace

SUBSTRATA_PUBLISH(rapl, kTable);
