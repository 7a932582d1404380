// What sources publish, as tests publish it in their place.
#pragma once

#include <substrata/feed.h>

#include <cstdint>

namespace substrata::tests {

// An access of a program.
inline substrata_transaction access(uint16_t kind, uint64_t address, uint32_t size, uint64_t time) {
  substrata_transaction t{};
  t.time = time;
  t.address = address;
  t.size = size;
  t.kind = kind;
  return t;
}

// A message between ranks.
inline substrata_transaction message(uint16_t kind, uint32_t from, uint32_t to, uint32_t bytes,
                                     uint64_t time_ns) {
  substrata_transaction t = access(kind, 0, bytes, time_ns);
  t.initiator = from;
  t.target = to;
  return t;
}

}  // namespace substrata::tests
