// A substrate that lacks a required slot.
#include "broken/smallest.hpp"

namespace {
substrata::SubstrateTable without_read() noexcept {
  substrata::SubstrateTable table = smallest::table("noread");
  table.read = nullptr;
  return table;
}
}  // namespace

SUBSTRATA_PUBLISH(noread, without_read());
