// What /proc/cpuinfo says of an Arm processor, in the fields that PAPI gives it in.
#pragma once

#include <string_view>

#include "core/system/system_info.hpp"

namespace substrata {

// Fills vendor, family (the architecture), model, stepping and names by the first processor's lines; changes nothing
// where they are not of an Arm processor. Allocates.
void add_arm_processor(std::string_view cpuinfo, HardwareInfo* info);

}  // namespace substrata
