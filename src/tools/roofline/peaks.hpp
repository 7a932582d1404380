// What one core and all allowed cores of this machine reach: operations by width of vectors, bytes by level of
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/topology/machine.hpp"

namespace substrata::roofline {

struct Rate {
  std::string name;         // "AVX2", "L2", "memory"
  double one = 0;           // a second, of one core
  double all = 0;           // of all cores together
  std::uint64_t bytes = 0;  // of memory that one core's loop worked on; 0 of operations
};

struct Peaks {
  std::string host;
  std::string processor;
  std::uint64_t cores = 0;       // that were used together
  std::uint64_t last_cache = 0;  // bytes of the largest cache that the machine describes; 0: not known
  std::vector<Rate> operations;  // FLOP/s in double precision, the narrowest vectors first
  std::vector<Rate> memory;      // bytes/s of STREAM's triad, the nearest level first
  // The highest; 0 where nothing was measured. Of one core, or of all.
  double most_operations(bool one) const;
  double memory_bandwidth(bool one) const;  // of the level that is farthest
};

// Of the data caches between this thread's first processor and memory, the nearest first.
std::vector<std::uint64_t> cache_sizes(const topology::Machine& machine);

// Bytes of memory that are free for this process: what the kernel calls available, and no more than the limits of its
// control groups, of both versions. Below `root`, which stands for /; 0: not known.
std::uint64_t memory_to_use(const std::string& root);

// A level of memory and the bytes that the triad's arrays have there, of a core that runs alone and of each core when
// all do.
struct Level {
  std::string name;  // "L2", "memory"
  std::uint64_t alone = 0;
  std::uint64_t together = 0;
};

// Half of a cache, or of a core's share of it, but no more than 16 times the level before; in memory four times the
// largest cache as STREAM asks, but between 48 MiB and 1 GiB and no more than a quarter of `memory` (0: not known).
// Virtual machines describe the caches of all their host as one, and need seconds to get a gigabyte.
std::vector<Level> levels(const topology::Machine& machine, std::uint64_t memory);

// Rates are those of the time that the loops ran, so that others who use the processors do not make them lower; what
// they take of caches and memory does.
// Runs loops for some seconds on the processors that this thread may use, one thread a core.
// `progress`: called with what comes next. Throws std::system_error where a thread cannot be made.
Peaks measure_peaks(const topology::Machine& machine,
                    const std::function<void(const std::string&)>& progress);

std::string peaks_as_json(const Peaks& peaks);
// Throws std::runtime_error with the reason.
Peaks peaks_from_json(std::string_view text);

}  // namespace substrata::roofline
