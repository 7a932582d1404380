// Any text as /proc/stat: the parser must end, stay inside the text and never give more busy than total
// ticks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "thermal_model/processor_use.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  substrata::thermal_model::ProcessorTime time;
  size_t left = text.size();
  while (substrata::thermal_model::next_processor(&text, &time)) {
    if (time.busy < 0 || time.busy > time.total || text.size() >= left) std::abort();
    left = text.size();
  }
  return 0;
}
