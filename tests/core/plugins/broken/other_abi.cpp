// A substrate built for an interface this library does not speak.
#include <substrata/substrate.h>

SUBSTRATA_ENTRY substrata_entry_otherabi(const substrata::Host* host,
                                         substrata::SubstrateTable* out) noexcept {
  substrata::SubstrateTable table{.abi = substrata::kSubstrateAbi + 41, .name = "otherabi"};
  return substrata::publish(table, host, out);
}
