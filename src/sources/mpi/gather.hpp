// What every rank has, brought to rank 0 piece by piece: it needs no memory for the whole.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace substrata::mpi {

struct Shim;

using GivePiece = std::function<void(std::span<const std::byte>)>;
// A piece at rank 0, in memory that may be written and is aligned for any type.
using TakePiece = std::function<void(int rank, std::span<std::byte> piece)>;
constexpr size_t kPieceBytes = 65536;

// `give` is called once in each rank and hands over what it has, in as many parts as it likes. At rank 0 `take`
// gets all of it, in the order of the ranks and in pieces: each part is cut after every kPieceBytes. Neither may
// throw. Needs no memory. Collective.
void gather(const Shim& self, const std::function<void(const GivePiece&)>& give, const TakePiece& take);

// Whether all ranks say yes. Collective.
bool all_agree(bool mine);

}  // namespace substrata::mpi
