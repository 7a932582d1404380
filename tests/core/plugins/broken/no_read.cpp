// A substrate that lacks a required slot.
#include "support/smallest_substrate.hpp"

namespace {
substrata::SubstrateTable without_read() noexcept {
  substrata::SubstrateTable table = smallest::table("noread");
  table.read = nullptr;
  return table;
}
}  // namespace

SUBSTRATA_PUBLISH(noread, without_read());
