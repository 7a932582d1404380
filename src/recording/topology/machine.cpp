// Asks hwloc, and copies what it has into the tree.
#include "recording/topology/machine.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace substrata::topology {
namespace {

struct Unload {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

std::string text_of(hwloc_obj_t object, const char* key) {
  const char* text = hwloc_obj_get_info_by_name(object, key);
  return text != nullptr ? text : "";
}

std::vector<int> processors_of(hwloc_const_bitmap_t set) {
  std::vector<int> out;
  if (set != nullptr)
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) out.push_back(i);
  return out;
}

std::string address_of(hwloc_obj_t pci) {
  char text[40];
  const auto& at = pci->attr->pcidev;
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%01x", static_cast<unsigned>(at.domain), at.bus, at.dev,
                at.func);
  return text;
}

const char* class_of(hwloc_obj_t pci) {
  switch (pci->attr->pcidev.class_id >> 8) {
    case 0x01:
      return "storage";
    case 0x02:
      return "network";
    case 0x03:
      return "GPU";
    case 0x0b:
    case 0x12:
      return "accelerator";
    default:
      return "device";
  }
}

const char* class_of_system_device(hwloc_obj_t device) {
  switch (device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_BLOCK:
      return "storage";
    case HWLOC_OBJ_OSDEV_GPU:
      return "GPU";
    case HWLOC_OBJ_OSDEV_NETWORK:
      return "network";
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return "fabric";
    case HWLOC_OBJ_OSDEV_COPROC:
      return "accelerator";
    default:
      return "device";
  }
}

// What the system calls the device, all names: "ib0 mlx5_0".
std::string names_below(hwloc_obj_t object) {
  std::string out;
  for (hwloc_obj_t one = object->io_first_child; one != nullptr; one = one->next_sibling)
    if (one->type == HWLOC_OBJ_OS_DEVICE && one->name != nullptr)
      out += (out.empty() ? "" : " ") + std::string(one->name);
  return out;
}

void add_devices(hwloc_obj_t parent, std::vector<Object>* out) {
  for (hwloc_obj_t one = parent->io_first_child; one != nullptr; one = one->next_sibling) {
    if (one->type == HWLOC_OBJ_PCI_DEVICE) {
      Object device;
      device.kind = Kind::kDevice;
      device.vendor = one->attr->pcidev.vendor_id;
      device.address = address_of(one);
      device.name = names_below(one);
      device.about = class_of(one);
      if (device.name.empty()) device.name = "PCI " + device.address;
      if (const std::string vendor = text_of(one, "PCIVendor"), model = text_of(one, "PCIDevice");
          !vendor.empty() || !model.empty())
        device.about += ", " + vendor + (vendor.empty() || model.empty() ? "" : " ") + model;
      out->push_back(std::move(device));
    } else if (one->type == HWLOC_OBJ_OS_DEVICE) {
      Object device;
      device.kind = Kind::kDevice;
      device.name = one->name != nullptr ? one->name : "device";
      device.about = class_of_system_device(one);
      out->push_back(std::move(device));
    }
    if (one->type == HWLOC_OBJ_BRIDGE) add_devices(one, out);
  }
}

std::string kind_of_core(hwloc_topology_t topology, hwloc_obj_t core) {
  const int kinds = hwloc_cpukinds_get_nr(topology, 0);
  if (kinds < 2) return {};
  const int kind = hwloc_cpukinds_get_by_cpuset(topology, core->cpuset, 0);
  if (kind < 0) return {};
  if (kinds > 2) return "kind " + std::to_string(kind + 1) + " of " + std::to_string(kinds);
  return kind == 1 ? "performance core" : "efficiency core";
}

bool is_cache(hwloc_obj_t object) { return hwloc_obj_type_is_cache(object->type) != 0; }

Object copy_of(hwloc_topology_t topology, hwloc_obj_t from);

void add_parts(hwloc_topology_t topology, hwloc_obj_t from, Object* to) {
  for (hwloc_obj_t one = from->memory_first_child; one != nullptr; one = one->next_sibling) {
    hwloc_obj_t node = one;  // memory-side caches stand before theirs
    while (node != nullptr && node->type != HWLOC_OBJ_NUMANODE) node = node->memory_first_child;
    if (node != nullptr) to->parts.push_back(copy_of(topology, node));
  }
  for (hwloc_obj_t one = from->first_child; one != nullptr; one = one->next_sibling)
    to->parts.push_back(copy_of(topology, one));
  add_devices(from, &to->parts);
}

Object copy_of(hwloc_topology_t topology, hwloc_obj_t from) {
  Object out;
  const std::string logical = std::to_string(from->logical_index);
  out.number = from->os_index == HWLOC_UNKNOWN_INDEX ? -1 : static_cast<int>(from->os_index);
  out.processors = processors_of(from->cpuset);
  if (from->type == HWLOC_OBJ_MACHINE) {
    out.kind = Kind::kMachine;
    out.name = "machine";
    out.bytes = from->total_memory;
    out.about = text_of(from, "DMIProductName");
  } else if (from->type == HWLOC_OBJ_PACKAGE) {
    out.kind = Kind::kPackage;
    out.name = "package " + logical;
    out.about = text_of(from, "CPUModel");
    out.about.erase(out.about.find_last_not_of(' ') + 1);  // CPUID fills it up with blanks
  } else if (from->type == HWLOC_OBJ_NUMANODE) {
    out.kind = Kind::kMemory;
    out.name = "memory " + logical;
    out.bytes = from->attr->numanode.local_memory;
  } else if (is_cache(from)) {
    out.kind = Kind::kCache;
    out.name = "L" + std::to_string(from->attr->cache.depth) +
               (from->attr->cache.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "i"
                : from->attr->cache.depth == 1                        ? "d"
                                                                      : "");
    out.bytes = from->attr->cache.size;
  } else if (from->type == HWLOC_OBJ_CORE) {
    out.kind = Kind::kCore;
    out.name = "core " + logical;
    out.about = kind_of_core(topology, from);
  } else if (from->type == HWLOC_OBJ_PU) {
    out.kind = Kind::kProcessor;
    out.name = "processor " + std::to_string(out.number);
  } else {
    out.kind = Kind::kGroup;
    char type[64] = "";
    hwloc_obj_type_snprintf(type, sizeof type, from, 0);
    out.name = std::string(type) + " " + logical;
  }
  if (out.bytes != 0) out.about = size_text(out.bytes) + (out.about.empty() ? "" : ", " + out.about);
  add_parts(topology, from, &out);
  return out;
}

int index_above(hwloc_topology_t topology, hwloc_obj_t processor, hwloc_obj_type_t type, int otherwise) {
  const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, processor);
  return above != nullptr ? static_cast<int>(above->logical_index) : otherwise;
}

int node_of(hwloc_topology_t topology, hwloc_obj_t processor) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr)
    if (hwloc_bitmap_isincluded(processor->cpuset, node->cpuset) != 0)
      return static_cast<int>(node->logical_index);
  return 0;
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  char text[40];
  std::snprintf(text, sizeof text,
                size == static_cast<double>(static_cast<long>(size)) ? "%.0f %s" : "%.1f %s", size,
                kUnits[unit]);
  return text;
}

Machine load(const std::string& input, Devices devices) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw std::runtime_error("hwloc does not start");
  const std::unique_ptr<hwloc_topology, Unload> topology(raw);
  std::error_code ignored;
  if (!input.empty()) {
    const bool file = std::filesystem::exists(input, ignored);
    if ((file ? hwloc_topology_set_xml(raw, input.c_str())
              : hwloc_topology_set_synthetic(raw, input.c_str())) != 0)
      throw std::runtime_error("'" + input + "' is neither a file of hwloc's XML nor a synthetic topology " +
                               "such as \"package:2 core:4 pu:2\"");
  }
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020100
  // libpciaccess, which this one asks, keeps memory for good; the component for Linux finds the same devices.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
#endif
  if (devices == Devices::kWith) hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0)
    throw std::runtime_error("hwloc cannot read the topology" + (input.empty() ? "" : " of '" + input + "'"));

  Machine out;
  out.root = copy_of(raw, hwloc_get_root_obj(raw));
  hwloc_obj_t processor = nullptr;
  while ((processor = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, processor)) != nullptr) {
    const int kind =
        hwloc_cpukinds_get_nr(raw, 0) > 1 ? hwloc_cpukinds_get_by_cpuset(raw, processor->cpuset, 0) : 0;
    out.processors.push_back(
        {static_cast<int>(processor->os_index),
         index_above(raw, processor, HWLOC_OBJ_CORE, static_cast<int>(processor->logical_index)),
         index_above(raw, processor, HWLOC_OBJ_PACKAGE, 0), node_of(raw, processor), std::max(0, kind)});
  }
  std::sort(out.processors.begin(), out.processors.end(),
            [](const auto& a, const auto& b) { return a.processor < b.processor; });
  return out;
}

}  // namespace substrata::topology
