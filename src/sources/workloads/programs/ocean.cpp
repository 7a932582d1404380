// A stencil on a square grid in the manner of SPLASH-2's OCEAN: red-black Gauss-Seidel sweeps with
// over-relaxation on bands of rows, and the residual summed under a lock after each sweep.
#include <cmath>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"n", "inner rows and columns of the grid", 128, 1, 16384},
    {"sweeps", "red and black sweeps", 10, 1, 100000},
    kSeedParameter,
};
constexpr double kOverRelaxation = 1.2;

class Ocean final : public Program {
 public:
  explicit Ocean(const Values& values) : n_(values["n"]), sweeps_(values["sweeps"]), seed_(values["seed"]) {}

  void lay_out(Memory& memory, ProcessId) override {
    grid_ = memory.array<double>("ocean.grid", width() * width());
    residual_ = memory.array<double>("ocean.residual", sweeps_);
    initialise_ = memory.region("ocean.initialise");
    relax_ = memory.region("ocean.relax");
  }

  void run(Process& process) override {
    const auto grid = process.view(grid_);
    const auto residual = process.view(residual_);
    process.phase(initialise_);
    const auto [first, last] = process.share(width());
    for (std::uint64_t i = first * width(); i < last * width(); ++i) grid[i] = uniform_at(seed_, i);
    process.barrier();
    process.phase(relax_);
    const auto [begin, end] = process.share(n_);
    for (std::uint64_t sweep = 0; sweep < sweeps_; ++sweep) {
      double changed = 0;
      for (std::uint64_t colour = 0; colour < 2; ++colour) {
        const Procedure procedure(process, relax_);
        for (std::uint64_t row = begin + 1; row <= end; ++row) {
          for (std::uint64_t column = 1 + (row + colour) % 2; column <= n_; column += 2) {
            const std::uint64_t i = row * width() + column;
            const double old = grid[i];
            const double around = grid[i - 1] + grid[i + 1] + grid[i - width()] + grid[i + width()];
            const double change = kOverRelaxation * (0.25 * around - old);
            grid[i] = old + change;
            changed += std::abs(change);
            process.compute(8);
          }
        }
        process.barrier();
      }
      process.lock(0);
      residual[sweep] += changed;
      process.unlock(0);
    }
  }

  // The same sweeps, one after the other: red cells depend on black ones only, so every process count gives
  // the same bits.
  std::string check(const Memory& memory) override {
    std::vector<double> grid(width() * width());
    for (std::uint64_t i = 0; i < grid.size(); ++i) grid[i] = uniform_at(seed_, i);
    for (std::uint64_t sweep = 0; sweep < sweeps_; ++sweep) {
      double changed = 0;
      for (std::uint64_t colour = 0; colour < 2; ++colour) {
        for (std::uint64_t row = 1; row <= n_; ++row) {
          for (std::uint64_t column = 1 + (row + colour) % 2; column <= n_; column += 2) {
            const std::uint64_t i = row * width() + column;
            const double around = grid[i - 1] + grid[i + 1] + grid[i - width()] + grid[i + width()];
            const double change = kOverRelaxation * (0.25 * around - grid[i]);
            grid[i] += change;
            changed += std::abs(change);
          }
        }
      }
      if (!(std::abs(memory.peek(residual_, sweep) - changed) <= 1e-9 * changed + 1e-300)) {
        return differs("the residual of sweep", sweep, memory.peek(residual_, sweep), changed);
      }
    }
    for (std::uint64_t i = 0; i < grid.size(); ++i) {
      if (!(std::abs(memory.peek(grid_, i) - grid[i]) <= 1e-12))
        return differs("cell", i, memory.peek(grid_, i), grid[i]);
    }
    return {};
  }

 private:
  std::uint64_t width() const noexcept { return n_ + 2; }

  std::uint64_t n_;
  std::uint64_t sweeps_;
  std::uint64_t seed_;
  SharedArray<double> grid_;
  SharedArray<double> residual_;
  RegionId initialise_ = 0, relax_ = 0;
};

}  // namespace

const Workload kOcean = workload<Ocean>(
    "ocean", "red-black relaxation of a grid; compared with the sequential sweeps", kParameters);

}  // namespace substrata::workloads
