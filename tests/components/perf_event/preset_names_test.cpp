// Our preset tables against libpfm4's: every event they name must be one that libpfm4 can encode.
#include <gtest/gtest.h>
#include <perfmon/pfmlib.h>

#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "perf_events/presets.hpp"

namespace substrata::test {
namespace {

bool libpfm_knows_pmu(const std::string& name) {
  for (int id = 0; id < PFM_PMU_MAX; ++id) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) == PFM_SUCCESS && name == info.name) return true;
  }
  return false;
}

TEST(OwnPresetTables, NameEventsThatLibpfmEncodes) {  // PA-21
  // The build sets LIBPFM_ENCODE_INACTIVE, so that other processors' events can be encoded here.
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  uint32_t checked = 0;
  for (const perf::BuiltInPresets* table = perf::built_in_presets(); table->name != nullptr; ++table) {
    std::set<std::string> cpus;
    std::string_view text = table->text;
    while (!text.empty()) {
      const size_t end = text.find('\n');
      if (text.starts_with("CPU,")) cpus.emplace(text.substr(4, end - 4));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    for (const std::string& cpu : cpus) {
      if (!libpfm_knows_pmu(cpu)) continue;  // the kernel's names, or a processor newer than this libpfm4
      perf::PresetTable presets;
      EXPECT_EQ(perf::parse_presets(table->text, {cpu}, table->name, &presets), 0u);
      for (const auto& [name, lines] : presets) {
        for (const perf::PresetLine& line : lines) {
          for (const std::string& event : line.events) {
            if (event.find('/') != std::string::npos || event.starts_with("perf::")) continue;
            const std::string full = cpu + "::" + event;
            pfm_pmu_encode_arg_t argument{};
            argument.size = sizeof argument;
            const int result = pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument);
            std::free(argument.codes);
            EXPECT_EQ(result, PFM_SUCCESS) << line.source << ": " << full << ": " << pfm_strerror(result);
            ++checked;
          }
        }
      }
    }
  }
#if defined(__x86_64__)
  EXPECT_GT(checked, 100u);
#endif
}

}  // namespace
}  // namespace substrata::test
