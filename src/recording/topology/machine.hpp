// A machine's parts: packages, memory nodes, caches, cores, logical processors, devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording/placement.hpp"

namespace substrata::topology {

enum class Kind : std::uint8_t { kMachine, kPackage, kMemory, kGroup, kCache, kCore, kProcessor, kDevice };

struct Object {
  Kind kind = Kind::kMachine;
  std::string name;   // "package 0", "L3", "core 2", "processor 5", "eth0"
  std::string about;  // "AMD EPYC", "32 MiB", "network"
  int number = -1;    // the system's, where it has one
  std::uint64_t bytes = 0;
  unsigned vendor = 0;          // of a device on PCI
  std::string address;          // of a device on PCI: "0000:01:00.0"
  std::vector<int> processors;  // the system's numbers, rising
  std::vector<std::string> sensors;
  std::vector<Object> parts;
};

struct Machine {
  Object root;
  // By number of the processor.
  std::vector<recording::ProcessorPlace> processors;
};

enum class Devices : std::uint8_t { kWith, kWithout };

// `input`: empty for this machine, else a file of hwloc's XML or a synthetic description ("package:2 core:4
// pu:2"). Cores, packages and memory nodes are numbered from 0 in hwloc's order. Throws std::runtime_error.
Machine load(const std::string& input, Devices devices = Devices::kWith);

// "32 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace substrata::topology
