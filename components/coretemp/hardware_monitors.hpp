// Finds the sensors below /sys/class/hwmon and /sys/class/thermal and gives each a name that stays the same
// when the kernel renumbers its chips.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::coretemp {

// One number that a monitoring chip or thermal zone shows.
struct Channel {
  std::string name;  // "coretemp-isa-0000:Package_id_0", "...:max" for a limit
  std::vector<std::string> aliases;
  std::string text;
  std::string unit;
  std::string path;        // of the number
  std::string fault_path;  // "" or a file that holds 1 while the sensor is broken
  int package = -1;        // processor package it belongs to, -1 unknown
  int core = -1;           // core_id within the package, -1 none
  std::string processors;  // logical processors of that core or package, "0,4", "" unknown
  bool is_count = false;   // an energy meter grows
};

// The name libsensors gives a chip ("coretemp-isa-0000", "nvme-pci-0100", "lm75-i2c-0-48"), from the chip's
// own name and the place of its device on its bus. `folder` is the chip's folder below /sys/class/hwmon.
std::string chip_name(const std::string& folder, const std::string& own_name);

// Every channel on the machine, chips in the order of their stable names. May allocate; throws bad_alloc
// only.
std::vector<Channel> find_channels(const Host& host);

}  // namespace substrata::coretemp
