// papi_hardware_avail: the devices of the machine.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

// An attribute of a device; 0 where it has none.
unsigned number(void* handle, int id, PAPI_dev_attr_e attribute) {
  unsigned value = 0;
  return PAPI_get_dev_attr(handle, id, attribute, &value) == PAPI_OK ? value : 0;
}

void print_cache(void* handle, int id, const char* name, PAPI_dev_attr_e size, PAPI_dev_attr_e line,
                 PAPI_dev_attr_e lines, PAPI_dev_attr_e ways) {
  if (number(handle, id, size) == 0) return;
  std::printf("%-38s: Size/LineSize/Lines/Assoc %uKB/%uB/%u/%u\n", name, number(handle, id, size) >> 10,
              number(handle, id, line), number(handle, id, lines), number(handle, id, ways));
}

void print_processor(void* handle, int id, const char* vendor, int vendor_id) {
  const char* name = nullptr;
  std::printf("%-38s: %s (%d,0x%x)\n%-38s: %d\n", "Vendor", vendor, vendor_id,
              static_cast<unsigned>(vendor_id), "Id", id);
  if (PAPI_get_dev_attr(handle, id, PAPI_DEV_ATTR__CPU_CHAR_NAME, &name) == PAPI_OK && name != nullptr)
    std::printf("%-38s: %s\n", "Name", name);
  const unsigned family = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_FAMILY);
  const unsigned model = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_MODEL);
  const unsigned stepping = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_STEPPING);
  std::printf("%-38s: Family/Model/Stepping %u/%u/%u 0x%02x/0x%02x/0x%02x\n", "CPUID", family, model,
              stepping, family, model, stepping);
  const unsigned sockets = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_SOCKET_COUNT);
  const unsigned nodes = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_NUMA_COUNT);
  const unsigned cores = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_CORE_COUNT);
  std::printf("%-38s: %u\n%-38s: %u\n%-38s: %u\n", "Sockets", sockets, "Numa regions", nodes,
              "Cores per socket", cores);
  if (nodes != 0) std::printf("%-38s: %u\n", "Cores per NUMA region", cores * sockets / nodes);
  const unsigned all = number(handle, id, PAPI_DEV_ATTR__CPU_UINT_THREAD_COUNT);
  if (sockets * cores != 0) std::printf("%-38s: %u\n", "SMT threads per core", all / sockets / cores);
  print_cache(handle, id, "L1i Cache", PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_SIZE,
              PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_LINE_SIZE, PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_LINE_COUNT,
              PAPI_DEV_ATTR__CPU_UINT_L1I_CACHE_ASSOC);
  print_cache(handle, id, "L1d Cache", PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_SIZE,
              PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_LINE_SIZE, PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_LINE_COUNT,
              PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_ASSOC);
  print_cache(handle, id, "L2 Cache", PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_SIZE,
              PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_LINE_SIZE, PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_LINE_COUNT,
              PAPI_DEV_ATTR__CPU_UINT_L2U_CACHE_ASSOC);
  print_cache(handle, id, "L3 Cache", PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_SIZE,
              PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_LINE_SIZE, PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_LINE_COUNT,
              PAPI_DEV_ATTR__CPU_UINT_L3U_CACHE_ASSOC);
  const PAPI_hw_info_t* hardware = PAPI_get_hardware_info();
  const int threads = hardware != nullptr ? hardware->totalcpus : 0;
  for (unsigned node = 0; node < nodes; ++node) {
    const int at = static_cast<int>(node);
    char title[40];
    std::snprintf(title, sizeof title, "Numa Node %u Memory", node);
    std::printf("%-38s: %uMB\n", title, number(handle, at, PAPI_DEV_ATTR__CPU_UINT_NUMA_MEM_SIZE));
    std::snprintf(title, sizeof title, "Numa Node %u Threads", node);
    std::printf("%-38s: ", title);
    for (int thread = 0; thread < threads; ++thread) {
      unsigned its = 0;
      if (PAPI_get_dev_attr(handle, thread, PAPI_DEV_ATTR__CPU_UINT_THR_NUMA_AFFINITY, &its) == PAPI_OK &&
          its == node)
        std::printf("%d ", thread);
    }
    std::printf("\n");
  }
  std::printf("\n");
}

// A line of a GPU, as PAPI's program of this name prints it: a number, yes or no, or a number for each of x, y and z.
enum class GpuValue { kNumber, kYesOrNo, kEachAxis };
struct GpuLine {
  const char* title;
  PAPI_dev_attr_e first;
  GpuValue value = GpuValue::kNumber;
};
constexpr GpuLine kCudaLines[] = {
    {"Warp size", PAPI_DEV_ATTR__CUDA_UINT_WARP_SIZE},
    {"Max threads per block", PAPI_DEV_ATTR__CUDA_UINT_THR_PER_BLK},
    {"Max blocks per multiprocessor", PAPI_DEV_ATTR__CUDA_UINT_BLK_PER_SM},
    {"Max shared memory per block", PAPI_DEV_ATTR__CUDA_UINT_SHM_PER_BLK},
    {"Max shared memory per multiprocessor", PAPI_DEV_ATTR__CUDA_UINT_SHM_PER_SM},
    {"Max block dim", PAPI_DEV_ATTR__CUDA_UINT_BLK_DIM_X, GpuValue::kEachAxis},
    {"Max grid dim", PAPI_DEV_ATTR__CUDA_UINT_GRD_DIM_X, GpuValue::kEachAxis},
    {"Multiprocessor count", PAPI_DEV_ATTR__CUDA_UINT_SM_COUNT},
    {"Multiple kernels per context", PAPI_DEV_ATTR__CUDA_UINT_MULTI_KERNEL, GpuValue::kYesOrNo},
    {"Can map host memory", PAPI_DEV_ATTR__CUDA_UINT_MAP_HOST_MEM, GpuValue::kYesOrNo},
    {"Can overlap compute and data transfer", PAPI_DEV_ATTR__CUDA_UINT_MEMCPY_OVERLAP, GpuValue::kYesOrNo},
    {"Has unified addressing", PAPI_DEV_ATTR__CUDA_UINT_UNIFIED_ADDR, GpuValue::kYesOrNo},
    {"Has managed memory", PAPI_DEV_ATTR__CUDA_UINT_MANAGED_MEM, GpuValue::kYesOrNo},
};
constexpr GpuLine kRocmLines[] = {
    {"Wavefront size", PAPI_DEV_ATTR__ROCM_UINT_WAVEFRONT_SIZE},
    {"SIMD per compute unit", PAPI_DEV_ATTR__ROCM_UINT_SIMD_PER_CU},
    {"Max threads per workgroup", PAPI_DEV_ATTR__ROCM_UINT_WORKGROUP_SIZE},
    {"Max waves per compute unit", PAPI_DEV_ATTR__ROCM_UINT_WAVE_PER_CU},
    {"Max shared memory per workgroup", PAPI_DEV_ATTR__ROCM_UINT_SHM_PER_WG},
    {"Max workgroup dim", PAPI_DEV_ATTR__ROCM_UINT_WG_DIM_X, GpuValue::kEachAxis},
    {"Max grid dim", PAPI_DEV_ATTR__ROCM_UINT_GRD_DIM_X, GpuValue::kEachAxis},
    {"Compute unit count", PAPI_DEV_ATTR__ROCM_UINT_CU_COUNT},
};

// What is not known is -1.
int known(void* handle, int id, int attribute) {
  return static_cast<int>(number(handle, id, static_cast<PAPI_dev_attr_e>(attribute)));
}

template <std::size_t kLines>
void print_gpu(void* handle, int id, PAPI_dev_attr_e uid_attribute, PAPI_dev_attr_e name_attribute,
               PAPI_dev_attr_e capability, const GpuLine (&lines)[kLines]) {
  unsigned long uid = 0;
  const char* name = nullptr;
  std::printf("%-38s: %d\n", "Id", id);
  if (PAPI_get_dev_attr(handle, id, uid_attribute, &uid) == PAPI_OK) std::printf("%-38s: %lu\n", "UID", uid);
  if (PAPI_get_dev_attr(handle, id, name_attribute, &name) == PAPI_OK && name != nullptr)
    std::printf("%-38s: %s\n", "Name", name);
  for (const GpuLine& line : lines) {
    if (line.value == GpuValue::kEachAxis) {
      for (int axis = 0; axis < 3; ++axis)
        std::printf("%s %-*c: %d\n", line.title, 37 - static_cast<int>(std::strlen(line.title)), "xyz"[axis],
                    known(handle, id, line.first + axis));
      continue;
    }
    const int value = known(handle, id, line.first);
    if (line.value == GpuValue::kYesOrNo && value >= 0)
      std::printf("%-38s: %s\n", line.title, value != 0 ? "yes" : "no");
    else
      std::printf("%-38s: %d\n", line.title, value);
  }
  std::printf("%-38s: %d.%d\n\n", "Compute capability", known(handle, id, capability),
              known(handle, id, capability + 1));
}

}  // namespace

int main(int argc, char** argv) {
  substrata::Arguments arguments("papi_hardware_avail", "Lists the devices of the machine.");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  struct Kind {
    void* handle;
    const char* vendor = "";
    const char* state = "";
    int type = 0, vendor_id = 0, count = 0;
  };
  std::vector<Kind> kinds;
  void* handle = nullptr;
  while (PAPI_enum_dev_type(PAPI_DEV_TYPE_ENUM__ALL, &handle) == PAPI_OK) {
    Kind kind{handle};
    if (PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__INT_PAPI_ID, &kind.type) != PAPI_OK ||
        PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__INT_VENDOR_ID, &kind.vendor_id) != PAPI_OK ||
        PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__CHAR_NAME, &kind.vendor) != PAPI_OK ||
        PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__INT_COUNT, &kind.count) != PAPI_OK ||
        PAPI_get_dev_type_attr(handle, PAPI_DEV_TYPE_ATTR__CHAR_STATUS, &kind.state) != PAPI_OK) {
      std::fprintf(stderr, "papi_hardware_avail: a kind of device does not report what it is\n");
      return 1;
    }
    kinds.push_back(kind);
  }
  std::printf("\nDevice Summary -----------------------------------------------------------------\n");
  std::printf("%-16s %s \n", "Vendor", "DevCount");
  for (const Kind& kind : kinds)
    std::printf("%-18s (%d)\n \\-> Status: %s\n\n", kind.vendor, kind.count, kind.state);
  std::printf("\nDevice Information -------------------------------------------------------------\n");
  for (const Kind& kind : kinds) {
    if (kind.type != PAPI_DEV_TYPE_ID__CPU && kind.count > 0)
      std::printf("%-38s: %s\n", "Vendor", kind.vendor);
    for (int id = 0; id < kind.count; ++id) {
      if (kind.type == PAPI_DEV_TYPE_ID__CPU)
        print_processor(kind.handle, id, kind.vendor, kind.vendor_id);
      else if (kind.type == PAPI_DEV_TYPE_ID__CUDA)
        print_gpu(kind.handle, id, PAPI_DEV_ATTR__CUDA_ULONG_UID, PAPI_DEV_ATTR__CUDA_CHAR_DEVICE_NAME,
                  PAPI_DEV_ATTR__CUDA_UINT_COMP_CAP_MAJOR, kCudaLines);
      else
        print_gpu(kind.handle, id, PAPI_DEV_ATTR__ROCM_ULONG_UID, PAPI_DEV_ATTR__ROCM_CHAR_DEVICE_NAME,
                  PAPI_DEV_ATTR__ROCM_UINT_COMP_CAP_MAJOR, kRocmLines);
    }
  }
  print_rule(80);
  PAPI_shutdown();
  return kinds.empty() ? 1 : 0;
}
