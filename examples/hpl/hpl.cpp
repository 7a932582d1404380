// The Linpack example: solves a dense system by blocked LU with row pivoting over MPI and records, around the
// computation and the communication of every block column, what processor, temperature and network did.
//
// Columns are dealt to the ranks in blocks, round robin (block-cyclic on a 1 x P grid): a block column lies
// on one rank, which factors it and passes it round the ring; then every rank updates its own columns. The
// paper instrumented pdgesvK2, the same loop of the HPC Challenge's HPL.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <vector>

#include "lu_kernels.hpp"
#include "measured/arguments.hpp"
#include "measured/mpi_program.hpp"
#include "measured/recorder.hpp"

namespace {

struct Problem {
  int size = 0;
  int block = 0;
  std::uint64_t seed = 0;
  int rank = 0;
  int ranks = 1;

  int blocks() const { return (size + block - 1) / block; }
  int first_column(int index) const { return index * block; }
  int width(int index) const { return std::min(block, size - first_column(index)); }
  int owner(int index) const { return index % ranks; }
  // How many columns this rank holds in blocks before `index`: where block `index` or the first later one
  // begins here.
  int local_column(int index) const {
    int columns = 0;
    for (int i = rank; i < std::min(index, blocks()); i += ranks) columns += width(i);
    return columns;
  }
};

// The right-hand side is column `size` of the generated matrix; every rank keeps all of it.
double right_side(const Problem& problem, int row) {
  return hpl::random_element(problem.seed, static_cast<std::uint64_t>(row),
                             static_cast<std::uint64_t>(problem.size));
}

double element(const Problem& problem, int row, int column) {
  return hpl::random_element(problem.seed, static_cast<std::uint64_t>(row),
                             static_cast<std::uint64_t>(column));
}

// One rank's share of the work.
class Solver {
 public:
  Solver(const Problem& problem, measured::Published& published)
      : problem_(problem), published_(published), columns_(problem.local_column(problem.blocks())) {
    const auto rows = static_cast<std::size_t>(problem_.size);
    matrix_.resize(rows * static_cast<std::size_t>(columns_));
    int local = 0;
    for (int index = problem_.rank; index < problem_.blocks(); index += problem_.ranks) {
      for (int j = 0; j < problem_.width(index); ++j, ++local) {
        for (int row = 0; row < problem_.size; ++row) {
          at(row, local)[0] = element(problem_, row, problem_.first_column(index) + j);
        }
      }
    }
    solution_.resize(rows);
    for (int row = 0; row < problem_.size; ++row) {
      solution_[static_cast<std::size_t>(row)] = right_side(problem_, row);
    }
    panel_.resize(rows * static_cast<std::size_t>(problem_.block));
    pivots_.resize(static_cast<std::size_t>(problem_.block));
  }

  // Factors the matrix and carries the right-hand side along. Returns whether the matrix was regular.
  bool factor(measured::Recorder& recorder) {
    for (int index = 0; index < problem_.blocks(); ++index) {
      if (index > 0) update(index - 1);
      if (problem_.owner(index) == problem_.rank) factor_own_panel(index);
      recorder.end_region(measured::kCompute, index);
      pass_panel_on(index);
      recorder.end_region(measured::kCommunicate, index);
    }
    update(problem_.blocks() - 1);
    recorder.end_region(measured::kCompute, problem_.blocks());
    int regular = regular_ ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &regular, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    recorder.end_region(measured::kCommunicate, problem_.blocks());
    return regular != 0;
  }

  // Solves U x = y, block column by block column from the right; afterwards every rank has x.
  const std::vector<double>& back_substitute() {
    for (int index = problem_.blocks() - 1; index >= 0; --index) {
      const int first = problem_.first_column(index);
      const int width = problem_.width(index);
      if (problem_.owner(index) == problem_.rank) {
        const int local = problem_.local_column(index);
        double* x = solution_.data() + first;
        published_.operations += hpl::solve_upper(width, at(first, local), problem_.size, x);
        published_.operations += hpl::subtract_product(first, 1, width, at(0, local), problem_.size, x,
                                                       problem_.size, solution_.data(), problem_.size);
        published_.messages += problem_.ranks - 1;
        published_.bytes += static_cast<long long>(problem_.ranks - 1) * (first + width) * 8;
      }
      MPI_Bcast(solution_.data(), first + width, MPI_DOUBLE, problem_.owner(index), MPI_COMM_WORLD);
    }
    return solution_;
  }

 private:
  double* at(int row, int local_column) {
    return matrix_.data() + static_cast<std::size_t>(local_column) * static_cast<std::size_t>(problem_.size) +
           static_cast<std::size_t>(row);
  }

  // Factors this rank's block column and copies it, from its diagonal down, into the panel buffer.
  void factor_own_panel(int index) {
    const int first = problem_.first_column(index);
    const int rows = problem_.size - first;
    const int width = problem_.width(index);
    double* block = at(first, problem_.local_column(index));
    const hpl::PanelResult result = hpl::factor_panel(rows, width, block, problem_.size,
                                                      {pivots_.data(), static_cast<std::size_t>(width)});
    published_.operations += result.operations;
    regular_ = regular_ && !result.singular;
    for (int j = 0; j < width; ++j) {
      const double* column = block + static_cast<std::ptrdiff_t>(j) * problem_.size;
      std::copy(column, column + rows, panel_.data() + static_cast<std::ptrdiff_t>(j) * rows);
    }
  }

  // From the owner round the ring: each rank but the last hands the panel and its pivots to the next.
  void pass_panel_on(int index) {
    if (problem_.ranks == 1) return;
    const int rows = problem_.size - problem_.first_column(index);
    const int width = problem_.width(index);
    const int next = (problem_.rank + 1) % problem_.ranks;
    const int previous = (problem_.rank + problem_.ranks - 1) % problem_.ranks;
    if (problem_.rank != problem_.owner(index)) {
      MPI_Recv(pivots_.data(), width, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(panel_.data(), rows * width, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (next == problem_.owner(index)) return;
    MPI_Send(pivots_.data(), width, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Send(panel_.data(), rows * width, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
    published_.messages += 2;
    published_.bytes += static_cast<long long>(width) * 4 + static_cast<long long>(rows) * width * 8;
  }

  // Applies the panel in the buffer to this rank's columns right of it and to the right-hand side.
  void update(int index) {
    const int local = problem_.local_column(index + 1);
    apply(index, at(0, local), columns_ - local);
    apply(index, solution_.data(), 1);
  }

  void apply(int index, double* target, int columns) {
    if (columns == 0) return;
    const int first = problem_.first_column(index);
    const int width = problem_.width(index);
    const int rows = problem_.size - first;
    double* top = target + first;
    hpl::swap_rows(columns, top, problem_.size, {pivots_.data(), static_cast<std::size_t>(width)});
    published_.operations += hpl::solve_unit_lower(width, columns, panel_.data(), rows, top, problem_.size);
    published_.operations += hpl::subtract_product(rows - width, columns, width, panel_.data() + width, rows,
                                                   top, problem_.size, top + width, problem_.size);
  }

  const Problem& problem_;
  measured::Published& published_;
  int columns_;
  bool regular_ = true;
  std::vector<double> matrix_;    // this rank's columns, whole, column-major
  std::vector<double> solution_;  // b, then y, then x
  std::vector<double> panel_;
  std::vector<int> pivots_;
};

// The scaled residual of HPL, from a regenerated matrix; the same on every rank.
double residual(const Problem& problem, const std::vector<double>& solution) {
  const auto size = static_cast<std::size_t>(problem.size);
  std::vector<double> sums(2 * size);  // A x, then the row sums of |A|
  for (int index = problem.rank; index < problem.blocks(); index += problem.ranks) {
    for (int j = 0; j < problem.width(index); ++j) {
      const int column = problem.first_column(index) + j;
      for (int row = 0; row < problem.size; ++row) {
        const double value = element(problem, row, column);
        sums[static_cast<std::size_t>(row)] += value * solution[static_cast<std::size_t>(column)];
        sums[size + static_cast<std::size_t>(row)] += std::fabs(value);
      }
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2 * problem.size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double worst = 0, matrix_norm = 0, solution_norm = 0, right_norm = 0;
  const auto take = [](double& norm, double value) {
    // Not std::max: a value that is not a number must spoil the verdict.
    if (!(value <= norm)) norm = value;
  };
  for (std::size_t row = 0; row < size; ++row) {
    const double right = right_side(problem, static_cast<int>(row));
    take(worst, std::fabs(sums[row] - right));
    take(matrix_norm, sums[size + row]);
    take(solution_norm, std::fabs(solution[row]));
    take(right_norm, std::fabs(right));
  }
  return hpl::scaled_residual(worst, matrix_norm, solution_norm, right_norm, problem.size);
}

int run(int argc, char** argv) {
  const measured::Arguments arguments(
      argc, argv, {{"size", "1500"}, {"block", "50"}, {"seed", "42"}, {"csv", ""}, {"interface", "lo"}});
  Problem problem;
  MPI_Comm_rank(MPI_COMM_WORLD, &problem.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &problem.ranks);
  problem.size = arguments.number("size", 1, 20000);
  problem.block = arguments.number("block", 1, 1024);
  problem.seed = static_cast<std::uint64_t>(arguments.number("seed", 0, 1 << 30));

  measured::Published published;
  const auto regions = 2 * static_cast<std::size_t>(problem.blocks() + 1);
  measured::Recorder recorder("hpl", arguments.text("interface"), published, regions);
  Solver solver(problem, published);
  recorder.begin();
  const bool regular = solver.factor(recorder);
  const measured::Record record = recorder.gather();
  if (!regular) {
    if (problem.rank == 0) std::cout << "HPL residual: FAILED, the matrix is singular\n";
    return 1;
  }
  const double verdict = residual(problem, solver.back_substitute());
  const bool passed = verdict < hpl::kResidualThreshold;
  if (problem.rank != 0) return passed ? 0 : 1;

  measured::write_phase_table(std::cout, record);
  std::printf("HPL size %d, block %d, %d ranks: residual %.4g (below %.0f passes) ... %s\n", problem.size,
              problem.block, problem.ranks, verdict, hpl::kResidualThreshold, passed ? "PASSED" : "FAILED");
  return measured::save_csv(arguments.text("csv"), record) && passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return measured::mpi_program("hpl", run, argc, argv); }
