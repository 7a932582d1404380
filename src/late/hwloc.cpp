// hwloc, which knows the machine's parts. Without it no topology can be made.
#include <hwloc.h>

#include "late/late.hpp"

namespace {
constinit substrata::late::Library library(SUBSTRATA_LATE_NAME);
}

#define HWLOC(...) SUBSTRATA_LATE(library, __VA_ARGS__)
HWLOC(int, hwloc_topology_init, (hwloc_topology_t * out), (out), -1)
HWLOC(int, hwloc_topology_load, (hwloc_topology_t of), (of), -1)
HWLOC(void, hwloc_topology_destroy, (hwloc_topology_t of), (of), )
#if HWLOC_API_VERSION >= 0x00020100
HWLOC(int, hwloc_topology_set_components, (hwloc_topology_t of, unsigned long flags, const char* name),
      (of, flags, name), -1)
#endif
HWLOC(int, hwloc_topology_set_icache_types_filter, (hwloc_topology_t of, enum hwloc_type_filter_e filter),
      (of, filter), -1)
HWLOC(hwloc_const_cpuset_t, hwloc_topology_get_complete_cpuset, (hwloc_topology_t of), (of), nullptr)
HWLOC(int, hwloc_get_type_depth, (hwloc_topology_t of, hwloc_obj_type_t type), (of, type),
      HWLOC_TYPE_DEPTH_UNKNOWN)
HWLOC(unsigned, hwloc_get_nbobjs_by_depth, (hwloc_topology_t of, int depth), (of, depth), 0)
HWLOC(hwloc_obj_t, hwloc_get_obj_by_depth, (hwloc_topology_t of, int depth, unsigned index),
      (of, depth, index), nullptr)
HWLOC(int, hwloc_obj_type_is_cache, (hwloc_obj_type_t type), (type), 0)
HWLOC(int, hwloc_bitmap_first, (hwloc_const_bitmap_t of), (of), -1)
HWLOC(int, hwloc_bitmap_last, (hwloc_const_bitmap_t of), (of), -1)
HWLOC(int, hwloc_bitmap_next, (hwloc_const_bitmap_t of, int previous), (of, previous), -1)
HWLOC(int, hwloc_bitmap_weight, (hwloc_const_bitmap_t of), (of), 0)
