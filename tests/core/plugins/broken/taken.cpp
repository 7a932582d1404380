// A plug-in that wants the name of a built-in substrate.
#include "support/smallest_substrate.hpp"

SUBSTRATA_ENTRY substrata_entry_example(const substrata::Host* host,
                                        substrata::SubstrateTable* out) noexcept {
  return substrata::publish(smallest::table("example"), host, out);
}
