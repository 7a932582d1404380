// The file behind the memory that the ranks of one node share.
#pragma once

#include <cstddef>

namespace substrata::mpi {

// What of it: bytes that all use, and behind them as many for each of so many ranks.
struct NodeFileLayout {
  size_t common = 0;
  size_t each = 0;
  int ranks = 1;
  size_t bytes() const { return common + each * static_cast<size_t>(ranks); }
};

// Memory of a rank, mapped until the process ends. Zeroed where it was reserved: the common part always, a rank's
// where that rank has it.
struct NodeMemory {
  void* at = nullptr;    // null: no such memory here
  bool has_own = false;  // this rank's part is there
};

constexpr size_t kNodeFileName = 64;
// Makes the file with its common part and writes its name. False: there is no space.
bool make_node_file(const NodeFileLayout& layout, char (&name)[kNodeFileName]);
// Maps it and reserves this rank's part.
NodeMemory map_node_file(const char* name, const NodeFileLayout& layout, int rank);

}  // namespace substrata::mpi
