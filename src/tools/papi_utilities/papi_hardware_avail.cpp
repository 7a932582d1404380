// papi_hardware_avail: the devices of the machine.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "arguments/arguments.hpp"
#include "listing.hpp"

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
  std::printf("%-38s: %u\n", "SMT threads per core",
              number(handle, id, PAPI_DEV_ATTR__CPU_UINT_THREAD_COUNT));
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

// A line of a GPU: up to three numbers, or yes and no.
struct GpuLine {
  const char* title;
  int count;
  PAPI_dev_attr_e first;
  bool is_yes_or_no;
};
constexpr GpuLine kCudaLines[] = {
    {"Warp size", 1, PAPI_DEV_ATTR__CUDA_UINT_WARP_SIZE, false},
    {"Max threads per block", 1, PAPI_DEV_ATTR__CUDA_UINT_THR_PER_BLK, false},
    {"Max blocks per multiprocessor", 1, PAPI_DEV_ATTR__CUDA_UINT_BLK_PER_SM, false},
    {"Max shared memory per block", 1, PAPI_DEV_ATTR__CUDA_UINT_SHM_PER_BLK, false},
    {"Max shared memory per multiprocessor", 1, PAPI_DEV_ATTR__CUDA_UINT_SHM_PER_SM, false},
    {"Max block dim (x, y, z)", 3, PAPI_DEV_ATTR__CUDA_UINT_BLK_DIM_X, false},
    {"Max grid dim (x, y, z)", 3, PAPI_DEV_ATTR__CUDA_UINT_GRD_DIM_X, false},
    {"Multiprocessor count", 1, PAPI_DEV_ATTR__CUDA_UINT_SM_COUNT, false},
    {"Multiple kernels per context", 1, PAPI_DEV_ATTR__CUDA_UINT_MULTI_KERNEL, true},
    {"Can map host memory", 1, PAPI_DEV_ATTR__CUDA_UINT_MAP_HOST_MEM, true},
    {"Can overlap compute and data transfer", 1, PAPI_DEV_ATTR__CUDA_UINT_MEMCPY_OVERLAP, true},
    {"Has unified addressing", 1, PAPI_DEV_ATTR__CUDA_UINT_UNIFIED_ADDR, true},
    {"Has managed memory", 1, PAPI_DEV_ATTR__CUDA_UINT_MANAGED_MEM, true},
    {"Compute capability (major, minor)", 2, PAPI_DEV_ATTR__CUDA_UINT_COMP_CAP_MAJOR, false},
};
constexpr GpuLine kRocmLines[] = {
    {"Wavefront size", 1, PAPI_DEV_ATTR__ROCM_UINT_WAVEFRONT_SIZE, false},
    {"Max threads per workgroup", 1, PAPI_DEV_ATTR__ROCM_UINT_WORKGROUP_SIZE, false},
    {"Max waves per compute unit", 1, PAPI_DEV_ATTR__ROCM_UINT_WAVE_PER_CU, false},
    {"Max shared memory per workgroup", 1, PAPI_DEV_ATTR__ROCM_UINT_SHM_PER_WG, false},
    {"Max workgroup dim (x, y, z)", 3, PAPI_DEV_ATTR__ROCM_UINT_WG_DIM_X, false},
    {"Max grid dim (x, y, z)", 3, PAPI_DEV_ATTR__ROCM_UINT_GRD_DIM_X, false},
    {"Compute unit count", 1, PAPI_DEV_ATTR__ROCM_UINT_CU_COUNT, false},
    {"SIMD units per compute unit", 1, PAPI_DEV_ATTR__ROCM_UINT_SIMD_PER_CU, false},
    {"Compute capability (major, minor)", 2, PAPI_DEV_ATTR__ROCM_UINT_COMP_CAP_MAJOR, false},
};

template <std::size_t kLines>
void print_gpu(void* handle, int id, const char* vendor, PAPI_dev_attr_e uid_attribute,
               PAPI_dev_attr_e name_attribute, const GpuLine (&lines)[kLines]) {
  unsigned long uid = 0;
  const char* name = nullptr;
  std::printf("%-38s: %s\n%-38s: %d\n", "Vendor", vendor, "Id", id);
  if (PAPI_get_dev_attr(handle, id, uid_attribute, &uid) == PAPI_OK) std::printf("%-38s: %lu\n", "UID", uid);
  if (PAPI_get_dev_attr(handle, id, name_attribute, &name) == PAPI_OK && name != nullptr)
    std::printf("%-38s: %s\n", "Name", name);
  for (const GpuLine& line : lines) {
    std::printf("%-38s: ", line.title);
    for (int i = 0; i < line.count; ++i) {
      const auto attribute = static_cast<PAPI_dev_attr_e>(line.first + i);
      const int value = static_cast<int>(number(handle, id, attribute));
      if (line.is_yes_or_no && value >= 0)
        std::printf("%s", value != 0 ? "yes" : "no");
      else
        std::printf("%s%d", i == 0 ? "" : " ", value);
    }
    std::printf("\n");
  }
  std::printf("\n");
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
  for (const Kind& kind : kinds)
    for (int id = 0; id < kind.count; ++id) {
      if (kind.type == PAPI_DEV_TYPE_ID__CPU)
        print_processor(kind.handle, id, kind.vendor, kind.vendor_id);
      else if (kind.type == PAPI_DEV_TYPE_ID__CUDA)
        print_gpu(kind.handle, id, kind.vendor, PAPI_DEV_ATTR__CUDA_ULONG_UID,
                  PAPI_DEV_ATTR__CUDA_CHAR_DEVICE_NAME, kCudaLines);
      else
        print_gpu(kind.handle, id, kind.vendor, PAPI_DEV_ATTR__ROCM_ULONG_UID,
                  PAPI_DEV_ATTR__ROCM_CHAR_DEVICE_NAME, kRocmLines);
    }
  print_rule(80);
  PAPI_shutdown();
  return kinds.empty() ? 1 : 0;
}
