// The native events that metrics of processor families name, against libpfm4's tables; presets against PAPI's list.
#include <gtest/gtest.h>
#include <perfmon/pfmlib.h>

#include <cstdlib>
#include <string>

#include "events/preset.hpp"
#include "metrics/library.hpp"

namespace {

using namespace substrata;
using namespace substrata::metrics;

bool libpfm_knows(const std::string& unit) {
  for (int id = 0; id < PFM_PMU_MAX; ++id) {
    pfm_pmu_info_t info{};
    info.size = sizeof info;
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &info) == PFM_SUCCESS && unit == info.name) return true;
  }
  return false;
}

Definitions all_definitions() {
  Definitions all;
  for (const BuiltInTable* table = built_in_tables(); table->name != nullptr; ++table)
    parse_definitions(table->text, table->name, &all);
  return all;
}

TEST(EventsOfMetrics, ThatArePresetsArePapis) {
  for (const Metric& metric : all_definitions().metrics)
    for (const Term& term : metric.terms)
      for (const std::string& event : term.events)
        EXPECT_TRUE(!event.starts_with("PAPI_") || find_preset(event) >= 0) << metric.place << ": " << event;
}

TEST(EventsOfMetrics, OfAProcessorFamilyAreEncodedByLibpfm) {
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  unsigned checked = 0;
  for (const Metric& metric : all_definitions().metrics)
    for (const std::string& unit : metric.processors) {
      if (!libpfm_knows(unit)) continue;
      for (const Term& term : metric.terms)
        for (const std::string& event : term.events) {
          if (event.starts_with("PAPI_") || event.find('/') != std::string::npos ||
              event.starts_with("perf::"))
            continue;
          const std::string full = unit + "::" + event;
          pfm_pmu_encode_arg_t argument{};
          argument.size = sizeof argument;
          const int result = pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument);
          std::free(argument.codes);
          EXPECT_EQ(result, PFM_SUCCESS) << metric.place << ": " << full << ": " << pfm_strerror(result);
          ++checked;
        }
    }
#if defined(__x86_64__)
  EXPECT_GE(checked, 40u);
#endif
}

}  // namespace
