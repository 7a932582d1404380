// Loops whose counts are known, and which preset events each of them proves.
#pragma once

#include <cstdint>
#include <vector>

namespace substrata::tool {

// Written in assembly so that no compiler changes the counts.
struct Kernel {
  const char* name;
  void (*run)(std::uint64_t rounds);
  int instructions;  // a round
  bool (*here)();    // whether this processor can run it
};
// None on a processor for which none were written.
const std::vector<Kernel>& kernels();

// What a round of a kernel counts: exactly, or within bounds that no processor leaves.
struct PresetCheck {
  const Kernel* kernel;
  double least, most;
};
// Of a preset, those that can run here; a preset that nothing proves has none.
std::vector<PresetCheck> checks_of(int preset);

}  // namespace substrata::tool
