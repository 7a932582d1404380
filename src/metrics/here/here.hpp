// Metrics of this process: the definitions for its machine, and the events that its substrates count.
#pragma once

#include <memory>

#include "metrics/library.hpp"

namespace substrata::metrics {

// Reads the files. Opens the substrates of the processor, which name its counter units.
std::unique_ptr<Library> library_of_this_machine();

// Through the layer: asks, and opens, the substrates that events belong to.
Countable in_this_process();

// Whether an event of it comes from a model.
bool is_modelled(const Bound& bound);

}  // namespace substrata::metrics
