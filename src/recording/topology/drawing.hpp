// A machine as text, as a picture and as JSON, with what ran where.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "recording/finding.hpp"
#include "recording/placement.hpp"
#include "recording/topology/machine.hpp"

namespace substrata::topology {

// Parts below their wholes; a chain of single parts (cache, core, processor) is one line.
void write_text(std::ostream& out, const Machine& machine);
// Boxes in boxes. Processors that tasks ran on have their names and are filled the darker the busier they were.
void write_svg(std::ostream& out, const Machine& machine, const recording::Placement* placement);
// One JSON object.
void write_json(std::ostream& out, const Machine& machine);

// The tasks that ran longest, with their time by processor, and how often they moved.
void write_tasks(std::ostream& out, const recording::Placement& placement);
// One paragraph each: what is wrong, its evidence, what to do.
void write_findings(std::ostream& out, const std::vector<recording::Finding>& findings);

}  // namespace substrata::topology
