// Devices of the machine: PAPI_enum_dev_type and the attributes of each kind and device.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/system/accelerators.hpp"
#include "core/system/system_info.hpp"
#include "papi/boundary.hpp"

namespace substrata::capi {
namespace {

// What a handle points to: the processors, or the GPUs of one maker.
struct DeviceKind {
  PAPI_dev_type_id_e id;
  int vendor;  // of GPUs, that of their PCI identity
  const char* name;
  std::vector<Accelerator> Accelerators::*gpus;   // null: the processors
  PAPI_dev_attr_e uid, device_name, first, last;  // the attributes of GPUs
};
const DeviceKind kKinds[] = {
    {PAPI_DEV_TYPE_ID__CPU, 0, nullptr, nullptr, {}, {}, {}, {}},
    {PAPI_DEV_TYPE_ID__CUDA, 0x10de, "NVIDIA", &Accelerators::nvidia, PAPI_DEV_ATTR__CUDA_ULONG_UID,
     PAPI_DEV_ATTR__CUDA_CHAR_DEVICE_NAME, PAPI_DEV_ATTR__CUDA_UINT_WARP_SIZE,
     PAPI_DEV_ATTR__CUDA_UINT_BLK_PER_SM},
    {PAPI_DEV_TYPE_ID__ROCM, 0x1002, "AMD/ATI", &Accelerators::amd, PAPI_DEV_ATTR__ROCM_ULONG_UID,
     PAPI_DEV_ATTR__ROCM_CHAR_DEVICE_NAME, PAPI_DEV_ATTR__ROCM_UINT_WAVEFRONT_SIZE,
     PAPI_DEV_ATTR__ROCM_UINT_COMP_CAP_MINOR},
};
static_assert(PAPI_DEV_ATTR__CUDA_UINT_BLK_PER_SM - PAPI_DEV_ATTR__CUDA_UINT_WARP_SIZE + 1 ==
              cuda::kAttributes);
static_assert(PAPI_DEV_ATTR__ROCM_UINT_COMP_CAP_MINOR - PAPI_DEV_ATTR__ROCM_UINT_WAVEFRONT_SIZE + 1 ==
              rocm::kAttributes);

// The devices of a kind that this machine has.
const std::vector<Accelerator>& gpus_of(const DeviceKind& kind) { return accelerators()->*kind.gpus; }

int count_of(const DeviceKind& kind) {
  if (kind.gpus != nullptr) return static_cast<int>(gpus_of(kind).size());
  return hardware_info() != nullptr ? 1 : 0;
}

// The kind that a handle of PAPI_enum_dev_type points to, else null.
const DeviceKind* kind_of(const void* handle) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [handle](const DeviceKind& kind) { return handle == &kind; });
  return found != std::end(kKinds) && count_of(*found) > 0 ? found : nullptr;
}

int gpu_value(const DeviceKind& kind, int id, PAPI_dev_attr_e attribute, void* out) {
  const std::vector<Accelerator>& gpus = gpus_of(kind);
  if (static_cast<size_t>(id) >= gpus.size())
    return answer(
        refuse(Code::kInvalid, "%s has %zu devices here, none is number %d", kind.name, gpus.size(), id));
  const Accelerator& gpu = gpus[static_cast<size_t>(id)];
  if (attribute == kind.uid) {
    *static_cast<unsigned long*>(out) = gpu.uid;
  } else if (attribute == kind.device_name) {
    *static_cast<const char**>(out) = gpu.name.c_str();
  } else if (attribute >= kind.first && attribute <= kind.last) {
    *static_cast<unsigned*>(out) = gpu.attributes[static_cast<size_t>(attribute - kind.first)];
  } else {
    return answer(refuse(Code::kInvalid, "attribute %d is not one of a GPU of %s",
                         static_cast<int>(attribute), kind.name));
  }
  return PAPI_OK;
}

// A size of the first cache of a level that holds what is asked for.
template <class Value>
int cache_value(const HardwareInfo& machine, size_t level, int type, Value CacheInfo::*field, unsigned* out) {
  if (level > machine.levels.size()) return answer(Code::kNoSupport);
  for (const CacheInfo& cache : machine.levels[level - 1].caches)
    if ((cache.type & type) == type) {
      *out = static_cast<unsigned>(cache.*field);
      return PAPI_OK;
    }
  return answer(refuse(Code::kNoSupport, "this machine does not report such a level %zu cache", level));
}

int processor_value(const HardwareInfo& machine, int socket, PAPI_dev_attr_e attribute, unsigned* out) {
  constexpr int kInstr = kMemoryInstruction, kData = kMemoryData, kUnified = kMemoryUnified;
  const auto put = [out](int64_t value) {
    *out = static_cast<unsigned>(value);
    return PAPI_OK;
  };
  switch (attribute) {
    case PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_SIZE:
      return cache_value(machine, 1, kInstr, &CacheInfo::size_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_SIZE:
      return cache_value(machine, 1, kData, &CacheInfo::size_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_SIZE:
      return cache_value(machine, 2, kUnified, &CacheInfo::size_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_SIZE:
      return cache_value(machine, 3, kUnified, &CacheInfo::size_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_LINE_SIZE:
      return cache_value(machine, 1, kInstr, &CacheInfo::line_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_LINE_SIZE:
      return cache_value(machine, 1, kData, &CacheInfo::line_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_LINE_SIZE:
      return cache_value(machine, 2, kUnified, &CacheInfo::line_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_LINE_SIZE:
      return cache_value(machine, 3, kUnified, &CacheInfo::line_bytes, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_LINE_COUNT:
      return cache_value(machine, 1, kInstr, &CacheInfo::lines, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_LINE_COUNT:
      return cache_value(machine, 1, kData, &CacheInfo::lines, out);
    case PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_LINE_COUNT:
      return cache_value(machine, 2, kUnified, &CacheInfo::lines, out);
    case PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_LINE_COUNT:
      return cache_value(machine, 3, kUnified, &CacheInfo::lines, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_ASSOC:
      return cache_value(machine, 1, kInstr, &CacheInfo::ways, out);
    case PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_ASSOC:
      return cache_value(machine, 1, kData, &CacheInfo::ways, out);
    case PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_ASSOC:
      return cache_value(machine, 2, kUnified, &CacheInfo::ways, out);
    case PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_ASSOC:
      return cache_value(machine, 3, kUnified, &CacheInfo::ways, out);
    case PAPI_DEV_ATTR__CPU_UINT_SOCKET_COUNT:
      return put(machine.sockets);
    case PAPI_DEV_ATTR__CPU_UINT_NUMA_COUNT:
      return put(machine.numa_nodes);
    case PAPI_DEV_ATTR__CPU_UINT_CORE_COUNT:
      return put(machine.cores_per_socket);
    case PAPI_DEV_ATTR__CPU_UINT_THREAD_COUNT:
      return put(int64_t{machine.threads_per_core} * machine.cores_per_socket * machine.sockets);  // of all
    case PAPI_DEV_ATTR__CPU_UINT_FAMILY:
      return put(machine.family);
    case PAPI_DEV_ATTR__CPU_UINT_MODEL:
      return put(machine.family_model);
    case PAPI_DEV_ATTR__CPU_UINT_STEPPING:
      return put(machine.stepping);
    default:
      break;
  }
  // The rest is asked of a NUMA node or a hardware thread, whose number is then the id.
  const size_t index = static_cast<size_t>(socket);
  switch (attribute) {
    case PAPI_DEV_ATTR__CPU_UINT_NUMA_MEM_SIZE:  // MiB, as PAPI gives it
      if (index >= machine.nodes.size()) return answer(Code::kInvalid);
      return put(static_cast<int64_t>(machine.nodes[index].memory_bytes >> 20));
    case PAPI_DEV_ATTR__CPU_UINT_THR_PER_NUMA:
      if (index >= machine.nodes.size()) return answer(Code::kInvalid);
      return put(machine.nodes[index].threads);
    case PAPI_DEV_ATTR__CPU_UINT_THR_NUMA_AFFINITY:
      if (index >= machine.node_of_cpu.size() || machine.node_of_cpu[index] < 0)
        return answer(Code::kInvalid);
      return put(machine.node_of_cpu[index]);
    default:
      return answer(
          refuse(Code::kInvalid, "attribute %d is not one of processors", static_cast<int>(attribute)));
  }
}

}  // namespace
}  // namespace substrata::capi

using namespace substrata;
using namespace substrata::capi;

// *handle: in, the kind before (none of ours, as PAPI's own program leaves it: none yet); out, the next kind, or null
// with PAPI_EINVAL at the end, which is no error that a verbose program should print.
CAPI int PAPI_enum_dev_type(int enum_modifier, void** handle) {
  return answered([&] {
    if (handle == nullptr) return answer(refuse(Code::kInvalid, "no place to put the handle"));
    const int wanted = enum_modifier == PAPI_DEV_TYPE_ENUM__FIRST ? PAPI_DEV_TYPE_ENUM__CPU : enum_modifier;
    const void* const before = std::exchange(*handle, nullptr);
    bool passed = std::none_of(std::begin(kKinds), std::end(kKinds),
                               [before](const DeviceKind& kind) { return before == &kind; });
    for (const DeviceKind& kind : kKinds) {
      if (passed && (wanted >> kind.id & 1) != 0 && count_of(kind) > 0) {
        *handle = const_cast<DeviceKind*>(&kind);
        return PAPI_OK;
      }
      passed = passed || before == &kind;
    }
    return PAPI_EINVAL;
  });
}

CAPI int PAPI_get_dev_type_attr(void* handle, PAPI_dev_type_attr_e attr, void* val) {
  return answered([&] {
    const DeviceKind* const kind = kind_of(handle);
    if (kind == nullptr || val == nullptr)
      return answer(refuse(Code::kInvalid, "a handle of PAPI_enum_dev_type and a place for the value"));
    const bool is_processor = kind->gpus == nullptr;
    switch (attr) {
      case PAPI_DEV_TYPE_ATTR__INT_PAPI_ID:
        *static_cast<int*>(val) = kind->id;
        return PAPI_OK;
      case PAPI_DEV_TYPE_ATTR__INT_VENDOR_ID:
        *static_cast<int*>(val) = is_processor ? hardware_info()->vendor : kind->vendor;
        return PAPI_OK;
      case PAPI_DEV_TYPE_ATTR__CHAR_NAME:
        *static_cast<const char**>(val) = is_processor ? hardware_info()->vendor_name.c_str() : kind->name;
        return PAPI_OK;
      case PAPI_DEV_TYPE_ATTR__INT_COUNT:
        *static_cast<int*>(val) = count_of(*kind);
        return PAPI_OK;
      case PAPI_DEV_TYPE_ATTR__CHAR_STATUS:
        *static_cast<const char**>(val) = "Device Initialized";
        return PAPI_OK;
    }
    return answer(refuse(Code::kInvalid, "%d is not an attribute of a device type", static_cast<int>(attr)));
  });
}

CAPI int PAPI_get_dev_attr(void* handle, int id, PAPI_dev_attr_e attr, void* val) {
  return answered([&] {
    const DeviceKind* const kind = kind_of(handle);
    if (kind == nullptr || val == nullptr || id < 0)
      return answer(refuse(Code::kInvalid, "a handle of PAPI_enum_dev_type and a place for the value"));
    if (kind->gpus != nullptr) return gpu_value(*kind, id, attr, val);
    const HardwareInfo* const machine = hardware_info();
    if (attr == PAPI_DEV_ATTR__CPU_CHAR_NAME) {
      *static_cast<const char**>(val) = machine->own_name.c_str();
      return PAPI_OK;
    }
    return processor_value(*machine, id, attr, static_cast<unsigned*>(val));
  });
}
