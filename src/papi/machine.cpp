// The machine and this process: hardware, program, shared libraries, memory.
#include "papi/machine.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "base/immortal.hpp"
#include "base/kept.hpp"
#include "core/system/system_info.hpp"
#include "papi/boundary.hpp"

namespace substrata::capi {
namespace {

int as_int(int64_t value) noexcept {
  return static_cast<int>(
      std::clamp<int64_t>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

vptr_t as_pointer(uint64_t address) noexcept {
  return reinterpret_cast<vptr_t>(static_cast<uintptr_t>(address));
}

std::unique_ptr<PAPI_hw_info_t> make_hardware() {
  const HardwareInfo* const from = hardware_info();
  if (from == nullptr) return nullptr;
  auto to = std::make_unique<PAPI_hw_info_t>();
  to->ncpu = from->cpus_per_node;
  to->threads = from->threads_per_core;
  to->cores = from->cores_per_socket;
  to->sockets = from->sockets;
  to->nnodes = from->numa_nodes;
  to->totalcpus = from->total_cpus;
  to->vendor = from->vendor;
  copy_text(to->vendor_string, from->vendor_name);
  to->model = from->model;
  copy_text(to->model_string, from->model_name);
  to->revision = from->revision;
  to->cpuid_family = from->family;
  to->cpuid_model = from->family_model;
  to->cpuid_stepping = from->stepping;
  to->cpu_max_mhz = from->max_mhz;
  to->cpu_min_mhz = from->min_mhz;
  to->virtualized = from->virtualised;
  copy_text(to->virtual_vendor_string, from->virtual_vendor);
  copy_text(to->virtual_vendor_version, from->virtual_version);
  to->mhz = static_cast<float>(from->max_mhz);
  to->clock_mhz = from->clock_mhz;
  PAPI_mh_info_t& hierarchy = to->mem_hierarchy;
  hierarchy.levels =
      as_int(static_cast<int64_t>(std::min<size_t>(from->levels.size(), PAPI_MAX_MEM_HIERARCHY_LEVELS)));
  for (int level = 0; level < hierarchy.levels; ++level) {
    const MemoryLevel& source = from->levels[static_cast<size_t>(level)];
    PAPI_mh_level_t& target = hierarchy.level[level];
    for (size_t i = 0; i < source.caches.size() && i < PAPI_MH_MAX_LEVELS; ++i) {
      const CacheInfo& cache = source.caches[i];
      target.cache[i] = {cache.type, as_int(cache.size_bytes), cache.line_bytes, cache.lines, cache.ways};
    }
    for (size_t i = 0; i < source.tlbs.size() && i < PAPI_MH_MAX_LEVELS; ++i) {
      const TlbInfo& tlb = source.tlbs[i];
      target.tlb[i] = {tlb.type, tlb.entries, as_int(tlb.page_bytes),
                       tlb.ways < 0 ? SHRT_MAX : tlb.ways};  // PAPI's word for a full one
    }
  }
  return to;
}

void fill(const AddressMap& from, PAPI_address_map_t* to) noexcept {
  copy_text(to->name, from.name);
  to->text_start = as_pointer(from.text_start);
  to->text_end = as_pointer(from.text_end);
  to->data_start = as_pointer(from.data_start);
  to->data_end = as_pointer(from.data_end);
  to->bss_start = as_pointer(from.bss_start);
  to->bss_end = as_pointer(from.bss_end);
}

std::unique_ptr<PAPI_exe_info_t> make_executable() {
  const Result<AddressMap> from = executable_info();
  if (!from) return nullptr;
  auto to = std::make_unique<PAPI_exe_info_t>();
  copy_text(to->fullname, from->name);
  fill(*from, &to->address_info);
  const size_t slash = from->name.rfind('/');
  copy_text(to->address_info.name, slash == std::string::npos ? from->name : from->name.substr(slash + 1));
  return to;
}

// The lists of shared objects handed out. Clients keep pointers into them, so an old list stays; a new one is
// made only when the process has loaded or unloaded something since.
class SharedObjects {
 public:
  static SharedObjects& instance() {
    static SharedObjects* const kObjects = new SharedObjects;
    return *kObjects;
  }
  const PAPI_shlib_info_t* list() {
    const Result<std::vector<AddressMap>> now = shared_libraries();
    if (!now) return nullptr;
    auto fresh = std::make_unique<List>();
    fresh->maps.resize(now->size());
    for (size_t i = 0; i < now->size(); ++i) fill((*now)[i], &fresh->maps[i]);
    fresh->info = {fresh->maps.data(), as_int(static_cast<int64_t>(fresh->maps.size()))};
    const std::lock_guard guard(lock_);
    if (lists_.empty() || !same(*lists_.back(), *fresh)) lists_.push_back(std::move(fresh));
    return &lists_.back()->info;
  }

 private:
  struct List {
    std::vector<PAPI_address_map_t> maps;
    PAPI_shlib_info_t info{};
  };
  static bool same(const List& a, const List& b) noexcept {
    return a.maps.size() == b.maps.size() &&
           std::memcmp(a.maps.data(), b.maps.data(), a.maps.size() * sizeof(PAPI_address_map_t)) == 0;
  }
  ForkLock lock_;
  std::vector<std::unique_ptr<List>> lists_;
};

}  // namespace

const PAPI_hw_info_t* hardware() {
  static Immortal<Kept<PAPI_hw_info_t>> info;
  return (*info).get(make_hardware);
}

const PAPI_exe_info_t* executable() {
  static Immortal<Kept<PAPI_exe_info_t>> info;
  return (*info).get(make_executable);
}

const PAPI_shlib_info_t* shared_objects() { return SharedObjects::instance().list(); }

}  // namespace substrata::capi

using namespace substrata;
using namespace substrata::capi;

CAPI const PAPI_hw_info_t* PAPI_get_hardware_info(void) {
  return guarded([]() -> const PAPI_hw_info_t* { return is_up() ? hardware() : nullptr; });
}

CAPI const PAPI_exe_info_t* PAPI_get_executable_info(void) {
  return guarded([]() -> const PAPI_exe_info_t* { return is_up() ? executable() : nullptr; });
}

CAPI const PAPI_shlib_info_t* PAPI_get_shared_lib_info(void) {
  return guarded([]() -> const PAPI_shlib_info_t* { return is_up() ? shared_objects() : nullptr; });
}

CAPI int PAPI_get_dmem_info(PAPI_dmem_info_t* dest) {
  return answered([&] {
    if (dest == nullptr) return answer(refuse(Code::kInvalid, "no place to put the memory information"));
    const Result<MemoryInfo> memory = memory_info();
    if (!memory) return answer(memory.status());
    dest->peak = memory->peak_kib;
    dest->size = memory->size_kib;
    dest->resident = memory->resident_kib;
    dest->high_water_mark = memory->high_water_kib;
    dest->shared = memory->shared_kib;
    dest->text = memory->text_kib;
    dest->library = memory->library_kib;
    dest->heap = memory->heap_kib;
    dest->locked = memory->locked_kib;
    dest->stack = memory->stack_kib;
    dest->pagesize = memory->page_bytes;
    dest->pte = memory->page_table_kib;
    return PAPI_OK;
  });
}
