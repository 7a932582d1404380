// Model-specific registers of a processor, as the kernel's driver msr gives them.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {

// What RAPL has (Intel's manual, volume 4; AMD's processor programming references).
enum class Register : uint32_t {
  kIntelUnits = 0x606,
  kIntelPackageEnergy = 0x611,
  kIntelPackageLimits = 0x614,
  kIntelMemoryEnergy = 0x619,
  kIntelCoreEnergy = 0x639,
  kIntelUncoreEnergy = 0x641,
  kIntelMachineEnergy = 0x64D,
  kAmdUnits = 0xC0010299,
  kAmdPackageEnergy = 0xC001029B,
};

// Those that a recorded machine keeps: all of the above.
inline constexpr Register kRecordedRegisters[] = {
    Register::kIntelUnits,         Register::kIntelPackageEnergy, Register::kIntelPackageLimits,
    Register::kIntelMemoryEnergy,  Register::kIntelCoreEnergy,    Register::kIntelUncoreEnergy,
    Register::kIntelMachineEnergy, Register::kAmdUnits,           Register::kAmdPackageEnergy};

// One of a recorded text. 0, or errno: EIO where it has no line, EINVAL where that has no number. Signal-safe.
int register_in(std::string_view text, Register which, uint64_t* value) noexcept;

// The registers of one processor. On a machine /dev/cpu/<n>/msr_safe or msr, on a recorded one a text in its place
// with a line "0x611 0x1f2" for each. Thread-compatible.
class Registers {
 public:
  // 0, or errno. `root` is what paths are below.
  int open(const std::string& root, int64_t processor);
  // 0, or errno: EIO where the processor, or its hypervisor, has no such register. Signal-safe on a machine.
  int read(Register which, uint64_t* value) const noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  KeptFile file_;
  bool recorded_ = false;
};

}  // namespace substrata::sysfs
