// Fuzzes the parsers of the access tracer's settings.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sources/access_tracer/filter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  substrata::access_tracer::Filter filter;
  substrata::access_tracer::Burst burst;
  (void)substrata::access_tracer::parse_filter(text, filter);
  (void)substrata::access_tracer::parse_burst(text, burst);
  return 0;
}
