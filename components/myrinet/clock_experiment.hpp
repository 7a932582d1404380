// An experiment with the cluster's global clock.
#pragma once

#include "myrinet/cluster.hpp"

namespace substrata::myrinet {

// The cluster with periodic synchronisation (parameters.clock must say so) for `duration`; load: streams of
// full packets into node 0 and between two others around each round, so that the two ways of an exchange
// differ. Needs two nodes at least.
ClusterCounts run_clock_experiment(const ClusterParameters& parameters, Time duration, bool load);

}  // namespace substrata::myrinet
