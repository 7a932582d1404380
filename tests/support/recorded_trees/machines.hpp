// Two machines' sensors as the kernel lays them out: a desktop, and a server with two packages.
#pragma once

#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace substrata::testing {

// Which number the kernel gave each chip at this boot.
struct ChipNumbers {
  int coretemp = 0, nvme = 1, board = 2;
};

// The folder of a chip and the link below /sys/class/hwmon; `device` has the bus `bus`.
inline std::string record_chip(RecordedTree& tree, const std::string& device, const std::string& bus,
                               int number, const std::string& name) {
  const std::string folder = device + "/hwmon/hwmon" + std::to_string(number);
  tree.write(folder + "/name", name + "\n");
  tree.link(folder + "/device", device);
  if (!bus.empty()) tree.link(device + "/subsystem", "/sys/bus/" + bus);
  tree.link("/sys/class/hwmon/hwmon" + std::to_string(number), folder);
  return folder;
}

// Where a core's temperature stands, number of the chip's folder left out: tests write through a second link.
inline std::string core_path(int package, int core) {
  return "/chips/coretemp." + std::to_string(package) + "/temp" + std::to_string(core + 2);
}
inline std::string board_path() { return "/chips/board"; }

// A coretemp chip of one package with two cores.
inline void record_coretemp(RecordedTree& tree, int package, int number, int64_t first_core_mdegc) {
  const std::string device = "/sys/devices/platform/coretemp." + std::to_string(package);
  const std::string folder = record_chip(tree, device, "platform", number, "coretemp");
  tree.link("/chips/coretemp." + std::to_string(package), folder);
  tree.write(folder + "/temp1_label", "Package id " + std::to_string(package) + "\n");
  tree.write(folder + "/temp1_input", first_core_mdegc + 3000);
  for (int core = 0; core < 2; ++core) {
    const std::string stem = folder + "/temp" + std::to_string(core + 2);
    tree.write(stem + "_label", "Core " + std::to_string(core) + "\n");
    tree.write(stem + "_input", first_core_mdegc + 2000 * core);
  }
  for (int sensor = 1; sensor <= 3; ++sensor) {
    const std::string stem = folder + "/temp" + std::to_string(sensor);
    tree.write(stem + "_max", 80000);
    tree.write(stem + "_crit", 100000);
    tree.write(stem + "_crit_alarm", 0);
  }
}

inline void record_processor(RecordedTree& tree, int number, int package, int core) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
  tree.write(folder + "physical_package_id", package);
  tree.write(folder + "core_id", core);
}

// One package of two cores with two threads each, an NVMe disk, a board chip and two thermal zones.
inline void record_desktop(RecordedTree& tree, const ChipNumbers& numbers) {
  for (int processor = 0; processor < 4; ++processor) record_processor(tree, processor, 0, processor % 2);
  record_coretemp(tree, 0, numbers.coretemp, 45000);

  const std::string disk = "/sys/devices/pci0000:00/0000:01:00.0";
  tree.link(disk + "/subsystem", "/sys/bus/pci");
  const std::string nvme = record_chip(tree, disk + "/nvme/nvme0", "", numbers.nvme, "nvme");
  tree.link(disk + "/nvme/nvme0/subsystem", "/sys/class/nvme");
  tree.write(nvme + "/temp1_label", "Composite\n");
  tree.write(nvme + "/temp1_input", 38850);
  tree.write(nvme + "/temp1_max", 81850);

  const std::string board =
      record_chip(tree, "/sys/devices/platform/nct6775.656", "platform", numbers.board, "nct6775");
  tree.link("/chips/board", board);
  tree.write(board + "/fan1_input", 1205);
  tree.write(board + "/in0_input", 904);
  tree.write(board + "/temp1_label", "SYSTIN\n");
  tree.write(board + "/temp1_input", 31000);
  tree.write(board + "/temp2_label", "AUXTIN\n");
  tree.write(board + "/temp2_input", 33000);
  tree.write(board + "/temp2_fault", 0);

  const auto zone = [&](int number, const std::string& type, int64_t temperature) {
    const std::string folder = "/sys/devices/virtual/thermal/thermal_zone" + std::to_string(number);
    tree.write(folder + "/type", type + "\n");
    tree.write(folder + "/temp", temperature);
    tree.link("/sys/class/thermal/thermal_zone" + std::to_string(number), folder);
    return folder;
  };
  zone(0, "x86_pkg_temp", 48000);
  const std::string acpi = zone(1, "acpitz", 27800);
  tree.write(acpi + "/trip_point_0_type", "critical\n");
  tree.write(acpi + "/trip_point_0_temp", 119000);
  tree.link("/sys/class/thermal/cooling_device0", "/sys/devices/virtual/thermal/cooling_device0");
}

// Two packages, two chips of one kind on one I2C bus, and two chips that only their devices distinguish.
inline void record_two_packages(RecordedTree& tree) {
  for (int processor = 0; processor < 4; ++processor)
    record_processor(tree, processor, processor % 2, processor / 2);
  record_coretemp(tree, 0, 4, 40000);
  record_coretemp(tree, 1, 0, 50000);
  for (int chip = 0; chip < 2; ++chip) {
    const std::string device = "/sys/devices/pci0000:00/i2c-0/0-004" + std::to_string(8 + chip);
    tree.write(record_chip(tree, device, "i2c", 1 + chip, "lm75") + "/temp1_input", 21000 + 1000 * chip);
  }
  for (int disk = 0; disk < 2; ++disk) {
    const std::string device = "/sys/devices/virtual/storage/disk" + std::to_string(disk);
    tree.write(record_chip(tree, device, "", 7 - disk, "drive") + "/temp1_input", 31000 + 1000 * disk);
  }
}

}  // namespace substrata::testing
