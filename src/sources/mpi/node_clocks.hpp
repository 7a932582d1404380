// The clocks of other nodes beside that of rank 0's.
#pragma once

namespace substrata::mpi {

struct Shim;

// Where ranks are recorded on nodes with clocks of their own: the first rank of each such node sends messages
// to and fro with rank 0 and reports the offset to its recorder. Collective; some 30 messages a node, in
// turns. No message of it is counted.
void measure_clocks(Shim& self);

}  // namespace substrata::mpi
