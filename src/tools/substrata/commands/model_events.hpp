// The events that `substrata run` and `substrata replay` count.
#pragma once

#include <string>
#include <vector>

#include "recording/sampler/measuring.hpp"

namespace substrata::tool {

// The events that the user asked for; without any, every count and gauge of the component that carries the
// machine's name, as far as they fit into one set.
void choose_events(const std::vector<std::string>& event_specs, const std::string& machine,
                   sampler::Measurement& sets);

// Every count of every model.
void choose_models(sampler::Measurement& sets);

// For options that a C interface takes: null when it was not given.
inline const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace substrata::tool
