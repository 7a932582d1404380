// Any text as a group of LIKWID and as a vendor's JSON: read within bounds, faults have a place, and what was taken can
// be computed.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "metrics/evaluation.hpp"
#include "metrics/foreign.hpp"

namespace {

void check(const std::vector<substrata::metrics::Fault>& faults) {
  for (const substrata::metrics::Fault& fault : faults)
    if (fault.line == 0 || fault.column == 0 || fault.what.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata::metrics;
  const std::string text(reinterpret_cast<const char*>(data), size);
  Foreign about;
  about.file = "fuzz";
  about.processors = {"skx"};
  about.clock_hz = 2e9;
  Definitions definitions;
  check(parse_likwid_group(text, "FUZZ", about, &definitions));
  VendorCodes codes;
  check(parse_vendor_codes(text, "fuzz", &codes));
  check(parse_vendor_metrics(text, about, codes, &definitions));
  for (const Metric& metric : definitions.metrics) {
    Number number;
    number.present = true;
    number.value = 3;
    const std::vector<Number> terms(metric.terms.size(), number);
    const Number result = evaluate(metric, terms, 2, 4);
    if (result.present && result.value != result.value) std::abort();
  }
  return 0;
}
