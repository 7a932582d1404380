// The zones of /sys/class/powercap: processor packages and their parts whose energy the kernel meters.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::sysfs {

// "intel-rapl:1:0" is zone 1, part 0 of control type intel-rapl.
struct EnergyZone {
  std::string folder;         // its path, root included
  std::string control;        // "intel-rapl"
  std::vector<int64_t> path;  // 1, 0
  std::string name;           // its own, "dram"
  std::string content;        // those of the zones around it and its own, "package-0/dram"
  int64_t range_uj = 0;       // where its energy starts again, 0: not known
};

// In the order of their numbers. Allocates.
std::vector<EnergyZone> energy_zones(const Host& host);

// What a machine without zones is answered.
inline constexpr const char* kNoEnergyZone =
    "no energy zone below /sys/class/powercap: load the driver (modprobe intel_rapl_msr, Intel and AMD "
    "processors); a virtual machine has none";
// Behind the path of an energy file that may not be read.
inline constexpr const char* kEnergyIsForRoot =
    " may be read by root only (Linux 5.10 and later, for CVE-2020-8694): run as root, or let the "
    "administrator "
    "chmod a+r that file";

}  // namespace substrata::sysfs
