// libpfm4, which knows the events of processors.
#include <perfmon/pfmlib.h>

#include "late/late.hpp"

namespace {
constinit substrata::late::Library pfm(SUBSTRATA_LATE_NAME);
}

#define PFM(...) SUBSTRATA_LATE(pfm, __VA_ARGS__)
PFM(pfm_err_t, pfm_initialize, (), (), PFM_ERR_NOTSUPP)
PFM(const char*, pfm_strerror, (int code), (code), "libpfm4 cannot be loaded")
PFM(pfm_err_t, pfm_get_pmu_info, (pfm_pmu_t pmu, pfm_pmu_info_t* out), (pmu, out), PFM_ERR_NOTSUPP)
PFM(int, pfm_get_event_next, (int index), (index), -1)
PFM(int, pfm_find_event, (const char* name), (name), PFM_ERR_NOTSUPP)
PFM(pfm_err_t, pfm_get_event_info, (int index, pfm_os_t system, pfm_event_info_t* out), (index, system, out),
    PFM_ERR_NOTSUPP)
PFM(pfm_err_t, pfm_get_os_event_encoding, (const char* name, int levels, pfm_os_t system, void* out),
    (name, levels, system, out), PFM_ERR_NOTSUPP)
PFM(pfm_err_t, pfm_get_event_attr_info,
    (int index, int attribute, pfm_os_t system, pfm_event_attr_info_t* out), (index, attribute, system, out),
    PFM_ERR_NOTSUPP)
