// Any text as a file of metrics: it is read within bounds, faults lie in the text, and what was taken can be computed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "metrics/evaluation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata::metrics;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Definitions definitions;
  for (const Fault& fault : parse_definitions(text, "fuzz", &definitions))
    if (fault.line == 0 || fault.column == 0 || fault.what.empty()) std::abort();
  for (const Metric& metric : definitions.metrics) {
    Number number;
    number.present = true;
    number.value = 3;
    number.uncertainty = 1;
    const std::vector<Number> terms(metric.terms.size(), number);
    const Number result = evaluate(metric, terms, 2, 4);
    if (result.present && result.value != result.value) std::abort();
  }
  return 0;
}
