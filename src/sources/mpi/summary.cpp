// Gathers every rank's counts as JSON. What a rank received is what the others counted for it.
#include "sources/mpi/summary.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sources/mpi/gather.hpp"
#include "sources/mpi/outputs.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

// Rank 0's file, whole or as it was before: written beside it and then renamed. Of each rank its entry.
class SummaryFile {
 public:
  explicit SummaryFile(const std::string& path) : path_(path), temporary_(path + ".part") {
    file_ = std::fopen(temporary_.c_str(), "w");
    if (file_ != nullptr) std::fputs("{\"ranks\":[\n", file_);
  }
  void add(int rank, std::span<const std::byte> piece) {
    if (file_ == nullptr) return;
    if (rank != last_) {
      if (last_ >= 0) std::fputs(",\n", file_);
      ++entries_;
    }
    last_ = rank;
    std::fwrite(piece.data(), 1, piece.size(), file_);
  }
  // Null, or what went wrong.
  const char* end(int ranks, const std::string& time) {
    if (file_ == nullptr) return std::strerror(errno);
    std::fprintf(file_, "\n],\n\"time\":%s}\n", time.c_str());
    const bool whole = std::ferror(file_) == 0;
    const char* wrong = nullptr;
    if (std::fclose(file_) != 0 || !whole)
      wrong = std::strerror(errno);
    else if (entries_ != ranks)
      wrong = "no memory is left for the entry of a rank";
    else if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
      wrong = std::strerror(errno);
    if (wrong != nullptr) std::remove(temporary_.c_str());
    return wrong;
  }

 private:
  const std::string path_;
  const std::string temporary_;
  FILE* file_ = nullptr;
  int last_ = -1;
  int entries_ = 0;
};

// Of a count that each rank has for each other one: the sum of what the others have for this rank.
uint64_t sum_for_me(const std::vector<uint64_t>& mine, std::vector<uint64_t>& theirs) {
  static_assert(sizeof(uint64_t) == sizeof(unsigned long));
  pmpi().Alltoall(mine.data(), 1, MPI_UNSIGNED_LONG, theirs.data(), 1, MPI_UNSIGNED_LONG, MPI_COMM_WORLD);
  return std::accumulate(theirs.begin(), theirs.end(), uint64_t{0});
}

}  // namespace

void write_summary(const Shim& self) {
  // Every rank or none takes part, and none gives up once the others wait for it.
  std::string path;
  std::vector<uint64_t> theirs;
  const bool able = unharmed(
      [&] {
        path = output_path(self, "SUBSTRATA_MPI_SUMMARY");
        theirs.resize(static_cast<size_t>(self.ranks));
        return true;
      },
      false);
  int wanted = path.empty() ? 0 : 1;
  pmpi().Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (wanted == 0 || !all_agree(able)) return;
  const uint64_t received = sum_for_me(self.counts.messages_to(), theirs);
  const uint64_t received_bytes = sum_for_me(self.counts.bytes_to(), theirs);
  std::string mine;
  std::string time;
  std::optional<SummaryFile> file;
  unharmed([&] {
    if (self.rank == 0) {
      time = std::string("{\"default\":\"") + (self.virtual_time ? "virtual" : "real") +
             "\",\"virtual\":" + plain_quoted(describe(self.network)) + "}";
      file.emplace(path);
    }
    // The times of this rank in front of its counts.
    mine = "{\"computed_ns\":" + std::to_string(self.computed_ns) +
           ",\"elapsed_ns\":" + std::to_string(wall_ns() - self.counting_since_ns) +
           ",\"blas\":" + self.blas.as_json([&](uint16_t region, uint32_t section) {
             return plain_quoted(self.phases.name_of(region, section));
           }) +
           "," + rank_as_json(self.counts, self.rank, received, received_bytes, self.level).substr(1);
  });
  gather(
      self, [&](const GivePiece& give) { give(std::as_bytes(std::span(mine))); },
      [&](int rank, std::span<std::byte> piece) {
        if (file) file->add(rank, piece);
      });
  if (self.rank != 0) return;
  const char* const wrong = file ? file->end(self.ranks, time) : "no memory is left for it";
  if (wrong != nullptr)
    std::fprintf(stderr, "substrata MPI shim: the summary cannot be written to %s: %s\n", path.c_str(),
                 wrong);
}

}  // namespace substrata::mpi
