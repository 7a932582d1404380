// Fuzzes the parser of preset tables and of sysfs formats: no input may read outside itself or give an
// unsound line.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "perf_events/device_files.hpp"
#include "perf_events/presets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  substrata::perf::PresetTable table;
  substrata::perf::parse_presets(text, {"skx", "fake"}, "fuzz", &table);
  for (const auto& [name, lines] : table)
    for (const substrata::perf::PresetLine& line : lines)
      if (line.events.empty() || line.events.size() > substrata::kMaxRecipeTerms ||
          (line.derived == "DERIVED_POSTFIX" &&
           !substrata::perf::postfix_is_sound(line.postfix, line.events.size())))
        std::abort();
  if (const auto field = substrata::perf::parse_format(text))
    for (const auto& range : field->ranges)
      if (range.low > range.high || range.high > 63) std::abort();
  substrata::perf::parse_cpu_list(text.substr(0, 64));
  substrata::perf::Pmu pmu;
  pmu.name = "p";
  pmu.format.emplace("event", *substrata::perf::parse_format("config:0-7,32-35"));
  std::string error;
  substrata::perf::encode_terms(pmu, text, &error);
  return 0;
}
