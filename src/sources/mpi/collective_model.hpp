// Collective operations as the messages of their textbook algorithms: for MPI libraries that do not show
// their own.
#pragma once

#include <cstdint>
#include <vector>

namespace substrata::mpi {

// How many messages rank `me` of `size` sends in a collective operation, and to whom (ranks of the
// communicator), when it is carried out by its textbook algorithm. The form modelled where an MPI library
// does not show its own messages.
enum class Collective {
  kBarrier,
  kBroadcast,
  kReduce,
  kAllreduce,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kScan
};
struct ModelledMessage {
  int to;
  uint64_t bytes;
};
// `bytes` is one rank's block. Barrier: dissemination. Broadcast, reduce, scatter, gather: binomial tree.
// Allreduce: recursive doubling (the ranks beyond a power of two hand over first). Allgather: ring. Alltoall:
// one message to each. Scan: a chain.
std::vector<ModelledMessage> expand(Collective operation, int me, int size, int root, uint64_t bytes);
// From whom rank `me` receives in it: one entry a message, in the order in which each source sends them.
std::vector<int> sources_in(Collective operation, int me, int size, int root);

// The same where each rank has a block of its own size (bytes by rank). An empty block is not a message.
// One message to each other rank: the calls alltoallv and alltoallw, scatterv at its root, reduce_scatter.
std::vector<ModelledMessage> expand_pairwise(int me, const std::vector<uint64_t>& blocks);
// allgatherv by a ring: block after block goes on to the next rank.
std::vector<ModelledMessage> expand_ring(int me, const std::vector<uint64_t>& blocks);
// From whom: each other rank whose block for me is not empty; the rank before me, once for each block that is
// not my own.
std::vector<int> sources_pairwise(int me, const std::vector<uint64_t>& blocks);
std::vector<int> sources_ring(int me, const std::vector<uint64_t>& blocks);

}  // namespace substrata::mpi
