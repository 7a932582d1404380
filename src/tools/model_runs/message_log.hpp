// The messages of an MPI program as its ranks leave them for the modelled cluster (sources/mpi/cluster_log.hpp).
#pragma once

#include <substrata/myrinet.h>

#include <string>
#include <string_view>
#include <vector>

#include "sources/mpi/cluster_log.hpp"

namespace substrata::model_runs {

struct MessageLog {
  mpi::MessageLogHeader header;
  std::vector<substrata_myrinet_operation> operations;  // rank after rank
};

// Of a file's bytes. Throws std::runtime_error with what is wrong with them; peers and phases are not looked
// at (substrata_myrinet_carry refuses wrong ones).
MessageLog parse_message_log(std::string_view bytes);

}  // namespace substrata::model_runs
