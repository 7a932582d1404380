// The forms in which a rank's signatures are written: one part for the whole program, then one for each
// phase.
#pragma once

#include <substrata/myrinet.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace substrata::model_runs {

// One signature, with the counts it belongs to.
struct ReplayPart {
  std::string name;  // of the phase; "" of all
  substrata_myrinet_counts counts{};
  std::vector<substrata_myrinet_point> points;
};

// Counts under the names of the events.
nlohmann::ordered_json counts_as_json(const substrata_myrinet_counts& counts);
// A rank's entry of cluster.json; `parts` has one at least.
nlohmann::ordered_json rank_as_json(unsigned rank, const std::vector<ReplayPart>& parts);
// The same for gnuplot: one block for each part that has packets, and the commands that draw rank `rank`'s.
std::string rank_as_table(const std::vector<ReplayPart>& parts);
std::string rank_as_plot(unsigned rank, const std::vector<ReplayPart>& parts);

}  // namespace substrata::model_runs
