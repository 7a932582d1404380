// Any text as the kernel's files about a process: its memory map and its status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/system/system_info.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto objects = substrata::parse_maps(text))
    for (const substrata::AddressMap& object : *objects)
      if (object.text_end == 0) std::abort();
  if (const auto status = substrata::parse_status(text))
    if (status->size_kib < 0) std::abort();
  return 0;
}
