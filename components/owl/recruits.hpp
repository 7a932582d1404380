// The capsules that a rule calls in, and the texts that their packets and metrics become.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "owl/capsule.hpp"

namespace substrata::owl {

struct Recruit {
  std::string module;
  std::string probes;
  std::string registers;
  std::string name{};
  Capsule* capsule = nullptr;      // from the first time on
  std::vector<uint64_t> before{};  // its metrics when it began
};

// By name of the object: transactions and misses at one place.
struct LevelCounts {
  std::string probes;
  std::map<std::string, std::pair<uint64_t, uint64_t>> objects;
};

// Its metrics now; none where there is no such capsule.
std::vector<uint64_t> metric_values(const Recruit& recruit);

// These two take all packets out of the recruit's ring.
LevelCounts counts_by_object(const Recruit& recruit);
// "conflict gradient pressure 33280" for the ten pairs with most.
std::string conflicts_of(const Recruit& recruit);

// "object gradient accesses 4096 misses 512" for the ten with most misses.
std::string objects_of(const LevelCounts& level);
// "level gradient mem.cpu0.accesses 4096 misses 512 mem.cpu0.l1-l2 512 misses 512": the same objects at each place, the
// ten with most misses at the last place.
std::string levels_of(const std::vector<LevelCounts>& levels);
// What the recruit counted this time: "metrics counter mem.cpu0.l2-memory TRANSACTIONS 32768 ..."
std::string metrics_of(const Recruit& recruit);

}  // namespace substrata::owl
