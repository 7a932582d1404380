// Collects one row per region and rank, and brings the rows of all ranks together on rank 0.
#include "recorder.hpp"

#include <dlfcn.h>
#include <papi.h>

#include <cstdint>
#include <iterator>
#include <utility>

namespace measured {
namespace {

constexpr std::size_t kFixedCells = 3;
constexpr const char* kRegionNames[] = {"compute", "communicate"};

// Makes the region the phase of what substrata publishes of this thread (substrata/feed.h); another PAPI library has
// no such functions.
void enter(Region region) {
  using NumberOf = std::uint16_t(const char* name);
  using SetPhase = std::uint16_t(std::uint16_t phase);
  static auto* const number_of = reinterpret_cast<NumberOf*>(dlsym(RTLD_DEFAULT, "substrata_region"));
  static auto* const set_phase = reinterpret_cast<SetPhase*>(dlsym(RTLD_DEFAULT, "substrata_set_phase"));
  if (number_of == nullptr || set_phase == nullptr) return;
  static const std::uint16_t numbers[] = {number_of(kRegionNames[0]), number_of(kRegionNames[1])};
  set_phase(numbers[region]);
}

// Rank 0's text on every rank.
std::string broadcast(std::string text) {
  int size = static_cast<int>(text.size());
  MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

}  // namespace

Recorder::Recorder(const std::string& program, const std::string& interface, const Published& published,
                   std::size_t rows)
    : program_(program), instruments_(program, interface, published) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  instruments_.start(broadcast(rank_ == 0 ? instruments_.plan() : std::string()));
  row_size_ = kFixedCells + 2 * instruments_.columns().size();
  cells_.reserve(rows * row_size_);
  values_.resize(instruments_.columns().size());
  present_ = std::make_unique<bool[]>(values_.size());
}

void Recorder::begin() {
  MPI_Barrier(MPI_COMM_WORLD);
  origin_ns_ = PAPI_get_real_nsec();
  // Ranks of one node share its clock, so they take the origin of the node's first rank; nodes differ by no
  // more than the ranks leave the barrier apart.
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  MPI_Bcast(&origin_ns_, 1, MPI_INT64_T, 0, node);
  MPI_Comm_free(&node);
  instruments_.read(values_.data(), present_.get());
  enter(kCompute);
}

void Recorder::end_region(Region region, std::int32_t iteration) {
  const std::size_t start = cells_.size();
  cells_.resize(start + row_size_);
  instruments_.read(values_.data(), present_.get());
  cells_[start] = PAPI_get_real_nsec() - origin_ns_;
  cells_[start + 1] = region;
  cells_[start + 2] = iteration;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    cells_[start + kFixedCells + 2 * i] = values_[i];
    cells_[start + kFixedCells + 2 * i + 1] = present_[i] ? 1 : 0;
  }
  enter(region == kCompute ? kCommunicate : kCompute);
}

Record Recorder::gather() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int mine = static_cast<int>(cells_.size());
  std::vector<int> sizes(static_cast<std::size_t>(ranks));
  MPI_Gather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(sizes.size());
  std::size_t total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    offsets[i] = static_cast<int>(total);
    total += static_cast<std::size_t>(sizes[i]);
  }
  std::vector<std::int64_t> all(rank_ == 0 ? total : 0);
  MPI_Gatherv(cells_.data(), mine, MPI_INT64_T, all.data(), sizes.data(), offsets.data(), MPI_INT64_T, 0,
              MPI_COMM_WORLD);
  Record record{.program = program_,
                .regions = {std::begin(kRegionNames), std::end(kRegionNames)},
                .columns = instruments_.columns(),
                .rows = {}};
  if (rank_ != 0) return record;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const std::size_t begin = static_cast<std::size_t>(offsets[rank]);
    const std::size_t end = begin + static_cast<std::size_t>(sizes[rank]);
    for (std::size_t cell = begin; cell < end; cell += row_size_) {
      Row row{.time_ns = all[cell],
              .rank = static_cast<std::int32_t>(rank),
              .region = static_cast<std::int32_t>(all[cell + 1]),
              .iteration = static_cast<std::int32_t>(all[cell + 2]),
              .values = {},
              .present = {}};
      for (std::size_t i = cell + kFixedCells; i < cell + row_size_; i += 2) {
        row.values.push_back(all[i]);
        row.present.push_back(all[i + 1] != 0);
      }
      record.rows.push_back(std::move(row));
    }
  }
  return record;
}

}  // namespace measured
