// The ranks as nodes of a modelled cluster.
#pragma once

#include <substrata/feed.hpp>

#include "sources/mpi/cluster_log.hpp"

namespace substrata::mpi {

struct Shim;

struct Cluster {
  ClusterChoice choice;  // the same in every rank
  ClusterLog log;
  client::feed::Following following;  // of this process alone, for its readers of counters
};
// Both are collective.
void begin_cluster(Shim& self);
void end_cluster(Shim& self);

}  // namespace substrata::mpi
