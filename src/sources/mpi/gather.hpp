// Pieces of different lengths from every rank, brought to rank 0.
#ifndef SUBSTRATA_MPI_GATHER_HPP
#define SUBSTRATA_MPI_GATHER_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "mpi_library.hpp"

namespace substrata::mpi {

struct Shim;

// At rank 0: every rank's piece, one after the other in the order of the ranks. Elsewhere nothing of it is of
// use.
template <typename Item>
struct Pieces {
  std::vector<Item> all;
  std::vector<int> lengths;  // of each rank
};

// How many items each rank has and where they begin, at rank 0; and how many they are in all. Collective.
struct Layout {
  std::vector<int> lengths;
  std::vector<int> places;
  size_t total = 0;
};
Layout gather_lengths(const Shim& self, size_t mine);

// Collective.
template <typename Item>
Pieces<Item> gather(const Shim& self, const Item* mine, size_t count) {
  MPI_Datatype item;
  PMPI_Type_contiguous(static_cast<int>(sizeof(Item)), MPI_BYTE, &item);
  PMPI_Type_commit(&item);
  Layout layout = gather_lengths(self, count);
  Pieces<Item> out;
  out.all.resize(layout.total);
  PMPI_Gatherv(mine, static_cast<int>(count), item, out.all.data(), layout.lengths.data(),
               layout.places.data(), item, 0, MPI_COMM_WORLD);
  PMPI_Type_free(&item);
  out.lengths = std::move(layout.lengths);
  return out;
}

// Every rank's text at rank 0; elsewhere none. Collective.
std::vector<std::string> gather_texts(const Shim& self, const std::string& mine);

}  // namespace substrata::mpi

#endif
