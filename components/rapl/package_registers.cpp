// Finds a processor of each package and reads its registers.
#include "rapl/package_registers.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::rapl {
namespace {

using sysfs::Register;
using sysfs::Registers;

struct Processor {
  std::string vendor;
  int64_t family = 0, model = 0;
};

Processor processor_of(const Host& host) {
  std::string text;
  Processor processor;
  if (!sysfs::read_text(sysfs::below_root(host, "/proc/cpuinfo"), &text)) return processor;
  text.resize(std::min(text.size(), size_t{4096}));
  processor.vendor = value_of_key(text, "vendor_id");
  parse_integer(value_of_key(text, "cpu family"), &processor.family);
  parse_integer(value_of_key(text, "model"), &processor.model);
  return processor;
}

template <size_t count>
bool is_one_of(int64_t model, const int64_t (&models)[count]) {
  return std::find(std::begin(models), std::end(models), model) != std::end(models);
}

// Servers whose memory counts in 2^-16 J whatever the register of units says, and those whose whole-machine energy
// counts in J (Linux: arch/x86/events/rapl.c).
constexpr int64_t kMemoryInItsOwnUnit[] = {63, 79, 85, 87, 106, 108, 133, 143, 207};
constexpr int64_t kMachineInJoules[] = {143, 207};

void take_units(const Processor& processor, uint64_t units, PackageRegisters* package) {
  const auto bits = [&](unsigned low, unsigned width) {
    return static_cast<uint32_t>(units >> low & ((1u << width) - 1));
  };
  package->power_bits = bits(0, 4);
  package->energy_bits = package->memory_bits = package->machine_bits = bits(8, 5);
  package->time_bits = bits(16, 4);
  if (package->amd || processor.family != 6) return;
  if (is_one_of(processor.model, kMemoryInItsOwnUnit)) package->memory_bits = 16;
  if (is_one_of(processor.model, kMachineInJoules)) package->machine_bits = 0;
}

// False where the processor has no such register.
bool look_at(const Host& host, const Processor& processor, PackageRegisters* package) {
  Registers registers;
  uint64_t units = 0;
  if (registers.open(sysfs::below_root(host, ""), package->processor) != 0) return false;
  if (registers.read(package->amd ? Register::kAmdUnits : Register::kIntelUnits, &units) != 0) return false;
  if (units == 0) return false;  // what some hypervisors answer
  take_units(processor, units, package);
  return true;
}

// Whether the driver gives anyone's registers to this user; the reason in `found`.
bool may_read(const Host& host, Packages* found) {
  int64_t first = 0;
  for (const std::string& name : sysfs::list_folder(sysfs::below_root(host, "/dev/cpu")))
    if (parse_integer(name, &first)) break;
  Registers registers;
  const int error = registers.open(sysfs::below_root(host, ""), first);
  if (error == 0) return true;
  found->forbidden = error == EACCES || error == EPERM;
  found->why = found->forbidden
                   ? registers.path() +
                         ", which alone has it, may be read by root with CAP_SYS_RAWIO only: run as root, or "
                         "let the administrator set up msr-safe"
                   : std::string(
                         "only the processor's registers have it: load their driver (modprobe msr), "
                         "and run as root with CAP_SYS_RAWIO");
  return false;
}

constexpr uint64_t kLow15 = 0x7fff;

}  // namespace

Packages packages(const Host& host) {
  Packages found;
  if (!may_read(host, &found)) return found;
  found.why = "the processor, or its hypervisor, does not give its energy registers";
  const Processor processor = processor_of(host);
  const bool amd = processor.vendor == "AuthenticAMD" || processor.vendor == "HygonGenuine";
  if (!amd && processor.vendor != "GenuineIntel") return found;
  const std::string folder = sysfs::below_root(host, "/sys/devices/system/cpu");
  std::vector<PackageRegisters>& all = found.packages;
  for (const std::string& name : sysfs::list_folder(folder)) {
    PackageRegisters one;
    one.amd = amd;
    if (!name.starts_with("cpu") || !parse_integer(name.substr(3), &one.processor)) continue;
    // An offline processor has no topology.
    if (!sysfs::read_integer(folder + "/" + name + "/topology/physical_package_id", &one.number)) continue;
    const auto is_it = [&](const PackageRegisters& known) { return known.number == one.number; };
    if (std::none_of(all.begin(), all.end(), is_it) && look_at(host, processor, &one)) all.push_back(one);
  }
  std::sort(all.begin(), all.end(), [](const PackageRegisters& left, const PackageRegisters& right) {
    return left.number < right.number;
  });
  return found;
}

Register register_of(const PackageRegisters& package, Register intel) noexcept {
  return package.amd && intel == Register::kIntelPackageEnergy ? Register::kAmdPackageEnergy : intel;
}

std::string RegisterValue::why_not(const Host& host, const PackageRegisters& package, Kind kind) {
  if (package.amd && kind.where != Register::kAmdPackageEnergy)
    return "AMD's processors have no register of it";
  Registers registers;
  uint64_t value = 0;
  int error = registers.open(sysfs::below_root(host, ""), package.processor);
  if (error == 0) error = registers.read(kind.where, &value);
  // A register that has never counted, or states nothing, belongs to a domain that this processor lacks.
  if (error == 0 && value != 0) return "";
  return error == 0 || error == EIO ? std::string("the processor, or its hypervisor, has no register of it")
                                    : registers.path() + " cannot be read: " + std::strerror(error);
}

Status RegisterValue::open(const Host& host, const PackageRegisters& package, Kind kind) {
  kind_ = kind;
  switch (kind.where) {
    case Register::kIntelMemoryEnergy:
      bits_ = package.memory_bits;
      break;
    case Register::kIntelMachineEnergy:
      bits_ = package.machine_bits;
      break;
    case Register::kIntelPackageLimits:
      bits_ = kind.what == kLongestWindow ? package.time_bits : package.power_bits;
      break;
    default:
      bits_ = package.energy_bits;
  }
  const int error = registers_.open(sysfs::below_root(host, ""), package.processor);
  if (error == 0) return kSuccess;
  return refuse_system(error, "%s cannot be opened: %s", registers_.path().c_str(), std::strerror(error));
}

Status RegisterValue::read(const char* name, int64_t* value) noexcept {
  uint64_t now = 0;
  if (const int error = registers_.read(kind_.where, &now); error != 0)
    return refuse_system(error, "%s cannot be read: %s", name, std::strerror(error));
  const auto in_units = [&](uint64_t number) {
    return std::bit_cast<int64_t>(std::ldexp(static_cast<double>(number), -static_cast<int>(bits_)));
  };
  switch (kind_.what) {
    case kDesignPower:
      *value = in_units(now & kLow15);
      return kSuccess;
    case kLowestLimit:
      *value = in_units(now >> 16 & kLow15);
      return kSuccess;
    case kHighestLimit:
      *value = in_units(now >> 32 & kLow15);
      return kSuccess;
    case kLongestWindow:
      *value = in_units(now >> 48 & 0x3f);
      return kSuccess;
    case kEnergy:
    case kCounts:
      break;
  }
  const auto count = static_cast<uint32_t>(now);
  if (looked_) counts_ += static_cast<uint32_t>(count - last_);  // across the wrap
  looked_ = true;
  last_ = count;
  if (kind_.what == kCounts) {
    *value = static_cast<int64_t>(counts_);
    return kSuccess;
  }
  constexpr uint64_t kNanojoules = 1'000'000'000;
  const uint64_t whole = counts_ >> bits_, rest = counts_ & ((uint64_t{1} << bits_) - 1);
  *value = static_cast<int64_t>(whole * kNanojoules + (rest * kNanojoules >> bits_));
  return kSuccess;
}

Status RegisterValue::fell(const char* name) const noexcept {
  return refuse(Code::kBug, "%s went backwards", name);
}

}  // namespace substrata::rapl
