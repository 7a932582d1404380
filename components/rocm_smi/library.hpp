// AMD's library librocm_smi64, loaded at run time: the functions that give a number without a structure of the library's,
// since those change between releases.
#pragma once

#include <substrata/substrate.h>

#include <memory>
#include <string>

#include "sysfs/amd_gpus.hpp"

namespace substrata::rocm_smi {

enum What : int { kEnergy, kTemperature };
// The argument of kTemperature: the sensor in the low byte, what of it above.
constexpr int64_t temperature_of(int sensor, int metric) { return sensor | (metric << 8); }
inline constexpr int kCurrent = 0;
inline constexpr int kHighest = 1;

// Null with the reason.
std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why);

}  // namespace substrata::rocm_smi
