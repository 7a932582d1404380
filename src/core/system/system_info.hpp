// What the machine, the program and its memory are: asked from hwloc and /proc at first use, never at start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/visibility.hpp"

namespace substrata {

// PAPI_MH_TYPE_* values.
enum MemoryType : int {
  kMemoryEmpty = 0,
  kMemoryInstruction = 1,
  kMemoryData = 2,
  kMemoryUnified = 3,
  kMemoryTrace = 8,
  kMemoryWriteBack = 0x10,
};
struct CacheInfo {
  int type = 0;  // MemoryType
  int64_t size_bytes = 0;
  int line_bytes = 0;
  int lines = 0;
  int ways = 0;  // -1: fully associative, 0: unknown
};
struct TlbInfo {
  int type = 0;
  int entries = 0;
  int64_t page_bytes = 0;
  int ways = 0;
};
struct MemoryLevel {
  std::vector<CacheInfo> caches;  // instruction before data, or unified
  std::vector<TlbInfo> tlbs;      // empty where the processor does not report them
};
struct NumaNode {
  int os_index = 0;
  uint64_t memory_bytes = 0;
  int threads = 0;  // hardware threads close to it
};
struct HardwareInfo {
  int cpus_per_node = 0;  // PAPI's ncpu
  int threads_per_core = 0;
  int cores_per_socket = 0;
  int sockets = 0;
  int numa_nodes = 0;
  int total_cpus = 0;
  int total_cores = 0;
  int vendor = 0;  // PAPI_VENDOR_*
  std::string vendor_name;
  int model = 0;
  std::string model_name;  // as the kernel names it
  std::string own_name;    // as the processor names itself
  float revision = 0;
  int family = 0, family_model = 0, stepping = 0;
  int max_mhz = 0, min_mhz = 0;  // 0: unknown
  int clock_mhz = 0;             // of real_cycles
  bool virtualised = false;
  std::string virtual_vendor, virtual_version;
  std::vector<MemoryLevel> levels;  // level 1 first
  std::vector<NumaNode> nodes;
  std::vector<int> node_of_cpu;  // by operating-system CPU number; -1 unknown
};

// Loaded once, at the first call that can. Null when hwloc fails. The object lives as long as the process.
// Thread-safe.
SUBSTRATA_PRIVATE_API const HardwareInfo* hardware_info();

struct AddressMap {
  std::string name;
  uint64_t text_start = 0, text_end = 0, data_start = 0, data_end = 0, bss_start = 0, bss_end = 0;
};
// The running program: its path and its parts. Thread-safe.
SUBSTRATA_PRIVATE_API Result<AddressMap> executable_info();
// Every mapped shared object, read anew from /proc/self/maps. Thread-safe.
SUBSTRATA_PRIVATE_API Result<std::vector<AddressMap>> shared_libraries();

// /proc/self/status, in KiB as the kernel gives it; page size in bytes.
struct MemoryInfo {
  int64_t peak_kib = 0, size_kib = 0, resident_kib = 0, high_water_kib = 0, shared_kib = 0, text_kib = 0,
          library_kib = 0, heap_kib = 0, locked_kib = 0, stack_kib = 0, page_bytes = 0, page_table_kib = 0;
};
SUBSTRATA_PRIVATE_API Result<MemoryInfo> memory_info();

// What the parsers accept, for tests and fuzzers.
Result<std::vector<AddressMap>> parse_maps(const std::string& text);
Result<MemoryInfo> parse_status(const std::string& text);

}  // namespace substrata
