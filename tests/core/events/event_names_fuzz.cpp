// Fuzzes the lookup of event names over the built-in substrates: any bytes are a code or a refusal with a
// message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/eventset/library.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace substrata;
  static const bool up = Library::instance().initialise().ok();
  if (!up || size > 512) return 0;
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const Result<uint32_t> code = Library::instance().catalogue().find(name);
  if (!code) {
    if (code.error().note == nullptr) std::abort();
    return 0;
  }
  if (!Library::instance().catalogue().name_of(*code)) std::abort();
  return 0;
}
