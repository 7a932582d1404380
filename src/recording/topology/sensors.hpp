// Events of sensors, placed on the parts that they measure.
#pragma once

#include <string>
#include <vector>

#include "recording/topology/machine.hpp"

namespace substrata::topology {

// An event as the library lists it: its name and its text, which says what of the processor it measures
// ("..., package 0, core 2, ...") or names the chip ("nvme-pci-0100").
struct Sensor {
  std::string event;
  std::string text;
};

// Puts each where it belongs: packages and cores by the system's numbers, devices by their place on PCI or their
// name; what measures none of them belongs to the machine.
void place_sensors(const std::vector<Sensor>& sensors, Machine* machine);

}  // namespace substrata::topology
