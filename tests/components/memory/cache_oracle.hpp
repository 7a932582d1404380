// The caches once more, slowly and differently: every line carries the number of its last use, nothing is
// kept in order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cache/cache_model.hpp"

namespace substrata::memory::test {

class CacheOracle {
 public:
  explicit CacheOracle(const Geometry& geometry) : geometry_(geometry) {}

  Counts counts;
  std::vector<std::string> traffic;

  void access(uint64_t address, uint32_t size, bool write) {
    const uint64_t bytes = size == 0 ? 1 : size;
    for (uint64_t line = address / geometry_.line_bytes; line <= (address + bytes - 1) / geometry_.line_bytes;
         ++line) {
      ++counts.references;
      ++clock_;
      if (const auto found = l1_.find(line); found != l1_.end()) {
        found->second.used = clock_;
        found->second.dirty = found->second.dirty || write;
        continue;
      }
      ++counts.l1_misses;
      if (uint64_t victim = 0; full(l1_, line, geometry_.l1_bytes, geometry_.l1_ways, &victim)) {
        const bool dirty = l1_.at(victim).dirty;
        l1_.erase(victim);
        if (dirty) {
          ++counts.l1_write_backs;
          report("l1 write-back", victim);
          into_l2(victim, true, false);
        }
      }
      l1_[line] = {clock_, write};
      ++clock_;
      report(l2_.count(line) != 0 ? "l1 fill, hit" : "l1 fill, miss", line);
      into_l2(line, false, true);
    }
  }

 private:
  struct Line {
    uint64_t used;
    bool dirty;
  };
  using Level = std::map<uint64_t, Line>;

  // Is the set of `line` full? Then which line was used longest ago?
  bool full(const Level& level, uint64_t line, uint64_t bytes, uint64_t ways, uint64_t* oldest) const {
    const uint64_t sets = bytes / ways / geometry_.line_bytes;
    uint64_t there = 0;
    uint64_t age = ~uint64_t{0};
    for (const auto& [other, state] : level) {
      if (other % sets != line % sets) continue;
      ++there;
      if (state.used < age) {
        age = state.used;
        *oldest = other;
      }
    }
    return there == ways;
  }

  void into_l2(uint64_t line, bool dirty, bool demand) {
    ++clock_;
    if (const auto found = l2_.find(line); found != l2_.end()) {
      found->second.used = clock_;
      found->second.dirty = found->second.dirty || dirty;
      return;
    }
    if (demand) {
      ++counts.l2_misses;
      report("l2 fill", line);
    }
    if (uint64_t victim = 0; full(l2_, line, geometry_.l2_bytes, geometry_.l2_ways, &victim)) {
      bool victim_dirty = l2_.at(victim).dirty;
      l2_.erase(victim);
      if (geometry_.inclusive && l1_.count(victim) != 0) {
        victim_dirty = victim_dirty || l1_.at(victim).dirty;
        l1_.erase(victim);
        ++counts.back_invalidations;
        report("l1 invalidate", victim);
      }
      if (victim_dirty) {
        ++counts.l2_write_backs;
        report("l2 write-back", victim);
      }
    }
    l2_[line] = {clock_, dirty};
  }

  void report(const std::string& what, uint64_t line) {
    traffic.push_back(what + " " + std::to_string(line * geometry_.line_bytes));
  }

  const Geometry geometry_;
  Level l1_;
  Level l2_;
  uint64_t clock_ = 0;
};

// The model's traffic in the oracle's words.
struct SpokenTraffic {
  std::vector<std::string> reported;
  void l1_fill(uint64_t address, bool hit) {
    reported.push_back((hit ? "l1 fill, hit " : "l1 fill, miss ") + std::to_string(address));
  }
  void l1_write_back(uint64_t address) { reported.push_back("l1 write-back " + std::to_string(address)); }
  void l1_invalidate(uint64_t address) { reported.push_back("l1 invalidate " + std::to_string(address)); }
  void l2_fill(uint64_t address) { reported.push_back("l2 fill " + std::to_string(address)); }
  void l2_write_back(uint64_t address) { reported.push_back("l2 write-back " + std::to_string(address)); }
};

}  // namespace substrata::memory::test
