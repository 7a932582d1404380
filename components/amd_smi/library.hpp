// AMD's library libamd_smi, loaded at run time. Declared here are functions that give plain numbers, and of its
// structures those whose fields have had the same places in every public header since ROCm 6.1 (amdsmi.h of 6.1.0 to
// 6.2.2 and of 2026); they are handed out with space behind them, for later releases have made some longer. The
// structure of power has changed its places and is not used.
#pragma once

#include <substrata/substrate.h>

#include <memory>
#include <string>

#include "sysfs/amd_gpus.hpp"

namespace substrata::amd_smi {

// What is asked for; the argument is what the comment says.
enum What : int {
  kEnergy,         // none
  kEnergyTime,     // none
  kTemperature,    // sensor
  kUsage,          // Usage
  kPowerCap,       // PowerCap
  kMemoryTotal,    // MemoryType
  kMemoryUsage,    // MemoryType
  kVram,           // 0 total, 1 used
  kErrors,         // Errors
  kClock,          // clock type * 4 + ClockField
  kActivity,       // 0 graphics, 1 memory, 2 decoder
  kPciExpress,     // PciExpressField
  kFan,            // 0 RPM, 1 speed, 2 highest speed
  kReplays,        // none
  kOverdrive,      // 0 clock, 1 memory clock
  kPerfLevel,      // none
  kXgmiErrors,     // none
  kEccBlocks,      // none
  kIdentity,       // Identity
  kNumaNode,       // 0 by the bus, 1 by the topology
  kReservedPages,  // none
};
enum Usage : int { kGraphics, kMemory, kMedia };
enum PowerCap : int { kCap, kUsualCap, kClockOfCap, kLeastCap, kMostCap };
enum MemoryType : int { kDeviceMemory, kVisibleMemory, kMappedMemory };
enum Errors : int { kCorrectable, kUncorrectable, kDeferred };
enum ClockField : int { kNow, kLeast, kMost };
inline constexpr int kSystemClock = 0, kMemoryClock = 4;  // AMDSMI_CLK_TYPE_SYS, _MEM
enum PciExpressField : int {
  kMostLanes,
  kMostSpeed,
  kVersion,
  kSlot,
  kLanes,
  kSpeed,
  kBandwidth,
  kReplayCount,
  kRecoveries,
  kRollovers,
  kNaksSent,
  kNaksReceived,
};
enum Identity : int { kDeviceId, kRevision, kSubsystem, kPlace };

// Null with the reason.
std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why);

}  // namespace substrata::amd_smi
