// A substrate whose table is named otherwise than its file.
#include "support/smallest_substrate.hpp"

SUBSTRATA_ENTRY substrata_entry_othername(const substrata::Host* host,
                                          substrata::SubstrateTable* out) noexcept {
  return substrata::publish(smallest::table("Somebody Else"), host, out);
}
