// Fuzzes the file in which an MPI program's ranks leave their messages.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "tools/model_runs/message_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    (void)substrata::model_runs::parse_message_log({reinterpret_cast<const char*>(data), size});
  } catch (const std::runtime_error&) {
  }
  return 0;
}
