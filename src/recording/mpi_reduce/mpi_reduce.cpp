// substrata-mpi-reduce: the recordings of all nodes of a machine, brought down to one of constant size by a tree
// of messages.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "recording/reader.hpp"
#include "recording/reduction.hpp"

namespace {

using substrata::recording::ByteReader;
using substrata::recording::Reduction;

constexpr int kTag = 1;

constexpr const char* kUsage =
    "Usage: mpirun -n N substrata-mpi-reduce OUTPUT RECORD\n\n"
    "Reads the recording of each node (%h in its name: the host; the first rank of a node reads it) or of "
    "each "
    "rank (%r: its\n"
    "number), and writes one recording of constant size with minimum, mean, maximum and deviation over all "
    "of "
    "their writers,\n"
    "for `substrata report OUTPUT`. The sums travel up a binomial tree; no rank holds more than two of "
    "them.\n";

std::string with(std::string path, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = path.find(what, at)) != std::string::npos; at += value.size())
    path.replace(at, what.size(), value);
  return path;
}

void send(const Reduction& sum, int to) {
  const std::vector<unsigned char> bytes = sum.encode().bytes();
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
}

bool receive(Reduction* sum, int from) {
  MPI_Status status;
  int size = 0;
  MPI_Probe(from, kTag, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  MPI_Recv(bytes.data(), size, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  Reduction other;
  ByteReader in(bytes.data(), bytes.size());
  if (!other.decode(in)) return false;
  sum->add(other);
  return true;
}

// This rank's own record, where it has one to read.
bool read_own(const std::string& pattern, int rank, Reduction* sum) {
  MPI_Comm node{};
  int within = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &within);
  MPI_Comm_free(&node);
  const bool by_rank = pattern.find("%r") != std::string::npos;
  if (!by_rank && within != 0) return true;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  try {
    const substrata::recording::Recording recording =
        substrata::recording::read_file(with(with(pattern, "%h", host), "%r", std::to_string(rank)));
    sum->add(substrata::recording::lay_out(recording));
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "substrata-mpi-reduce: rank %d: %s\n", rank, error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs(kUsage, argc == 2 && std::string(argv[1]) == "--help" ? stdout : stderr);
    return argc == 2 && std::string(argv[1]) == "--help" ? 0 : 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Reduction sum;
  int failed = read_own(argv[2], rank, &sum) ? 0 : 1;
  for (int step = 1; step < ranks; step *= 2) {
    if (rank % (2 * step) != 0) {
      send(sum, rank - step);
      break;
    }
    if (rank + step < ranks && !receive(&sum, rank + step)) failed = 1;
  }
  if (rank == 0) {
    try {
      if (sum.writers() == 0) throw std::runtime_error("there was no recording to read");
      sum.write(argv[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "substrata-mpi-reduce: %s\n", error.what());
      failed = 1;
    }
  }
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
