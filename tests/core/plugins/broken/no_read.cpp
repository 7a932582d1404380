// A substrate that lacks a required slot.
#include "support/smallest_substrate.hpp"

SUBSTRATA_ENTRY substrata_entry_noread(const substrata::Host* host, substrata::SubstrateTable* out) noexcept {
  substrata::SubstrateTable table = smallest::table("noread");
  table.read = nullptr;
  return substrata::publish(table, host, out);
}
