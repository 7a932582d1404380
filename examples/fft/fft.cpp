// The Fourier example: one- and three-dimensional complex transforms over MPI, recording around the
// computation and the all-to-all of every pass what processor, temperature and network did. The paper
// instrumented fft235, the local transform of the HPC Challenge's FFTE, in the same manner.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef HAVE_FFTW3
#include <fftw3.h>
#endif

#include "fft_kernels.hpp"
#include "measured/arguments.hpp"
#include "measured/mpi_program.hpp"
#include "measured/recorder.hpp"

namespace {

using fft::Complex;
using fft::Direction;

// What a transform needs of its surroundings: its place among the ranks, and the record it keeps.
class World {
 public:
  World(measured::Published& published, measured::Recorder& recorder)
      : published_(published), recorder_(recorder) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rank_ = static_cast<std::size_t>(rank);
    ranks_ = static_cast<std::size_t>(ranks);
  }

  std::size_t rank() const { return rank_; }
  std::size_t ranks() const { return ranks_; }
  void count_operations(std::int64_t operations) { published_.operations += operations; }

  // Sends `block` values to every rank and receives as many from each. All since the last exchange was
  // computation.
  void exchange(const std::vector<Complex>& send, std::vector<Complex>& receive, std::size_t block) {
    recorder_.end_region(measured::kCompute, iteration_);
    const int doubles = static_cast<int>(2 * block);
    MPI_Alltoall(send.data(), doubles, MPI_DOUBLE, receive.data(), doubles, MPI_DOUBLE, MPI_COMM_WORLD);
    published_.messages += static_cast<long long>(ranks_ - 1);
    published_.bytes += static_cast<long long>((ranks_ - 1) * block * sizeof(Complex));
    recorder_.end_region(measured::kCommunicate, iteration_);
    ++iteration_;
  }

 private:
  measured::Published& published_;
  measured::Recorder& recorder_;
  std::size_t rank_ = 0;
  std::size_t ranks_ = 1;
  std::int32_t iteration_ = 0;
};

// Transposes a matrix whose rows are dealt to the ranks in equal runs: afterwards `data` holds this rank's
// run of the rows of the transposed matrix. The number of ranks divides rows and columns.
void transpose(World& world, std::size_t rows, std::size_t columns, std::vector<Complex>& data,
               std::vector<Complex>& scratch) {
  const std::size_t my_rows = rows / world.ranks();
  const std::size_t my_columns = columns / world.ranks();
  const std::size_t block = my_rows * my_columns;
  for (std::size_t row = 0; row < my_rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t target = column / my_columns;
      scratch[target * block + (column % my_columns) * my_rows + row] = data[row * columns + column];
    }
  }
  world.exchange(scratch, data, block);
  for (std::size_t source = 0; source < world.ranks(); ++source) {
    for (std::size_t column = 0; column < my_columns; ++column) {
      const auto from = data.begin() + static_cast<std::ptrdiff_t>(source * block + column * my_rows);
      const auto to = scratch.begin() + static_cast<std::ptrdiff_t>(column * rows + source * my_rows);
      std::copy(from, from + static_cast<std::ptrdiff_t>(my_rows), to);
    }
  }
  data.swap(scratch);
}

// Transforms each of the runs of plan.length() values that follow one another in `data`.
void transform_rows(World& world, const fft::Plan& plan, Direction direction, std::size_t rows, Complex* data,
                    Complex* work) {
  for (std::size_t row = 0; row < rows; ++row) {
    world.count_operations(plan.transform(data + row * plan.length(), work, direction));
  }
}

// The one-dimensional transform of rows * columns values, by the six steps of Bailey (J. Supercomputing 4,
// 1990): transpose, transform, twiddle, transpose, transform, transpose. In and out in natural order, dealt
// in equal runs.
class OneDimensional {
 public:
  // For this rank's share: the roots between the two transforms are worked out once.
  OneDimensional(const World& world, std::size_t rows, std::size_t columns)
      : by_row_(columns), by_column_(rows) {
    const std::size_t my_columns = columns / world.ranks();
    roots_.reserve(my_columns * rows);
    for (std::size_t i = 0; i < my_columns; ++i) {
      const std::size_t column = world.rank() * my_columns + i;
      for (std::size_t row = 0; row < rows; ++row) {
        roots_.push_back(fft::root_of_unity(column * row, length()));
      }
    }
  }

  std::size_t length() const { return by_row_.length() * by_column_.length(); }

  void operator()(World& world, Direction direction, std::vector<Complex>& data,
                  std::vector<Complex>& scratch) const {
    const std::size_t rows = by_column_.length();
    const std::size_t columns = by_row_.length();
    transpose(world, rows, columns, data, scratch);
    const std::size_t my_columns = columns / world.ranks();
    transform_rows(world, by_column_, direction, my_columns, data.data(), scratch.data());
    twiddle(world, direction, data);
    transpose(world, columns, rows, data, scratch);
    transform_rows(world, by_row_, direction, rows / world.ranks(), data.data(), scratch.data());
    transpose(world, rows, columns, data, scratch);
  }

 private:
  void twiddle(World& world, Direction direction, std::vector<Complex>& data) const {
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      data[i] = fft::multiply(data[i], direction == Direction::kForward ? roots_[i] : std::conj(roots_[i]));
    }
    world.count_operations(static_cast<std::int64_t>(6 * roots_.size()));
  }

  fft::Plan by_row_;
  fft::Plan by_column_;
  std::vector<Complex> roots_;
};

// The transform of a cube with `edge` values per side, dealt to the ranks in slabs of planes; natural order in
// and out.
class ThreeDimensional {
 public:
  explicit ThreeDimensional(std::size_t edge) : line_(edge) {}

  std::size_t length() const { return line_.length() * line_.length() * line_.length(); }

  void operator()(World& world, Direction direction, std::vector<Complex>& data,
                  std::vector<Complex>& scratch) const {
    const std::size_t edge = line_.length();
    const std::size_t plane = edge * edge;
    std::vector<Complex> column(edge);
    for (std::size_t z = 0; z < edge / world.ranks(); ++z) {
      Complex* slab = data.data() + z * plane;
      transform_rows(world, line_, direction, edge, slab, scratch.data());
      for (std::size_t x = 0; x < edge; ++x) {
        for (std::size_t y = 0; y < edge; ++y) column[y] = slab[y * edge + x];
        transform_rows(world, line_, direction, 1, column.data(), scratch.data());
        for (std::size_t y = 0; y < edge; ++y) slab[y * edge + x] = column[y];
      }
    }
    transpose(world, edge, plane, data, scratch);
    transform_rows(world, line_, direction, plane / world.ranks(), data.data(), scratch.data());
    transpose(world, plane, edge, data, scratch);
  }

 private:
  fft::Plan line_;
};

// A value of the test signal: both parts uniform in [-0.5, 0.5), a pure function of the index.
Complex signal(std::size_t index) {
  const auto part = [](std::uint64_t z) {
    // SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014).
    z *= 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1.0p-53 - 0.5;
  };
  return {part(2 * index + 1), part(2 * index + 2)};
}

std::vector<Complex> gather(const World& world, const std::vector<Complex>& mine) {
  std::vector<Complex> all(world.rank() == 0 ? mine.size() * world.ranks() : 0);
  const int doubles = static_cast<int>(2 * mine.size());
  MPI_Gather(mine.data(), doubles, MPI_DOUBLE, all.data(), doubles, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return all;
}

// The transform of the whole signal by FFTW, in the shape given by `dimensions`; empty where FFTW is not
// there.
std::vector<Complex> library_transform([[maybe_unused]] const std::vector<int>& dimensions,
                                       [[maybe_unused]] std::size_t length) {
  std::vector<Complex> values;
#ifdef HAVE_FFTW3
  values.resize(length);
  for (std::size_t i = 0; i < length; ++i) values[i] = signal(i);
  auto* data = reinterpret_cast<fftw_complex*>(values.data());  // FFTW manual, 4.1.1: the layouts agree
  fftw_plan plan = fftw_plan_dft(static_cast<int>(dimensions.size()), dimensions.data(), data, data,
                                 FFTW_FORWARD, FFTW_ESTIMATE);
  if (plan == nullptr) return {};
  fftw_execute(plan);
  fftw_destroy_plan(plan);
#endif
  return values;
}

// An error passes below this many unit round-offs times log2 of the length, the threshold of the HPC
// Challenge's FFT.
constexpr double kThreshold = 16.0;

double in_roundoffs(double error, std::size_t length) {
  return error / (0x1.0p-53 * std::max(1.0, std::log2(static_cast<double>(length))));
}

// The largest of all ranks; a value that is not a number survives.
double largest(double mine) {
  double all = 0;
  int bad = std::isnan(mine) ? 1 : 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return bad != 0 ? std::nan("") : all;
}

// What the transforms leave to be checked once the recording is over.
struct Outcome {
  std::vector<Complex> spectrum;  // this rank's share of the first forward transform
  double inverse_error = 0;       // the largest distance from the signal after any forth and back
};

// Forward and back `repeats` times, each time from the signal.
template <typename Transform>
Outcome forth_and_back(World& world, const Transform& transform, int repeats) {
  const std::size_t share = transform.length() / world.ranks();
  const std::size_t first = world.rank() * share;
  std::vector<Complex> original(share), scratch(share);
  for (std::size_t i = 0; i < share; ++i) original[i] = signal(first + i);
  Outcome outcome;
  for (int pass = 0; pass < repeats; ++pass) {
    std::vector<Complex> data = original;
    transform(world, Direction::kForward, data, scratch);
    if (pass == 0) outcome.spectrum = data;
    transform(world, Direction::kInverse, data, scratch);
    const double scale = 1.0 / static_cast<double>(transform.length());
    for (std::size_t i = 0; i < share; ++i) {
      const double error = std::abs(data[i] * scale - original[i]);
      if (!(error <= outcome.inverse_error)) outcome.inverse_error = error;
    }
    world.count_operations(static_cast<std::int64_t>(7 * share));  // scale 2, subtract 2, absolute value 3
  }
  return outcome;
}

// Checks the way back against the signal and the way forth against FFTW; rank 0 prints the verdicts. The same
// answer on every rank.
bool check(const World& world, const char* name, const Outcome& outcome, const std::vector<int>& dimensions) {
  const std::size_t length = outcome.spectrum.size() * world.ranks();
  const double inverse = in_roundoffs(largest(outcome.inverse_error), length);
  int passed = inverse < kThreshold ? 1 : 0;
  const std::vector<Complex> whole = gather(world, outcome.spectrum);
  if (world.rank() == 0) {
    std::printf("FFT %s, %zu ranks: inverse residual %.4g (below %.0f passes) ... %s\n", name, world.ranks(),
                inverse, kThreshold, passed != 0 ? "PASSED" : "FAILED");
    const std::vector<Complex> expected = library_transform(dimensions, length);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      difference += std::norm(whole[i] - expected[i]);
      norm += std::norm(expected[i]);
    }
    if (expected.empty()) {
      std::printf("FFT %s: not compared with FFTW, which was not there when this was built\n", name);
    } else {
      const double against = in_roundoffs(std::sqrt(difference / norm), length);
      const bool same = against < kThreshold;
      std::printf("FFT %s, %zu ranks: difference from FFTW %.4g (below %.0f passes) ... %s\n", name,
                  world.ranks(), against, kThreshold, same ? "PASSED" : "FAILED");
      if (!same) passed = 0;
    }
  }
  MPI_Bcast(&passed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return passed != 0;
}

std::size_t supported(const std::string& name, std::size_t value, std::size_t ranks) {
  if (fft::is_supported_length(value) && value % ranks == 0) return value;
  throw std::invalid_argument("--" + name + " is " + std::to_string(value) +
                              ", wanted a product of 2, 3 and 5 that the " + std::to_string(ranks) +
                              " ranks divide");
}

int run(int argc, char** argv) {
  const measured::Arguments arguments(argc, argv,
                                      {{"rows", "512"},
                                       {"columns", "512"},
                                       {"edge", "64"},
                                       {"repeat", "6"},
                                       {"csv", ""},
                                       {"interface", "lo"}});
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto extent = [&](const char* name) {
    return supported(name, static_cast<std::size_t>(arguments.number(name, 1, 4096)),
                     static_cast<std::size_t>(ranks));
  };
  const std::size_t rows = extent("rows");
  const std::size_t columns = extent("columns");
  const std::size_t edge = extent("edge");
  const ThreeDimensional cube(edge);
  const int repeats = arguments.number("repeat", 1, 1000);

  measured::Published published;
  const std::size_t exchanges = static_cast<std::size_t>(repeats) * 2 * (3 + 2);
  measured::Recorder recorder("fft", arguments.text("interface"), published, 2 * exchanges);
  World world(published, recorder);
  const OneDimensional line(world, rows, columns);
  recorder.begin();
  const Outcome line_outcome = forth_and_back(world, line, repeats);
  const Outcome cube_outcome = forth_and_back(world, cube, repeats);
  const measured::Record record = recorder.gather();
  if (world.rank() == 0) measured::write_phase_table(std::cout, record);
  const int side = static_cast<int>(edge);
  const bool line_passed = check(world, "1-D", line_outcome, {static_cast<int>(line.length())});
  const bool cube_passed = check(world, "3-D", cube_outcome, {side, side, side});
  const bool passed = line_passed && cube_passed;
  if (world.rank() != 0) return passed ? 0 : 1;
  return measured::save_csv(arguments.text("csv"), record) && passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return measured::mpi_program("fft", run, argc, argv); }
