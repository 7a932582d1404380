// A message between ranks as the MPI shim publishes it.
#pragma once

#include <substrata/feed.h>

#include <cstdint>

namespace substrata::myrinet::test {

inline substrata_transaction published_message(uint16_t kind, uint32_t from, uint32_t to, uint32_t bytes,
                                               uint64_t time_ns) {
  substrata_transaction t{};
  t.time = time_ns;
  t.initiator = from;
  t.target = to;
  t.size = bytes;
  t.kind = kind;
  return t;
}

}  // namespace substrata::myrinet::test
