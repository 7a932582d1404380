// Gathers lengths first, then the pieces.
#include "gather.hpp"

#include "shim.hpp"

namespace substrata::mpi {

Layout gather_lengths(const Shim& self, size_t mine) {
  Layout out;
  out.lengths.resize(static_cast<size_t>(self.ranks));
  const int length = static_cast<int>(mine);
  PMPI_Gather(&length, 1, MPI_INT, out.lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  int total = 0;
  for (const int one : out.lengths) {
    out.places.push_back(total);
    total += one;
  }
  out.total = static_cast<size_t>(total);
  return out;
}

std::vector<std::string> gather_texts(const Shim& self, const std::string& mine) {
  const Pieces<char> pieces = gather(self, mine.data(), mine.size());
  std::vector<std::string> out;
  if (self.rank != 0) return out;
  auto text = pieces.all.begin();
  for (const int length : pieces.lengths) {
    out.emplace_back(text, text + length);
    text += length;
  }
  return out;
}

}  // namespace substrata::mpi
