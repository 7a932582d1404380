// AMD's library libamd_smi, loaded at run time: the functions that give a number without a structure of the library's,
// since those change between releases.
#pragma once

#include <substrata/substrate.h>

#include <memory>
#include <string>

#include "sysfs/amd_gpus.hpp"

namespace substrata::amd_smi {

enum What : int { kEnergy, kTemperature };  // the argument of kTemperature is the sensor

// Null with the reason.
std::unique_ptr<sysfs::AmdLibrary> begin(const Host& host, std::string* why);

}  // namespace substrata::amd_smi
