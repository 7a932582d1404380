// Any text as a counter circuit, and what it makes of a few packets.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "numachine/processor_card.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace substrata::numachine;
  Circuit circuit;
  std::string error;
  if (!Circuit::compile({reinterpret_cast<const char*>(data), size}, &circuit, error)) {
    if (error.empty()) __builtin_trap();
    return 0;
  }
  static ProcessorCard& card = *new ProcessorCard;
  card.write(kCounterEnable, 1);
  card.write(kSramEnable, 1);
  card.configure(std::move(circuit));
  card.request(kCommandRead, 0x12345680);
  card.response(kCommandRead | kCommandResponse, 0x12345680, MissType::kOther, 0x1f, 9);
  card.secondary_access(3, true, true);
  return 0;
}
