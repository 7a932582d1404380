// The energy and limits that a processor package keeps in its registers, for root.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sysfs/registers.hpp"

namespace substrata::rapl {

// A package, and one of its processors, whose registers are the package's.
struct PackageRegisters {
  int64_t number = 0;     // physical_package_id, which may have gaps
  int64_t processor = 0;  // the first that is online
  bool amd = false;
  // 2^-bits of a W, J and s. The memory's and the whole machine's energy have units of their own on some processors.
  uint32_t power_bits = 0, energy_bits = 0, memory_bits = 0, machine_bits = 0, time_bits = 0;
};

// What a machine has of them; without a package the reason.
struct Packages {
  std::vector<PackageRegisters> packages;  // in the order of their numbers
  std::string why;
  bool forbidden = false;  // it is a permission
};

// Looks for processors only where the driver of their registers is. Allocates.
Packages packages(const Host& host);

// The register of this package that Intel has at `intel`; that one where AMD has none.
sysfs::Register register_of(const PackageRegisters& package, sysfs::Register intel) noexcept;

// One number of them in an eventset. See sysfs::FilesAnd.
class RegisterValue {
 public:
  enum What : uint8_t { kEnergy, kCounts, kDesignPower, kLowestLimit, kHighestLimit, kLongestWindow };
  struct Kind {
    What what = kEnergy;
    sysfs::Register where = sysfs::Register::kIntelUnits;
  };

  // "": it is there, else why not. Allocates.
  static std::string why_not(const Host& host, const PackageRegisters& package, Kind kind);

  Status open(const Host& host, const PackageRegisters& package, Kind kind);
  // Energy in nJ and counts go on from the first call, across the wrap of the register at 2^32; limits are doubles.
  Status read(const char* name, int64_t* value) noexcept;
  Status fell(const char* name) const noexcept;

 private:
  sysfs::Registers registers_;
  Kind kind_;
  uint32_t bits_ = 0;
  bool looked_ = false;
  uint32_t last_ = 0;
  uint64_t counts_ = 0;
};

}  // namespace substrata::rapl
