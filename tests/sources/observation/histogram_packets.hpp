// What a capsule with Owl's histogram counted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <substrata/owl.hpp>
#include <utility>
#include <vector>

namespace substrata::tests {

// Stops the capsule. Its keys with their counts, by increasing key.
inline std::vector<std::pair<uint64_t, uint64_t>> counts_by_key(owl_monitor::Capsule& capsule) {
  EXPECT_EQ(substrata_owl_stop(capsule.get()), 0) << substrata_owl_error();
  capsule.write_back();
  owl_monitor::Reader reader = capsule.reader();
  owl_monitor::Packet packet;
  std::vector<std::pair<uint64_t, uint64_t>> counts;
  while (reader.next(packet)) {
    uint64_t words[2] = {};
    std::memcpy(words, packet.data.data(), std::min(sizeof words, packet.data.size()));
    counts.emplace_back(words[0], words[1]);
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

}  // namespace substrata::tests
