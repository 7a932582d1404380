// LU factorisation of a dense matrix by blocks, without pivoting, blocks stored one after the other and dealt
// out in two dimensions. The algorithm of SPLASH-2's LU with contiguous blocks (Woo et al., ISCA 1995).
#include <algorithm>
#include <cmath>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"n", "rows and columns of the matrix", 256, 1, 8192},
    {"block", "rows and columns of a block", 16, 1, 256},
    kSeedParameter,
};

class Lu final : public Program {
 public:
  explicit Lu(const Values& values) : n_(values["n"]), block_(values["block"]), seed_(values["seed"]) {
    blocks_ = (n_ + block_ - 1) / block_;
  }

  void lay_out(Memory& memory, ProcessId processes) override {
    matrix_ = memory.array<double>("lu.matrix", blocks_ * blocks_ * block_ * block_);
    initialise_ = memory.region("lu.initialise");
    diagonal_ = memory.region("lu.diagonal");
    perimeter_ = memory.region("lu.perimeter");
    interior_ = memory.region("lu.interior");
    process_columns_ = processes;
    for (ProcessId c = 1; c * c <= processes; ++c) {
      if (processes % c == 0) process_columns_ = processes / c;
    }
    process_rows_ = processes / process_columns_;
  }

  void run(Process& process) override {
    const auto a = process.view(matrix_);
    const auto mine = [&](std::uint64_t i, std::uint64_t j) {
      return (i % process_rows_) * process_columns_ + j % process_columns_ == process.id();
    };
    process.phase(initialise_);
    for (std::uint64_t i = 0; i < blocks_; ++i) {
      for (std::uint64_t j = 0; j < blocks_; ++j) {
        if (!mine(i, j)) continue;
        for (std::uint64_t r = 0; r < extent(i); ++r) {
          for (std::uint64_t c = 0; c < extent(j); ++c)
            a[at(i, j, r, c)] = input(i * block_ + r, j * block_ + c);
        }
      }
    }
    process.barrier();
    for (std::uint64_t k = 0; k < blocks_; ++k) {
      process.phase(diagonal_);
      if (mine(k, k)) divide_column(process, a, k, k);
      process.barrier();
      process.phase(perimeter_);
      for (std::uint64_t i = k + 1; i < blocks_; ++i) {
        if (mine(i, k)) divide_column(process, a, i, k);
        if (mine(k, i)) divide_row(process, a, k, i);
      }
      process.barrier();
      process.phase(interior_);
      for (std::uint64_t i = k + 1; i < blocks_; ++i) {
        for (std::uint64_t j = k + 1; j < blocks_; ++j) {
          if (mine(i, j)) subtract_product(process, a, i, j, k);
        }
      }
      process.barrier();
    }
  }

  // Solves A x = A (1, 2, ..., n) with the factors.
  std::string check(const Memory& memory) override {
    const auto factors = [&](std::uint64_t r, std::uint64_t c) {
      return memory.peek(matrix_, at(r / block_, c / block_, r % block_, c % block_));
    };
    std::vector<double> x(n_);
    for (std::uint64_t r = 0; r < n_; ++r) {
      for (std::uint64_t c = 0; c < n_; ++c) x[r] += input(r, c) * static_cast<double>(c + 1);
    }
    for (std::uint64_t r = 0; r < n_; ++r) {
      for (std::uint64_t c = 0; c < r; ++c) x[r] -= factors(r, c) * x[c];
    }
    for (std::uint64_t r = n_; r-- > 0;) {
      for (std::uint64_t c = r + 1; c < n_; ++c) x[r] -= factors(r, c) * x[c];
      x[r] /= factors(r, r);
    }
    for (std::uint64_t r = 0; r < n_; ++r) {
      if (!(std::abs(x[r] - static_cast<double>(r + 1)) <= 1e-9 * static_cast<double>(n_))) {
        return "unknown " + std::to_string(r) + " solved with the factors is " + std::to_string(x[r]) +
               " and should be " + std::to_string(r + 1);
      }
    }
    return {};
  }

 private:
  using Matrix = View<double>;
  std::uint64_t extent(std::uint64_t block) const noexcept { return std::min(block_, n_ - block * block_); }
  std::uint64_t at(std::uint64_t i, std::uint64_t j, std::uint64_t r, std::uint64_t c) const noexcept {
    return ((i * blocks_ + j) * block_ + r) * block_ + c;
  }
  // Random, the diagonal larger than the rest of its row.
  double input(std::uint64_t r, std::uint64_t c) const noexcept {
    return uniform_at(seed_, r * n_ + c) + (r == c ? static_cast<double>(n_) : 0.0);
  }

  // Divides block (i, k) by the upper factor in the diagonal block k; the diagonal block itself is factored.
  void divide_column(Process& process, const Matrix& a, std::uint64_t i, std::uint64_t k) {
    const Procedure procedure(process, i == k ? diagonal_ : perimeter_);
    const std::uint64_t n = extent(k);
    for (std::uint64_t p = 0; p < n; ++p) {
      const double pivot = a[at(k, k, p, p)];
      for (std::uint64_t r = i == k ? p + 1 : 0; r < extent(i); ++r) {
        const double factor = a[at(i, k, r, p)] / pivot;
        a[at(i, k, r, p)] = factor;
        for (std::uint64_t c = p + 1; c < n; ++c) a[at(i, k, r, c)] -= factor * a[at(k, k, p, c)];
        process.compute(2 * (n - p));
      }
    }
  }
  void divide_row(Process& process, const Matrix& a, std::uint64_t k, std::uint64_t j) {
    const Procedure procedure(process, perimeter_);
    for (std::uint64_t p = 0; p < extent(k); ++p) {
      for (std::uint64_t r = p + 1; r < extent(k); ++r) {
        const double factor = a[at(k, k, r, p)];
        for (std::uint64_t c = 0; c < extent(j); ++c) a[at(k, j, r, c)] -= factor * a[at(k, j, p, c)];
        process.compute(2 * extent(j));
      }
    }
  }
  void subtract_product(Process& process, const Matrix& a, std::uint64_t i, std::uint64_t j,
                        std::uint64_t k) {
    const Procedure procedure(process, interior_);
    for (std::uint64_t p = 0; p < extent(k); ++p) {
      for (std::uint64_t r = 0; r < extent(i); ++r) {
        const double factor = a[at(i, k, r, p)];
        for (std::uint64_t c = 0; c < extent(j); ++c) a[at(i, j, r, c)] -= factor * a[at(k, j, p, c)];
        process.compute(2 * extent(j));
      }
    }
  }

  std::uint64_t n_;
  std::uint64_t block_;
  std::uint64_t seed_;
  std::uint64_t blocks_ = 0;
  ProcessId process_rows_ = 1;
  ProcessId process_columns_ = 1;
  SharedArray<double> matrix_;
  RegionId initialise_ = 0, diagonal_ = 0, perimeter_ = 0, interior_ = 0;
};

}  // namespace

const Workload kLu = workload<Lu>(
    "lu", "blocked dense LU factorisation; the factors must solve a system with a known solution",
    kParameters);

}  // namespace substrata::workloads
