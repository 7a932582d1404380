// The substrate `rapl`: PAPI's names for the energy and power limits of processor packages, over the zones of
// /sys/class/powercap, and over the processor's registers for what the zones lack.
#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/parse.hpp"
#include "rapl/package_registers.hpp"
#include "sysfs/energy_zones.hpp"
#include "sysfs/files_and.hpp"
#include "sysfs/number_files.hpp"

namespace {

using namespace substrata;
using rapl::PackageRegisters;
using rapl::RegisterValue;
using sysfs::EnergyZone;
using sysfs::Register;

// What PAPI calls an energy, the kernel's name of its zone without the number, and its register.
struct Domain {
  std::string_view zone;
  const char* event;
  const char* text;
  Register intel;
};
constexpr Domain kDomains[] = {
    {"package", "PACKAGE_ENERGY", "energy used by the whole of", Register::kIntelPackageEnergy},
    {"core", "PP0_ENERGY", "energy used by the cores of", Register::kIntelCoreEnergy},
    {"uncore", "PP1_ENERGY", "energy used by what is not core (mostly the graphics unit) of",
     Register::kIntelUncoreEnergy},
    {"dram", "DRAM_ENERGY", "energy used by the memory of", Register::kIntelMemoryEnergy},
    {"psys", "PSYS_ENERGY", "energy used by the machine around", Register::kIntelMachineEnergy},
};

// Limits that the processor states for a package: W and s, as doubles.
struct Limit {
  const char* file;  // null: only the register has it
  const char* event;
  const char* unit;
  const char* text;
  RegisterValue::What what;
};
constexpr Limit kLimits[] = {
    {"constraint_0_max_power_uw", "THERMAL_SPEC", "W", "thermal design power of",
     RegisterValue::kDesignPower},
    {"constraint_1_max_power_uw", "MAXIMUM_POWER", "W", "highest power limit of",
     RegisterValue::kHighestLimit},
    {nullptr, "MINIMUM_POWER", "W", "lowest power limit of", RegisterValue::kLowestLimit},
    {nullptr, "MAXIMUM_TIME_WINDOW", "s", "longest time window of a power limit of",
     RegisterValue::kLongestWindow},
};

class Packages : public sysfs::NumberFilesAnd<RegisterValue> {
 public:
  using NumberFilesAnd::NumberFilesAnd;

  static Status detect(const Host& host) {
    for (const EnergyZone& zone : sysfs::energy_zones(host))
      if (zone.control == "intel-rapl") return kSuccess;
    const rapl::Packages registers = rapl::packages(host);
    if (!registers.packages.empty()) return kSuccess;
    if (registers.forbidden) return refuse(Code::kPermission, 0, registers.why);
    return {
        Code::kNoSupport, 0,
        "neither an energy zone below /sys/class/powercap nor a processor's registers below /dev/cpu: load a "
        "driver (modprobe intel_rapl_msr, Intel and AMD processors; or, for root, modprobe msr); a virtual "
        "machine has none"};
  }

  Status scan() {
    const rapl::Packages found = rapl::packages(host_);
    why_no_register_ = found.why;
    refusal_ = found.forbidden ? Code::kPermission : Code::kNoSupport;
    std::string place;  // the one whose parts follow it in the list
    bool has_zones = false;
    for (const EnergyZone& zone : sysfs::energy_zones(host_)) {
      if (zone.control != "intel-rapl") continue;
      has_zones = true;
      if (zone.path.size() == 1) place = place_of(zone);
      const PackageRegisters* const registers = registers_of(found.packages, place);
      add_energy(zone, place, registers);
      if (zone.path.size() != 1 || !zone.name.starts_with("package-")) continue;
      for (const Limit& limit : kLimits) add_limit(&zone, place, registers, limit);
    }
    if (has_zones) return kSuccess;
    for (const PackageRegisters& registers : found.packages) add_package(registers);
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

  // Null: they cannot be read. Registers are by package, and none by die.
  static const PackageRegisters* registers_of(const std::vector<PackageRegisters>& packages,
                                              const std::string& place) {
    for (const PackageRegisters& one : packages)
      if (place == "PACKAGE" + std::to_string(one.number)) return &one;
    return nullptr;
  }

  static sysfs::CatalogueEntry described(std::string name, const char* text, const char* unit,
                                         const std::string& place) {
    sysfs::CatalogueEntry entry;
    entry.name = std::move(name);
    entry.text = std::string(text) + " " + place;
    entry.unit = unit;
    entry.flags = kEventScopePackage;
    return entry;
  }

  static sysfs::CatalogueEntry energy_of(const Domain& domain, const std::string& place) {
    sysfs::CatalogueEntry entry =
        described(std::string(domain.event) + ":" + place, domain.text, "nJ", place);
    entry.kind = ValueKind::kCount;
    return entry;
  }

  void add_energy(const EnergyZone& zone, const std::string& place, const PackageRegisters* registers) {
    const std::string_view kind = std::string_view(zone.name).substr(0, zone.name.find('-'));
    for (const Domain& domain : kDomains) {
      if (kind != domain.zone) continue;
      sysfs::NumberSource source;
      source.path = zone.folder + "/energy_uj";
      source.times = 1000;
      source.permission = sysfs::kEnergyIsForRoot;
      if (zone.range_uj > 0) {
        source.wrap = sysfs::Wrap::kRange;
        source.range = static_cast<uint64_t>(zone.range_uj) * 1000;
      }
      add(energy_of(domain, place), std::move(source));
      add_counts(domain, place, registers);
    }
  }

  // The register's own counts, as PAPI has them beside each energy.
  void add_counts(const Domain& domain, const std::string& place, const PackageRegisters* registers) {
    sysfs::CatalogueEntry entry =
        described(std::string(domain.event) + "_CNT:" + place, domain.text, "", place);
    entry.text += ", in counts of its register";
    entry.kind = ValueKind::kCount;
    add_register(std::move(entry), registers, {RegisterValue::kCounts, domain.intel});
  }

  void add_limit(const EnergyZone* zone, const std::string& place, const PackageRegisters* registers,
                 const Limit& limit) {
    sysfs::CatalogueEntry entry =
        described(std::string(limit.event) + ":" + place, limit.text, limit.unit, place);
    if (zone != nullptr && limit.file != nullptr) {
      sysfs::NumberSource source;
      source.path = zone->folder + "/" + limit.file;
      source.unit = 1e-6;
      if (int64_t there = 0; sysfs::read_integer(source.path, &there))
        return add(std::move(entry), std::move(source));
    }
    entry.type = ValueType::kDouble;
    add_register(std::move(entry), registers, {limit.what, Register::kIntelPackageLimits});
  }

  // All of a package that no zone shows. A register that its processor lacks is no event.
  void add_package(const PackageRegisters& registers) {
    const std::string place = "PACKAGE" + std::to_string(registers.number);
    for (const Domain& domain : kDomains) {
      if (domain.zone == "psys" && registers.number != 0) continue;
      const RegisterValue::Kind kind{RegisterValue::kEnergy, rapl::register_of(registers, domain.intel)};
      if (!RegisterValue::why_not(host_, registers, kind).empty()) continue;
      add_register(energy_of(domain, place), &registers, kind);
      add_counts(domain, place, &registers);
    }
    for (const Limit& limit : kLimits) add_limit(nullptr, place, &registers, limit);
  }

  void add_register(sysfs::CatalogueEntry entry, const PackageRegisters* registers,
                    RegisterValue::Kind kind) {
    if (registers != nullptr) kind.where = rapl::register_of(*registers, kind.where);
    const std::string why =
        registers == nullptr ? why_no_register_ : RegisterValue::why_not(host_, *registers, kind);
    if (!why.empty()) {
      entry.refusal = registers == nullptr ? refusal_ : Code::kNoSupport;
      return add_unavailable(std::move(entry), why);
    }
    add_other(std::move(entry), [this, package = *registers, kind](RegisterValue& of) {
      return of.open(host_, package, kind);
    });
  }

  std::string why_no_register_;
  Code refusal_ = Code::kNoSupport;
};

constexpr SubstrateTable kTable = sysfs::NumberSlots<Packages, sysfs::FilesAnd<RegisterValue>>::table({
    .name = "rapl",
    .summary =
        "Energy of processor packages under the names of PAPI's rapl, from /sys/class/powercap or registers",
    .event_names = "*_ENERGY:PACKAGE*,*_ENERGY_CNT:PACKAGE*,THERMAL_SPEC:PACKAGE*,M??IMUM_*:PACKAGE*",
});

}  // namespace

SUBSTRATA_PUBLISH(rapl, kTable);
