// The machine at a glance, for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recording/sampler/machine_state.hpp"

namespace substrata::tool {

// Thread-compatible.
class MachineView {
 public:
  // Takes a state in; processors are shown by what they did since the one before.
  void take(sampler::MachineState state);
  // A bar for each processor, or a block where there are too many for that many rows; memory and load. Each line as
  // wide as `columns`, with escapes for colours if they are wanted. Empty where nothing is known.
  std::vector<std::string> lines(std::size_t columns, std::size_t rows, bool utf8, bool colours) const;

 private:
  sampler::MachineState now_, before_;
};

// Whether standard output should have colours (https://no-color.org).
bool wants_colours();
// In a colour of the terminal's palette, 31 red to 36 cyan, 2 faint; as it is without colours.
std::string coloured(const std::string& text, int colour, bool colours);

}  // namespace substrata::tool
