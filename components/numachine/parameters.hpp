// What a modelled NUMAchine is made of and how long each part takes, with the source of each number.
#pragma once

#include <cstdint>

#include "numachine/execution.hpp"
#include "numachine/protocol.hpp"

namespace substrata::numachine {

// Picoseconds of the model.
using Time = std::uint64_t;

// Sources: "thesis" is Lemieux's thesis; "own" are round numbers of ours, where it gives none.
struct Parameters {
  ProtocolShape shape;                     // line: own; pages: own
  std::uint64_t cache_bytes = 1 << 20;     // thesis, section 4.4.5
  std::uint64_t network_bytes = 4 << 20;   // own
  std::uint64_t primary_bytes = 16 << 10;  // R4400's data cache
  std::uint64_t primary_line = 32;         // own
  // Lines whose data have the other of the two protocols (section 4.1).
  std::uint64_t other_first = 0, other_lines = 0;
  bool warm = false;  // caches begin full of an earlier program's lines
  // Lines that are not cached: their words are read and written in memory (section 3.3.2).
  std::uint64_t uncached_first = 0, uncached_lines = 0;
  // Lines whose loads say that a store is likely, and come with ownership (section 3.3.2).
  std::uint64_t intent_first = 0, intent_lines = 0;
  // Lines that the program asks for by a hint when it uses the line before (section 3.3.2).
  std::uint64_t prefetch_first = 0, prefetch_lines = 0;
  bool prefetches_own = false;  // with ownership, whatever loads of the line say
  // The time of a write that lacks ownership may be filled with computation, as under weak consistency (section 3.3.2).
  bool weak_consistency = false;
  bool waits_for_writes = true;  // figure 4.8b's circuit lets a write between probe and read pass
  bool traces_buses = false;     // the bus-transaction tracing board (section 5.2)
  // Processor cycles that a store right after a load waits for it; off, as workloads do not report what depends
  // on what.
  std::uint64_t slip_cycles = 0;
  static constexpr Time bus_ps = 20'000;       // 50 MHz, thesis, section 4.2
  static constexpr Time processor_ps = 6'667;  // 150 MHz, thesis, section 4.1
  std::uint64_t secondary_stall =
      6;  // processor cycles of a primary miss that the secondary cache serves, own
  std::uint64_t snoop_stall =
      6;  // processor cycles an intervention or invalidation takes from its target, own
  std::uint64_t invalidate_window =
      34;  // processor cycles within which an invalidation is served, section 4.4.4
  // Bus cycles.
  std::uint64_t fifo_cycles = 2;            // through the processor card's or memory card's FIFO, own
  std::uint64_t lookup_cycles = 4;          // of a block's state, own
  std::uint64_t memory_cycles = 12;         // to read or write a block, own
  std::uint64_t intervention_cycles = 8;    // for a processor to give up its dirty line, own
  std::uint64_t ring_interface_cycles = 3;  // onto or off a ring, own
  std::uint64_t retry_cycles = 16;          // after a negative acknowledgement, own
  std::uint32_t stations_per_ring = 4;      // own
  // Bus cycles of a read miss that the processor fills with other work (item 19 of table 4.10); the R4400:
  // none.
  std::uint64_t overlap_cycles = 0;
  std::uint64_t exception_cycles = 8;   // processor cycles killed by an interrupt, one pipeline's depth, own
  std::uint64_t restart_cycles = 8;     // and to fill it again, own
  std::uint64_t informing_cycles = 10;  // of a miss handler (section 3.3.1: "a 10-cycle miss handler")
  ExecutionParameters execution;
};

}  // namespace substrata::numachine
