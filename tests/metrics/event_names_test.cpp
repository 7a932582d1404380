// The native events that metrics of processor families name, against libpfm4's tables; presets against PAPI's list.
#include <gtest/gtest.h>
#include <perfmon/pfmlib.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/events/preset.hpp"
#include "metrics/foreign.hpp"
#include "metrics/library.hpp"
#include "support/counter_units.hpp"

namespace {

using namespace substrata;
using namespace substrata::metrics;

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
      if (!tests::is_counter_unit(unit)) continue;
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

// Events that LIKWID's groups of the family count, on a counter of the core.
struct OfLikwid {
  const char* folder;
  std::vector<const char*> events;
};
class LikwidFamilies : public testing::TestWithParam<OfLikwid> {};

bool is_encoded(const std::string& full) {
  pfm_pmu_encode_arg_t argument{};
  argument.size = sizeof argument;
  const int result = pfm_get_os_event_encoding(full.c_str(), PFM_PLM3, PFM_OS_NONE, &argument);
  std::free(argument.codes);
  return result == PFM_SUCCESS;
}

TEST_P(LikwidFamilies, HaveTheirEventsInLibpfm) {
  if (std::getenv("LIBPFM_ENCODE_INACTIVE") == nullptr) GTEST_SKIP() << "needs LIBPFM_ENCODE_INACTIVE=1";
  ASSERT_EQ(pfm_initialize(), PFM_SUCCESS);
  const std::vector<std::string> units = processors_of_likwid(GetParam().folder);
  ASSERT_FALSE(units.empty());
  if (!tests::is_counter_unit(units.front())) GTEST_SKIP() << "this libpfm4 has no " << units.front();
  for (const char* event : GetParam().events) {
    std::string unit, why;
    bool encoded = false;
    for (const std::string& one : events_of_likwid("PMC0", event, units, &unit, &why))
      encoded = encoded || find_preset(one) >= 0 || is_encoded(units.front() + "::" + one);
    EXPECT_TRUE(encoded) << event << why;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LikwidFamilies,
    testing::Values(OfLikwid{"skylakeX",
                             {"INSTR_RETIRED_ANY", "CPU_CLK_UNHALTED_CORE", "UOPS_ISSUED_ANY",
                              "UOPS_RETIRED_RETIRE_SLOTS", "IDQ_UOPS_NOT_DELIVERED_CORE",
                              "INT_MISC_RECOVERY_CYCLES", "FP_ARITH_INST_RETIRED_SCALAR_DOUBLE",
                              "FP_ARITH_INST_RETIRED_512B_PACKED_DOUBLE", "L1D_REPLACEMENT",
                              "BR_INST_RETIRED_ALL_BRANCHES"}},
                    OfLikwid{"ICX",
                             {"FP_ARITH_INST_RETIRED_256B_PACKED_DOUBLE", "MEM_INST_RETIRED_ALL_LOADS",
                              "MEM_INST_RETIRED_ALL_STORES", "BR_MISP_RETIRED_ALL_BRANCHES"}},
                    OfLikwid{"haswellEP", {"L1D_REPLACEMENT", "MEM_UOPS_RETIRED_LOADS_ALL"}},
                    OfLikwid{"zen3",
                             {"RETIRED_INSTRUCTIONS", "CPU_CLOCKS_UNHALTED", "RETIRED_SSE_AVX_FLOPS_ALL",
                              "RETIRED_BRANCH_INSTR", "LS_DISPATCH_STORES"}}),
    [](const auto& one) { return std::string(one.param.folder); });

}  // namespace
