// Runs of the modelled cluster, and what its monitor keeps of them.
#include "tools/model_runs/myrinet_run.hpp"

#include <substrata/result.hpp>

#include <stdexcept>

#include "tools/model_runs/workload_run.hpp"

namespace substrata::model_runs {
namespace {

void demand(int code) {
  if (code != 0) throw std::runtime_error(substrata_myrinet_error());
}

}  // namespace

double myrinet_run(const std::string& workload, unsigned nodes, const std::string& parameters,
                   std::uint64_t seed) {
  return seconds_of(run_workload("myrinet", workload, nodes, parameters, seed));
}

void myrinet_begin(unsigned programs) {
  auto shape = client::sized<substrata_myrinet_shape>();
  demand(substrata_myrinet_stop());
  demand(substrata_myrinet_default_shape(&shape));
  shape.programs = programs;
  demand(substrata_myrinet_configure(&shape));
  demand(substrata_myrinet_start());
}

void myrinet_end() { demand(substrata_myrinet_stop()); }

Signature myrinet_signature(substrata_myrinet_axis axis, unsigned program, unsigned node) {
  std::uint32_t count = 0;
  demand(substrata_myrinet_signature(node, program, axis, nullptr, 0, &count));
  Signature points(count);
  demand(substrata_myrinet_signature(node, program, axis, points.data(), count, &count));
  return points;
}

std::vector<substrata_myrinet_operation_point> myrinet_operations(unsigned node) {
  std::vector<substrata_myrinet_operation_point> points(SUBSTRATA_MYRINET_OPERATION_KINDS);
  std::uint32_t count = 0;
  demand(substrata_myrinet_operations(node, SUBSTRATA_MYRINET_ALL, points.data(),
                                      SUBSTRATA_MYRINET_OPERATION_KINDS, &count));
  points.resize(count);
  return points;
}

}  // namespace substrata::model_runs
