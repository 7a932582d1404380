// The counter units that libpfm4 knows, of any processor.
#pragma once

#include <perfmon/pfmlib.h>

#include <string>
#include <vector>

namespace substrata::tests {

// One that is newer than the build knows more than PFM_PMU_MAX.
inline std::vector<pfm_pmu_info_t> counter_units() {
  std::vector<pfm_pmu_info_t> all;
  for (int id = 0; id < 1024; ++id) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) == PFM_SUCCESS) all.push_back(info);
  }
  return all;
}

inline bool is_counter_unit(const std::string& name) {
  for (const pfm_pmu_info_t& unit : counter_units())
    if (name == unit.name) return true;
  return false;
}

}  // namespace substrata::tests
