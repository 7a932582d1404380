// Gaussian elimination by messages: rows dealt out in turn. At each step the owner of the pivot row sends it
// to every other process; or, with pivoting, every process sends the others its line with the largest value
// in the column, and all take the largest of these. The NX program of the Myrinet monitor's paper
// (section 4.3) can be either.
#include <algorithm>
#include <cmath>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"n", "unknowns", 128, 1, 8192},
    {"pivoting", "1: every process broadcasts a line per step, and the largest pivot value's is taken", 0, 0,
     1},
    {"ahead",
     "1: without pivoting, the owner of the next row prepares and broadcasts it before its other rows", 0, 0,
     1},
    choice("broadcast", "each: a send to every other process; ring: to the next one, which passes it on",
           "each|ring"),
    kSeedParameter,
};

class Gauss final : public Program {
 public:
  explicit Gauss(const Values& values)
      : n_(values["n"]),
        pivoting_(values["pivoting"] != 0),
        ahead_(values["ahead"] != 0 && !pivoting_),
        ring_(values["broadcast"] != 0),
        seed_(values["seed"]) {}

  void lay_out(Memory& memory, ProcessId) override {
    solution_ = memory.array<double>("gauss.solution", n_);
    eliminate_ = memory.region("gauss.eliminate");
    broadcast_ = memory.region("gauss.broadcast");
    substitute_ = memory.region("gauss.substitute");
  }

  void run(Process& process) override {
    const std::uint64_t self = process.id();
    const std::uint64_t count = process.count();
    // Private memory: row r of the matrix, its right-hand side last, lives in process r mod count. First
    // those that are not pivot rows yet, then those that are.
    std::vector<std::vector<double>> rows;
    std::vector<std::vector<double>> pivots;
    for (std::uint64_t r = self; r < n_; r += count) rows.push_back(input_row(r));
    std::vector<std::uint64_t> left(count);  // rows of each process that are not pivot rows yet
    for (std::uint64_t i = 0; i < count; ++i) left[i] = (n_ + count - 1 - i) / count;
    std::vector<std::uint64_t> owners;  // of the pivot rows
    std::vector<std::vector<double>> lines(count);
    const auto next = static_cast<ProcessId>((self + 1) % count);
    const auto broadcast = [&](const std::vector<double>& row, std::uint64_t step) {
      lines[self].assign(row.begin() + static_cast<std::ptrdiff_t>(step), row.end());
      const Procedure procedure(process, broadcast_, LayerKind::kBroadcast);
      for (std::uint64_t to = 1; to < (ring_ ? std::min<std::uint64_t>(count, 2) : count); ++to) {
        process.send_values<double>(static_cast<ProcessId>((self + to) % count),
                                    static_cast<std::uint32_t>(step), std::span<const double>(lines[self]));
      }
    };
    bool sent_ahead = false;  // the line of this step
    for (std::uint64_t k = 0; k < n_; ++k) {
      const auto offers = [&](std::uint64_t other) {
        return pivoting_ ? left[other] != 0 : other == k % count;
      };
      const auto tag = static_cast<std::uint32_t>(k);
      process.phase(broadcast_);
      std::size_t best = 0;
      if (offers(self)) {
        if (pivoting_) best = best_row(process, rows, k);
        if (!sent_ahead) broadcast(rows[best], k);
        sent_ahead = false;
      }
      for (std::uint64_t step = 1; step < count; ++step) {
        const auto other = static_cast<ProcessId>((self + count - step) % count);
        if (!offers(other)) continue;
        lines[other].resize(n_ + 1 - k);
        const auto from = static_cast<ProcessId>((self + count - 1) % count);
        process.receive_values<double>(ring_ ? from : other, tag, std::span(lines[other]));
        if (ring_ && next != other)
          process.send_values<double>(next, tag, std::span<const double>(lines[other]));
      }
      std::uint64_t owner = count;
      for (std::uint64_t other = 0; other < count; ++other) {
        if (!offers(other)) continue;
        if (owner == count || std::abs(lines[other][0]) > std::abs(lines[owner][0])) owner = other;
      }
      owners.push_back(owner);
      --left[owner];
      if (owner == self) {
        pivots.push_back(std::move(rows[best]));
        rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(best));
      }
      process.phase(eliminate_);
      const Procedure procedure(process, eliminate_);
      const std::vector<double>& pivot = lines[owner];
      const auto subtract = [&](std::vector<double>& row) {
        const double factor = row[k] / pivot[0];
        for (std::uint64_t c = k; c <= n_; ++c) row[c] -= factor * pivot[c - k];
        process.compute(2 * (n_ - k + 1));
      };
      std::size_t done = 0;
      if (ahead_ && count > 1 && k + 1 < n_ && (k + 1) % count == self) {
        subtract(rows.front());
        broadcast(rows.front(), k + 1);
        sent_ahead = true;
        done = 1;
      }
      for (std::size_t i = done; i < rows.size(); ++i) subtract(rows[i]);
    }
    process.phase(substitute_);
    const auto gather = static_cast<std::uint32_t>(n_);
    if (self != 0) {
      for (const std::vector<double>& row : pivots) process.send_values<double>(0, gather, row);
      return;
    }
    std::vector<std::vector<double>> all(n_, std::vector<double>(n_ + 1));
    std::size_t own = 0;
    for (std::uint64_t r = 0; r < n_; ++r) {
      if (owners[r] == 0) {
        all[r] = pivots[own++];
      } else {
        process.receive_values<double>(static_cast<ProcessId>(owners[r]), gather, all[r]);
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
  std::vector<double> input_row(std::uint64_t r) const {
    std::vector<double> row(n_ + 1);
    for (std::uint64_t c = 0; c < n_; ++c) {
      row[c] = input(r, c);
      row[n_] += row[c] * static_cast<double>(c + 1);
    }
    return row;
  }
  // Random. Without pivoting the diagonal is larger than the rest of its row, so that none is needed; with it
  // the diagonal is zero (but for a single unknown), so that it is.
  double input(std::uint64_t r, std::uint64_t c) const noexcept {
    const double value = uniform_at(seed_, r * n_ + c);
    if (r != c) return value;
    if (pivoting_) return n_ == 1 ? 1 : 0;
    return value + static_cast<double>(n_);
  }
  // The row with the largest value in the column.
  static std::size_t best_row(Process& process, const std::vector<std::vector<double>>& rows,
                              std::uint64_t column) {
    process.compute(rows.size());
    std::size_t best = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      if (std::abs(rows[i][column]) > std::abs(rows[best][column])) best = i;
    }
    return best;
  }

  std::uint64_t n_;
  bool pivoting_, ahead_, ring_;
  std::uint64_t seed_;
  SharedArray<double> solution_;
  RegionId eliminate_ = 0, broadcast_ = 0, substitute_ = 0;
};

}  // namespace

const Workload kGauss = workload<Gauss>(
    "gauss", "Gaussian elimination by messages; the system has a known solution", kParameters);

}  // namespace substrata::workloads
