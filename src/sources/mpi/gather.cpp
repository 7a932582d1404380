// One rank after the other sends its pieces, then an empty one.
#include "sources/mpi/gather.hpp"

#include <algorithm>
#include <cstring>

#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

constexpr int kTag = 1;
alignas(64) std::byte buffer[kPieceBytes];

template <typename Each>
void in_pieces(std::span<const std::byte> part, const Each& each) {
  while (!part.empty()) {
    const auto piece = part.first(std::min(part.size(), kPieceBytes));
    each(piece);
    part = part.subspan(piece.size());
  }
}

void take_own(std::span<const std::byte> part, const TakePiece& take) {
  in_pieces(part, [&](std::span<const std::byte> piece) {
    std::memcpy(buffer, piece.data(), piece.size());
    take(0, {buffer, piece.size()});
  });
}

void take_from(int rank, MPI_Comm apart, const TakePiece& take) {
  for (;;) {
    MPI_Status status;
    int bytes = 0;
    pmpi().Recv(buffer, static_cast<int>(kPieceBytes), MPI_BYTE, rank, kTag, apart, &status);
    pmpi().Get_count(&status, MPI_BYTE, &bytes);
    if (bytes <= 0) return;
    take(rank, {buffer, static_cast<size_t>(bytes)});
  }
}

void send_to_root(std::span<const std::byte> part, MPI_Comm apart) {
  in_pieces(part, [&](std::span<const std::byte> piece) {
    pmpi().Send(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, kTag, apart);
  });
}

}  // namespace

void gather(const Shim& self, const std::function<void(const GivePiece&)>& give, const TakePiece& take) {
  MPI_Comm apart{};  // the program may still have a receive open to any message
  pmpi().Comm_dup(MPI_COMM_WORLD, &apart);
  if (self.rank == 0) {
    give([&](std::span<const std::byte> part) { take_own(part, take); });
    for (int rank = 1; rank < self.ranks; ++rank) take_from(rank, apart, take);
  } else {
    give([&](std::span<const std::byte> part) { send_to_root(part, apart); });
    pmpi().Send(nullptr, 0, MPI_BYTE, 0, kTag, apart);
  }
  pmpi().Comm_free(&apart);
}

bool all_agree(bool mine) {
  const int own = mine ? 1 : 0;
  int all = 0;
  pmpi().Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

}  // namespace substrata::mpi
