// Gaussian elimination by messages: rows dealt out in turn, each pivot row sent by its owner to every other
// process, as in the NX program that the Myrinet monitor paper measures (section 4.3).
#include <cmath>

#include "programs/programs.hpp"
#include "random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {.name = "n", .text = "unknowns", .fallback = 128, .least = 1, .most = 8192},
    kSeedParameter,
};

class Gauss final : public Program {
 public:
  explicit Gauss(const Values& values) : n_(values["n"]), seed_(values["seed"]) {}

  void lay_out(Memory& memory, ProcessId) override {
    solution_ = memory.array<double>("gauss.solution", n_);
    eliminate_ = memory.region("gauss.eliminate");
    broadcast_ = memory.region("gauss.broadcast");
    substitute_ = memory.region("gauss.substitute");
  }

  void run(Process& process) override {
    const std::uint64_t self = process.id();
    const std::uint64_t count = process.count();
    // Row r of the matrix, its right-hand side last, lives in process r mod count; private memory.
    std::vector<std::vector<double>> rows;
    for (std::uint64_t r = self; r < n_; r += count) {
      std::vector<double>& row = rows.emplace_back(n_ + 1);
      for (std::uint64_t c = 0; c < n_; ++c) {
        row[c] = input(r, c);
        row[n_] += row[c] * static_cast<double>(c + 1);
      }
    }
    std::vector<double> pivot(n_ + 1);
    for (std::uint64_t k = 0; k < n_; ++k) {
      const std::span<double> part = std::span(pivot).subspan(k);
      const auto owner = static_cast<ProcessId>(k % count);
      const auto tag = static_cast<std::uint32_t>(k);
      process.phase(broadcast_);
      if (owner == self) {
        const Procedure procedure(process, broadcast_, LayerKind::kBroadcast);
        pivot = rows[k / count];
        for (ProcessId step = 1; step < count; ++step) {
          process.send_values<double>(static_cast<ProcessId>((self + step) % count), tag, part);
        }
      } else {
        process.receive_values<double>(owner, tag, part);
      }
      process.phase(eliminate_);
      const Procedure procedure(process, eliminate_);
      for (std::uint64_t i = (k + count - self) / count; i < rows.size(); ++i) {
        if (i * count + self == k) continue;
        const double factor = rows[i][k] / pivot[k];
        for (std::uint64_t c = k; c <= n_; ++c) rows[i][c] -= factor * pivot[c];
        process.compute(2 * (n_ - k + 1));
      }
    }
    process.phase(substitute_);
    const auto gather = static_cast<std::uint32_t>(n_);
    if (self != 0) {
      for (const std::vector<double>& row : rows) process.send_values<double>(0, gather, row);
      return;
    }
    std::vector<std::vector<double>> all(n_, std::vector<double>(n_ + 1));
    for (std::uint64_t r = 0; r < n_; ++r) {
      if (r % count == 0) {
        all[r] = rows[r / count];
      } else {
        process.receive_values<double>(static_cast<ProcessId>(r % count), gather, all[r]);
      }
    }
    const auto solution = process.view(solution_);
    for (std::uint64_t r = n_; r-- > 0;) {
      double x = all[r][n_];
      for (std::uint64_t c = r + 1; c < n_; ++c) x -= all[r][c] * solution[c];
      solution[r] = x / all[r][r];
      process.compute(2 * (n_ - r));
    }
  }

  std::string check(const Memory& memory) override {
    for (std::uint64_t i = 0; i < n_; ++i) {
      if (!(std::abs(memory.peek(solution_, i) - static_cast<double>(i + 1)) <=
            1e-9 * static_cast<double>(n_))) {
        return "unknown " + std::to_string(i) + " is " + std::to_string(memory.peek(solution_, i)) +
               " and should be " + std::to_string(i + 1);
      }
    }
    return {};
  }

 private:
  // Random, the diagonal larger than the rest of its row, so that no pivoting is needed.
  double input(std::uint64_t r, std::uint64_t c) const noexcept {
    return uniform_at(seed_, r * n_ + c) + (r == c ? static_cast<double>(n_) : 0.0);
  }

  std::uint64_t n_;
  std::uint64_t seed_;
  SharedArray<double> solution_;
  RegionId eliminate_ = 0;
  RegionId broadcast_ = 0;
  RegionId substitute_ = 0;
};

}  // namespace

const Workload kGauss{
    .name = "gauss",
    .summary = "Gaussian elimination by messages; the system has a known solution",
    .parameters = kParameters,
    .make = [](const Values& values) -> std::unique_ptr<Program> { return std::make_unique<Gauss>(values); }};

}  // namespace substrata::workloads
