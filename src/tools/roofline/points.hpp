// Points below the roofs: what a program, or one of its regions, did and moved.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/roofline/peaks.hpp"

namespace substrata::roofline {

// Where a number comes from.
enum class Source { kNone, kMeasured, kCounted, kModelled, kTraced };
// "measured", "counted by the program", "modelled", "counted by the access tracer".
const char* source_name(Source source);

struct Amount {
  double value = 0;
  Source source = Source::kNone;
  std::string from;  // the events
};

struct Point {
  std::string name;  // of the region; "whole program"
  double seconds = 0;
  Amount flops;
  Amount bytes;           // between the processor and memory, unless `from` says otherwise
  bool one_core = false;  // it kept no more than one core busy: the roofs of one are its own

  bool has_rate() const { return flops.source != Source::kNone && seconds > 0; }
  bool has_intensity() const {
    return flops.source != Source::kNone && bytes.source != Source::kNone && bytes.value > 0;
  }
  double rate() const { return flops.value / seconds; }
  double intensity() const { return flops.value / bytes.value; }
};

// The most that the roofs of one core, or of all, let a point of this intensity reach.
double roof_above(const Peaks& peaks, double intensity, bool one_core);

// Numbers that a program published, as libsde wrote them: lines "LIBRARY::EVENT<tab>NUMBER", summed up by name.
std::map<std::string, double> read_totals(std::string_view text);

// Which events are floating-point operations and which bytes of memory.
struct Chosen {
  std::string flops;  // an event's name, whole or its last part; empty: FLOP, FLOPS or FP_OPS
  std::string bytes;  // empty: MEM_BYTES or MEMORY_BYTES
};
// The amounts of each region; of "" the program as a whole: events "LIBRARY::FLOP". An event "LIBRARY::REGION:FLOP"
// belongs to the region of that name, and to the whole where the program has no event for that.
struct Published {
  Amount flops;
  Amount bytes;
};
std::map<std::string, Published> published_amounts(const std::map<std::string, double>& totals,
                                                   const Chosen& chosen);

}  // namespace substrata::roofline
