// Gathers every rank's counts as JSON. What a rank received is what the others counted for it.
#include "summary.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "gather.hpp"
#include "shim.hpp"

namespace substrata::mpi {
namespace {

// Of a count that each rank has for each other one: the sum of what the others have for this rank.
uint64_t sum_for_me(const std::vector<uint64_t>& counts) {
  std::vector<unsigned long> mine(counts.begin(), counts.end());
  std::vector<unsigned long> theirs(mine.size());
  PMPI_Alltoall(mine.data(), 1, MPI_UNSIGNED_LONG, theirs.data(), 1, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  uint64_t sum = 0;
  for (const unsigned long count : theirs) sum += count;
  return sum;
}

// The file is whole or as it was before.
bool write_file(const Shim& self, const char* path, const std::vector<std::string>& ranks) {
  const std::string temporary = std::string(path) + ".part";
  FILE* const file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return false;
  std::fputs("{\"ranks\":[\n", file);
  for (size_t i = 0; i < ranks.size(); ++i) std::fprintf(file, "%s%s", i == 0 ? "" : ",\n", ranks[i].c_str());
  std::fprintf(file, "\n],\n\"time\":{\"default\":\"%s\",\"virtual\":%s}}\n",
               self.virtual_time ? "virtual" : "real", quoted(describe(self.network)).c_str());
  return std::fclose(file) == 0 && std::rename(temporary.c_str(), path) == 0;
}

}  // namespace

void write_summary(const Shim& self) {
  // Every rank or none takes part.
  const char* path = std::getenv("SUBSTRATA_MPI_SUMMARY");
  int wanted = path != nullptr && path[0] != '\0' ? 1 : 0;
  PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted == 0) return;
  const uint64_t received = sum_for_me(self.counts.messages_to());
  const uint64_t received_bytes = sum_for_me(self.counts.bytes_to());
  const std::vector<std::string> ranks =
      gather_texts(self, rank_as_json(self.counts, self.rank, received, received_bytes, self.level));
  if (self.rank != 0 || write_file(self, path, ranks)) return;
  std::fprintf(stderr, "substrata MPI shim: the summary cannot be written to %s: %s\n", path,
               std::strerror(errno));
}

}  // namespace substrata::mpi
