// Hardware from hwloc and cpuid, program and memory from /proc.
#include "core/system/system_info.hpp"

#include <hwloc.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/environment.hpp"
#include "base/immortal.hpp"
#include "base/kept.hpp"
#include "base/parse.hpp"
#include "core/system/amd_tlbs.hpp"
#include "core/system/arm_processor.hpp"
#include "core/system/timers.hpp"
#include "sysfs/sysfs.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace substrata {
namespace {

Result<std::string> whole_file(const std::string& path) {
  std::string text;
  if (!sysfs::read_text(path, &text))
    return refuse(Code::kSystem, "%s cannot be read: %s", path.c_str(), std::strerror(errno));
  return text;
}

std::string first_line(const std::string& path) {
  std::string text;
  sysfs::read_text(path, &text);
  return text.substr(0, text.find('\n'));
}

const char* text_of(hwloc_obj_t object, const char* key) {
  const char* text = object != nullptr ? hwloc_obj_get_info_by_name(object, key) : nullptr;
  return text != nullptr ? text : "";
}

int vendor_number(const std::string& name) {
  struct Known {
    const char* part;
    int number;
  };
  // PAPI_VENDOR_* of papi.h.
  constexpr Known kKnown[] = {{"GenuineIntel", 1}, {"AuthenticAMD", 2}, {"HygonGenuine", 2},
                              {"IBM", 3},          {"Cray", 4},         {"SUN", 5},
                              {"Freescale", 6},    {"ARM", 7},          {"MIPS", 8}};
  for (const Known& known : kKnown) {
    if (name.find(known.part) != std::string::npos) return known.number;
  }
  return 0;
}

#if defined(__x86_64__)
TlbRegisters tlb_registers(unsigned leaf) {
  TlbRegisters registers;
  unsigned unused = 0;
  if (__get_cpuid_count(leaf, 0, &registers.a, &registers.b, &unused, &unused) == 0) return {};
  return registers;
}

// CPUID leaf 0x18, deterministic address translation parameters: Intel, Software Developer's Manual, volume
// 2A.
void add_tlbs(HardwareInfo* info) {
  if (info->levels.empty()) return;
  unsigned signature = 0;
  __get_cpuid_max(0, &signature);
  constexpr unsigned kAuth = 0x68747541, kHygo = 0x6f677948;  // "AuthenticAMD", "HygonGenuine"
  if (signature == kAuth || signature == kHygo) {
    add_amd_tlbs(tlb_registers(0x80000005), tlb_registers(0x80000006), tlb_registers(0x80000019), info);
    return;
  }
  unsigned most = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_max(0, nullptr) < 0x18) return;
  if (__get_cpuid_count(0x18, 0, &most, &b, &c, &d) == 0) return;
  for (unsigned leaf = 0; leaf <= most && leaf < 32; ++leaf) {
    unsigned unused = 0;
    if (__get_cpuid_count(0x18, leaf, &unused, &b, &c, &d) == 0) break;
    const unsigned type = d & 0x1f;
    const unsigned level = d >> 5 & 7;
    if (type == 0 || type > 5 || level == 0 || level > info->levels.size()) continue;
    const unsigned ways = b >> 16;
    const bool full = (d >> 8 & 1) != 0;
    TlbInfo tlb;
    tlb.type = type == 2 ? kMemoryInstruction : type == 3 ? kMemoryUnified : kMemoryData;
    tlb.entries = static_cast<int>(ways * c);
    tlb.ways = full ? -1 : static_cast<int>(ways);
    constexpr int64_t kPages[] = {4 << 10, 2 << 20, 4 << 20, 1 << 30};
    for (unsigned page = 0; page < 4; ++page) {
      if ((b >> page & 1) == 0) continue;
      tlb.page_bytes = kPages[page];
      info->levels[level - 1].tlbs.push_back(tlb);
    }
  }
}

void ask_hypervisor(HardwareInfo* info) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c >> 31 & 1) == 0) return;
  info->virtualised = true;
  __cpuid(0x40000000, a, b, c, d);
  char name[13] = {};
  std::memcpy(name, &b, 4);
  std::memcpy(name + 4, &c, 4);
  std::memcpy(name + 8, &d, 4);
  info->virtual_vendor = name;
}
#endif

void add_caches(hwloc_topology_t topology, HardwareInfo* info) {
  hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);
  struct Found {
    unsigned depth;
    CacheInfo cache;
  };
  std::vector<Found> found;
  for (hwloc_obj_t at = core; at != nullptr; at = at->parent) {
    if (!hwloc_obj_type_is_cache(at->type)) continue;
    CacheInfo cache;
    const hwloc_obj_cache_type_t kind = at->attr->cache.type;
    cache.type = kind == HWLOC_OBJ_CACHE_INSTRUCTION ? kMemoryInstruction
                 : kind == HWLOC_OBJ_CACHE_DATA      ? kMemoryData
                                                     : kMemoryUnified;
    cache.size_bytes = static_cast<int64_t>(at->attr->cache.size);
    cache.line_bytes = static_cast<int>(at->attr->cache.linesize);
    cache.lines = cache.line_bytes > 0 ? static_cast<int>(cache.size_bytes / cache.line_bytes) : 0;
    cache.ways = at->attr->cache.associativity;
    found.push_back({at->attr->cache.depth, cache});
  }
  for (const Found& item : found) {
    if (item.depth == 0 || item.depth > 8) continue;
    if (info->levels.size() < item.depth) info->levels.resize(item.depth);
    info->levels[item.depth - 1].caches.push_back(item.cache);
  }
  // Data before instructions, as PAPI and the kernel have them.
  for (MemoryLevel& level : info->levels)
    std::stable_sort(level.caches.begin(), level.caches.end(), [](const CacheInfo& a, const CacheInfo& b) {
      return b.type == kMemoryInstruction && a.type != kMemoryInstruction;
    });
}

void add_nodes(hwloc_topology_t topology, HardwareInfo* info) {
  const long last = hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(topology));
  info->node_of_cpu.assign(static_cast<size_t>(std::max({1l, sysconf(_SC_NPROCESSORS_CONF), last + 1})), -1);
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    NumaNode numa;
    numa.os_index = static_cast<int>(node->os_index);
    numa.memory_bytes = node->attr->numanode.local_memory;
    numa.threads = std::max(0, hwloc_bitmap_weight(node->cpuset));
    for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(node->cpuset, cpu)) {
      if (static_cast<size_t>(cpu) < info->node_of_cpu.size())
        info->node_of_cpu[static_cast<size_t>(cpu)] = numa.os_index;
    }
    info->nodes.push_back(numa);
  }
}

int megahertz(const char* file, int fallback) {
  const std::string text =
      first_line(machine_root() + std::string("/sys/devices/system/cpu/cpu0/cpufreq/") + file);
  long khz = 0;
  leading_number(text, &khz);
  return khz > 0 ? static_cast<int>(khz / 1000) : fallback;
}

// Of a recorded machine what its /proc/cpuinfo says, 0 where it says nothing.
int clock_mhz(std::string_view cpuinfo) {
  if (*machine_root() == '\0') return static_cast<int>(cycle_hz() / 1e6);
  std::string_view text = value_of_key(cpuinfo, "cpu MHz");
  if (text.empty()) text = value_of_key(cpuinfo, "clock");  // "3800.000000MHz", of POWER
  double mhz = 0;
  leading_number(text, &mhz);
  return static_cast<int>(mhz);
}

struct Unload {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

std::unique_ptr<HardwareInfo> load_hardware() {
  hwloc_topology_t raw = nullptr;
  // HWLOC_PLUGINS_PATH names code that hwloc loads, others a file or text that it takes for the machine.
  if (environment_misleads("HWLOC_")) return nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  const std::unique_ptr<hwloc_topology, Unload> topology(raw);
  const std::string root = machine_root();
#if HWLOC_API_VERSION >= 0x00020100
  // It prints that it misses them.
  if (access((root + "/sys/devices/system/cpu/cpu0/topology").c_str(), R_OK | X_OK) != 0 &&
      access((root + "/sys/bus/cpu/devices/cpu0/topology").c_str(), R_OK | X_OK) != 0)
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux");
#endif
  // Instruction caches are left out unless asked for.
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (hwloc_topology_load(raw) != 0) return nullptr;
  auto info = std::make_unique<HardwareInfo>();
  info->total_cpus = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU));
  info->total_cores = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE));
  info->sockets = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PACKAGE));
  info->numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE));
  info->threads_per_core = std::max(1, info->total_cpus / info->total_cores);
  info->cores_per_socket = std::max(1, info->total_cores / info->sockets);
  info->cpus_per_node = std::max(1, info->total_cpus / info->numa_nodes);
  hwloc_obj_t package = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PACKAGE, 0);
  if (package == nullptr) package = hwloc_get_root_obj(raw);
  info->vendor_name = text_of(package, "CPUVendor");
  info->own_name = text_of(package, "CPUModel");
  // A hypervisor may give the kernel another name than the processor gives itself (CPUID), which is what hwloc has.
  std::string cpuinfo;
  sysfs::read_text(root + "/proc/cpuinfo", &cpuinfo);
  info->model_name = value_of_key(cpuinfo, "model name");
  if (info->model_name.empty()) info->model_name = info->own_name;
  leading_number(text_of(package, "CPUFamilyNumber"), &info->family);
  leading_number(text_of(package, "CPUModelNumber"), &info->family_model);
  leading_number(text_of(package, "CPUStepping"), &info->stepping);
  info->vendor = vendor_number(info->vendor_name);
  if (info->vendor_name.empty() && info->model_name.starts_with("POWER")) {
    info->vendor_name = "IBM";
    info->vendor = vendor_number(info->vendor_name);
  }
  info->model = info->family_model;
  info->revision = static_cast<float>(info->stepping);
  add_arm_processor(cpuinfo, info.get());
  info->clock_mhz = clock_mhz(cpuinfo);
  info->max_mhz = megahertz("cpuinfo_max_freq", info->clock_mhz);
  info->min_mhz = megahertz("cpuinfo_min_freq", info->clock_mhz);
  add_caches(raw, info.get());
  add_nodes(raw, info.get());
#if defined(__x86_64__)
  if (*machine_root() == '\0') {  // of this processor, not of a recorded one
    add_tlbs(info.get());
    ask_hypervisor(info.get());
  }
#endif
  if (info->virtualised) info->virtual_version = first_line("/sys/class/dmi/id/product_version");
  return info;
}

}  // namespace

const HardwareInfo* hardware_info() {
  static Immortal<Kept<HardwareInfo>> info;  // clients hold on to it
  return (*info).get(load_hardware);
}

Result<std::vector<AddressMap>> parse_maps(const std::string& text) {
  std::vector<AddressMap> objects;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    unsigned long begin = 0, stop = 0, offset = 0, inode = 0;
    char rights[5] = {};
    char device[32] = {};
    int used = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %31s %lu %n", &begin, &stop, rights, &offset, device,
                    &inode, &used) < 6)
      return refuse(Code::kInvalid, "a line of the memory map has another form: \"%.100s\"", line.c_str());
    const std::string path =
        static_cast<size_t>(used) < line.size() ? line.substr(static_cast<size_t>(used)) : "";
    if (path.empty()) {
      // Anonymous memory right behind an object's data is its bss.
      if (!objects.empty() && objects.back().data_end == begin && objects.back().bss_end == 0 &&
          rights[1] == 'w') {
        objects.back().bss_start = begin;
        objects.back().bss_end = stop;
      }
      continue;
    }
    if (path[0] != '/') continue;
    if (objects.empty() || objects.back().name != path) {
      objects.emplace_back();
      objects.back().name = path;
    }
    AddressMap& object = objects.back();
    if (rights[2] == 'x') {
      if (object.text_start == 0) object.text_start = begin;
      object.text_end = stop;
    } else if (rights[1] == 'w') {
      if (object.data_start == 0) object.data_start = begin;
      object.data_end = stop;
    }
  }
  // Data files are mapped too; only what holds code is a program or library.
  std::erase_if(objects, [](const AddressMap& object) { return object.text_end == 0; });
  return objects;
}

// Where the first thread has ended before the process, /proc/self shows no memory any more; that of the calling thread
// does (since Linux 3.17).
constexpr const char* kOwnFolders[] = {"/proc/self/", "/proc/thread-self/"};

Result<std::vector<AddressMap>> shared_libraries() {
  Result<std::string> text = std::string();
  for (const std::string folder : kOwnFolders)
    if (text = whole_file(folder + "maps"); !text || !text->empty()) break;
  if (!text) return text.error();
  return parse_maps(*text);
}

Result<AddressMap> executable_info() {
  char path[PATH_MAX];
  ssize_t length = 0;
  for (const std::string folder : kOwnFolders)
    if (length = readlink((folder + "exe").c_str(), path, sizeof path - 1); length > 0) break;
  if (length <= 0) return refuse(Code::kSystem, "/proc/self/exe cannot be read");
  path[length] = '\0';
  const Result<std::vector<AddressMap>> objects = shared_libraries();
  if (!objects) return objects.error();
  for (const AddressMap& object : *objects) {
    if (object.name == path) return object;
  }
  AddressMap unknown;
  unknown.name = path;
  return unknown;
}

Result<MemoryInfo> parse_status(const std::string& text) {
  MemoryInfo info;
  info.peak_kib = number_of_key(text, "VmPeak", -1);
  info.size_kib = number_of_key(text, "VmSize", -1);
  if (info.size_kib < 0) return refuse(Code::kInvalid, "the status of the process does not contain its size");
  info.resident_kib = number_of_key(text, "VmRSS", -1);
  info.high_water_kib = number_of_key(text, "VmHWM", -1);
  info.shared_kib = number_of_key(text, "RssFile", 0) + number_of_key(text, "RssShmem", 0);
  info.text_kib = number_of_key(text, "VmExe", -1);
  info.library_kib = number_of_key(text, "VmLib", -1);
  info.heap_kib = number_of_key(text, "VmData", -1);
  info.locked_kib = number_of_key(text, "VmLck", -1);
  info.stack_kib = number_of_key(text, "VmStk", -1);
  info.page_table_kib = number_of_key(text, "VmPTE", -1);
  info.page_bytes = sysconf(_SC_PAGESIZE);
  return info;
}

Result<MemoryInfo> memory_info() {
  Result<MemoryInfo> info = MemoryInfo();
  for (const std::string folder : kOwnFolders) {
    const Result<std::string> text = whole_file(folder + "status");
    if (!text) return text.error();
    info = parse_status(*text);
    if (info) break;
  }
  return info;
}

}  // namespace substrata
