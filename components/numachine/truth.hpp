// What the model knows of processors and lines, of which the monitors see a part.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "numachine/large_pages.hpp"

namespace substrata::numachine {

// What the model knows for certain of one processor; the monitors only estimate some of it.
struct Truth {
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t pipeline[16] = {};  // processor cycles in each state of table 2.3
  std::uint64_t primary_misses = 0;
  std::uint64_t misses[4] = {};              // by MissType
  std::uint64_t miss_cycles[4] = {};         // bus cycles, by MissType
  std::uint64_t ownership_unsuccessful = 0;  // ended by a time-out
  std::uint64_t reads = 0;
  std::uint64_t read_exclusives = 0;
  std::uint64_t read_cycles = 0;  // bus cycles
  std::uint64_t read_exclusive_cycles = 0;
  std::uint64_t upgrades = 0;
  std::uint64_t updates = 0;
  std::uint64_t write_backs = 0;
  std::uint64_t nacks = 0;
  std::uint64_t nacked_requests = 0;
  std::uint64_t nack_cycles = 0;
  std::uint64_t bus_wait_cycles = 0;
  std::uint64_t local = 0;
  std::uint64_t remote = 0;
  std::uint64_t network_cache_hits = 0;
  std::uint64_t responses[32] = {};  // by RSR
  std::uint64_t invalidation_hits = 0;
  std::uint64_t invalidation_hits_estimated = 0;
  std::uint64_t invalidation_misses_estimated = 0;
  std::uint64_t apparent_miss_cycles = 0;  // processor cycles
  std::uint64_t whole_miss_cycles = 0;     // processor cycles, before overlap
  std::uint64_t exceptions = 0;
  std::uint64_t restart_cycles = 0;
  std::uint64_t branches_mispredicted = 0;
  std::uint64_t branches = 0;  // that a followed program published
  std::uint64_t tlb_misses = 0;
  std::uint64_t tlb_cycles = 0;  // processor cycles from these to the access
  std::uint64_t nops = 0;
  std::uint64_t profiling_instructions = 0;
  std::uint64_t informed = 0;    // miss handlers called
  std::uint64_t bus_errors = 0;  // requests that a time-out ended
  std::uint64_t uncached_reads = 0;
  std::uint64_t uncached_writes = 0;
  std::uint64_t uncached_cycles = 0;     // bus cycles of the reads
  std::uint64_t prefetches = 0;          // requests that hints made
  std::uint64_t prefetches_dropped = 0;  // of these, refused ones

  std::uint64_t instructions() const noexcept {
    return pipeline[0] + pipeline[1] + pipeline[2] + pipeline[3] + pipeline[4] + pipeline[12];
  }
};

// How a line is used by those who miss on it.
struct alignas(64) LineProfile {
  std::uint64_t line = 0;
  std::uint32_t other_misses = 0;
  std::uint32_t invalidation_misses = 0;
  std::uint32_t ownership_misses = 0;
  std::uint32_t writes = 0;         // of all these misses, stores and what asked for ownership
  std::uint32_t invalidations = 0;  // that hit copies
  std::uint32_t nacks = 0;
  std::uint64_t queue_cycles = 0;
  std::uint64_t writers = 0;             // processors (modulo 64) of these
  std::uint64_t readers = 0;             // and of the others
  std::array<std::uint64_t, 8> words{};  // processors that missed on each eighth of the line
};

using LineProfiles = std::vector<LineProfile, LargePages<LineProfile>>;

}  // namespace substrata::numachine
