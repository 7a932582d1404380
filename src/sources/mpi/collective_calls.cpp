// The collective calls, each with its non-blocking form: at level 1 they count as their textbook messages.
#include <vector>

#include "sources/mpi/messages.hpp"
#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/wrap.hpp"

namespace substrata::mpi {
namespace {

struct Place {
  int me = 0;
  int size = 1;
  bool usable = false;  // level 1, and one group of ranks
};
Place place_in(MPI_Comm comm) {
  Place out;
  if (!level_one()) return out;
  int inter = 0;
  pmpi().Comm_test_inter(comm, &inter);
  if (inter) return out;
  pmpi().Comm_rank(comm, &out.me);
  pmpi().Comm_size(comm, &out.size);
  out.usable = true;
  return out;
}

// Bytes of each rank's block.
std::vector<uint64_t> blocks_of(const int* counts, int size, MPI_Datatype type) {
  const uint64_t unit = bytes_of(1, type);
  std::vector<uint64_t> out(static_cast<size_t>(size));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint64_t>(counts[i]) * unit;
  return out;
}
std::vector<uint64_t> blocks_of(const int* counts, int size, const MPI_Datatype* types) {
  std::vector<uint64_t> out(static_cast<size_t>(size));
  for (size_t i = 0; i < out.size(); ++i) out[i] = bytes_of(static_cast<size_t>(counts[i]), types[i]);
  return out;
}

void called_gatherv(bool in_place, int count, MPI_Datatype type, const int* counts, MPI_Datatype out_type,
                    int root, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  std::vector<ModelledMessage> messages;
  std::vector<int> sources;
  if (at.me == root) {
    sources = sources_pairwise(at.me, blocks_of(counts, at.size, out_type));
  } else if (const uint64_t bytes = bytes_of(static_cast<size_t>(count), type); bytes != 0 && !in_place) {
    messages.push_back({root, bytes});
  }
  called_collective(comm, messages, sources, site);
}
void called_scatterv(const int* counts, MPI_Datatype type, int out_count, MPI_Datatype out_type, int root,
                     MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  std::vector<ModelledMessage> messages;
  std::vector<int> sources;
  if (at.me == root)
    messages = expand_pairwise(at.me, blocks_of(counts, at.size, type));
  else if (bytes_of(static_cast<size_t>(out_count), out_type) != 0)
    sources.push_back(root);
  called_collective(comm, messages, sources, site);
}
void called_allgatherv(const int* counts, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> blocks = blocks_of(counts, at.size, type);
  called_collective(comm, expand_ring(at.me, blocks), sources_ring(at.me, blocks), site);
}
template <typename Type>
void called_alltoallv(bool in_place, const int* counts, Type type, const int* in_counts, Type in_type,
                      MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> in = blocks_of(in_counts, at.size, in_type);
  called_collective(comm, expand_pairwise(at.me, in_place ? in : blocks_of(counts, at.size, type)),
                    sources_pairwise(at.me, in), site);
}
// Every rank gives each other its part of the operands.
void called_reduce_scatter(const int* counts, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<uint64_t> blocks = blocks_of(counts, at.size, type);
  const std::vector<uint64_t> mine(blocks.size(), blocks[static_cast<size_t>(at.me)]);
  called_collective(comm, expand_pairwise(at.me, blocks), sources_pairwise(at.me, mine), site);
}
void called_reduce_scatter_block(int count, MPI_Datatype type, MPI_Comm comm, void* site) {
  const Place at = place_in(comm);
  if (!at.usable) return;
  const std::vector<int> counts(static_cast<size_t>(at.size), count);
  called_reduce_scatter(counts.data(), type, comm, site);
}
uint64_t block(int count, MPI_Datatype type) {
  return level_one() ? bytes_of(static_cast<size_t>(count), type) : 0;
}

}  // namespace
}  // namespace substrata::mpi

using namespace substrata::mpi;

// clang-format off
CALL_AFTER(Barrier, (MPI_Comm comm), (comm),
           begin_collective(comm, true); called_collective(Collective::kBarrier, comm, 0, 0, site))
CALL_AFTER(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request),
           begin_collective(comm, false); called_collective(Collective::kBarrier, comm, 0, 0, site))

// The blocking form, and the non-blocking one with its request.
#define COLLECTIVES(name, iname, before, arguments, ...)                                                      \
  CALL_AFTER(name, (__VA_ARGS__), (ARGUMENTS arguments), begin_collective(comm, true); before)                \
  CALL_AFTER(iname, (__VA_ARGS__, MPI_Request* request), (ARGUMENTS arguments, request),                      \
             begin_collective(comm, false); before)
#define ARGUMENTS(...) __VA_ARGS__

COLLECTIVES(Bcast, Ibcast, called_collective(Collective::kBroadcast, comm, root, block(count, type), site),
            (data, count, type, root, comm), void* data, int count, MPI_Datatype type, int root, MPI_Comm comm)
COLLECTIVES(Reduce, Ireduce, called_collective(Collective::kReduce, comm, root, block(count, type), site),
            (data, out, count, type, op, root, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, int root, MPI_Comm comm)
COLLECTIVES(Allreduce, Iallreduce, called_collective(Collective::kAllreduce, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Scan, Iscan, called_collective(Collective::kScan, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Exscan, Iexscan, called_collective(Collective::kScan, comm, 0, block(count, type), site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
COLLECTIVES(Gather, Igather,
            called_collective(Collective::kGather, comm, root,
                              data == MPI_IN_PLACE ? block(out_count, out_type) : block(count, type), site),
            (data, count, type, out, out_count, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Scatter, Iscatter,
            called_collective(Collective::kScatter, comm, root,
                              out == MPI_IN_PLACE ? block(count, type) : block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Allgather, Iallgather,
            called_collective(Collective::kAllgather, comm, 0, block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, comm), const void* data, int count, MPI_Datatype type,
            void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Alltoall, Ialltoall,
            called_collective(Collective::kAlltoall, comm, 0, block(out_count, out_type), site),
            (data, count, type, out, out_count, out_type, comm), const void* data, int count, MPI_Datatype type,
            void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Gatherv, Igatherv,
            called_gatherv(data == MPI_IN_PLACE, count, type, counts, out_type, root, comm, site),
            (data, count, type, out, counts, places, out_type, root, comm), const void* data, int count,
            MPI_Datatype type, void* out, const int counts[], const int places[], MPI_Datatype out_type, int root,
            MPI_Comm comm)
COLLECTIVES(Scatterv, Iscatterv, called_scatterv(counts, type, out_count, out_type, root, comm, site),
            (data, counts, places, type, out, out_count, out_type, root, comm), const void* data,
            const int counts[], const int places[], MPI_Datatype type, void* out, int out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm)
COLLECTIVES(Allgatherv, Iallgatherv, called_allgatherv(counts, out_type, comm, site),
            (data, count, type, out, counts, places, out_type, comm), const void* data, int count,
            MPI_Datatype type, void* out, const int counts[], const int places[], MPI_Datatype out_type,
            MPI_Comm comm)
COLLECTIVES(Alltoallv, Ialltoallv,
            called_alltoallv(data == MPI_IN_PLACE, counts, type, out_counts, out_type, comm, site),
            (data, counts, places, type, out, out_counts, out_places, out_type, comm), const void* data,
            const int counts[], const int places[], MPI_Datatype type, void* out, const int out_counts[],
            const int out_places[], MPI_Datatype out_type, MPI_Comm comm)
COLLECTIVES(Alltoallw, Ialltoallw,
            called_alltoallv(data == MPI_IN_PLACE, counts, types, out_counts, out_types, comm, site),
            (data, counts, places, types, out, out_counts, out_places, out_types, comm), const void* data,
            const int counts[], const int places[], const MPI_Datatype types[], void* out, const int out_counts[],
            const int out_places[], const MPI_Datatype out_types[], MPI_Comm comm)
COLLECTIVES(Reduce_scatter, Ireduce_scatter, called_reduce_scatter(counts, type, comm, site),
            (data, out, counts, type, op, comm), const void* data, void* out, const int counts[],
            MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVES(Reduce_scatter_block, Ireduce_scatter_block, called_reduce_scatter_block(count, type, comm, site),
            (data, out, count, type, op, comm), const void* data, void* out, int count, MPI_Datatype type,
            MPI_Op op, MPI_Comm comm)
// clang-format on
