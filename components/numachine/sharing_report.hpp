// Names the data objects behind misses and says why they miss: conflicts, kinds of sharing, hot spots.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine {

// Why an object's lines miss.
enum class Cause : std::uint8_t {
  kCapacity,  // compulsory and capacity misses: nothing stands out
  kConflict,
  kFalseSharing,
  kTrueSharing,
  kMigratory,
  kProducerConsumer,
  kHotSpot,
  kLock
};
const char* name_of(Cause cause) noexcept;

// One object and its misses. Rules (our own, built on what sections 3.3.2 and 3.3.3 say of each pattern) are
// in docs/reference/numachine.md.
struct ObjectMisses {
  std::string name;
  Cause cause = Cause::kCapacity;
  std::uint64_t lines = 0;
  std::uint64_t other = 0;
  std::uint64_t invalidation = 0;
  std::uint64_t ownership = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t nacks = 0;
  std::uint64_t queue_cycles = 0;
  std::uint64_t misses() const noexcept { return other + invalidation + ownership; }
};

// A line of one processor's secondary cache that misses more than its share.
struct Spike {
  std::uint32_t cpu = 0;
  std::uint32_t index = 0;
  std::uint64_t misses = 0;
  double average = 0;                // misses of a line of this processor
  std::vector<std::string> objects;  // that miss there, most misses first
};

// The name of the object at an address; "" when it is unknown.
using NameAt = std::function<std::string(std::uint64_t address)>;

// All objects with misses, most misses first. `locks`: addresses that the program locks.
std::vector<ObjectMisses> explain_misses(Model& model, const NameAt& name_at,
                                         std::span<const std::uint64_t> locks = {});
// Lines whose misses exceed their processor's average by more than `threshold` (section 3.3.2), most first.
std::vector<Spike> find_spikes(Model& model, std::uint64_t threshold, const NameAt& name_at);

}  // namespace substrata::numachine
