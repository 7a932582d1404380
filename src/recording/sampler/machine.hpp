// Where and by what a recording is made: the properties that stand at its beginning.
#pragma once

#include <optional>
#include <string>

#include "recording/recording.hpp"

namespace substrata::sampler {

// Host, processor, kernel, boot, software versions, clocks at this moment.
recording::Properties machine_properties();
std::string host_name();

// The place of this process in an MPI job, where a launcher of Open MPI, MPICH or Slurm started it.
struct RankOfJob {
  std::string rank;        // of the world
  std::string local_rank;  // on this node
  std::string job;         // the same for all ranks of the job on this node, unlike that of another job
};
std::optional<RankOfJob> rank_of_job();

}  // namespace substrata::sampler
