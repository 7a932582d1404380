// Runs on the modelled Myrinet cluster, and what its monitors keep of them, for the reproductions.
#pragma once

#include <substrata/feed.h>
#include <substrata/myrinet.h>

#include <string>
#include <vector>

#include "papers/reproduction.hpp"
#include "tools/model_runs/myrinet_run.hpp"

namespace substrata::papers {

// Runs a workload (myrinet_run) with recording, from empty statistics of the paper's shape.
double myrinet_recorded(const std::string& workload, unsigned nodes, const std::string& parameters = "",
                        std::uint64_t seed = 1);

// A signature as a table and as a figure with the paper's two panels into the setting's folder; `paper`: what the text
// says of it.
void write_signature(const Setting& setting, const std::string& name, const std::string& title,
                     const model_runs::Signature& signature, const std::vector<std::string>& paper);

// "9.1 us"
std::string microseconds(double value);
// "3.4 %"
std::string percent(double share);

}  // namespace substrata::papers
