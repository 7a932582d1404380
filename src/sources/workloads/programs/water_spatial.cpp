// Molecular dynamics with short-range forces: molecules in cells of a periodic box, lists of each cell's
// molecules, moves between cells under locks. The structure of SPLASH-2's WATER-SPATIAL (Woo et al., ISCA
// 1995) with point masses and a smooth repulsion in place of water's potential.
#include <algorithm>
#include <array>
#include <cmath>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

// SPLASH-2's program finds, for each coordinate of a pair, fourteen distances between the parts of two water
// molecules, each by a subtraction, a comparison with half the box and a shift: with loads and stores six
// operations, counted as one cycle each.
constexpr std::uint64_t kShiftCycles = 14 * 6;

constexpr Parameter kParameters[] = {
    {"molecules", "molecules", 512, 1, 1U << 20},
    {"steps", "time steps", 3, 1, 1000},
    {"percell", "molecules in a cell on average", 8, 1, 4096},
    choice("procedures", "fine: each pair calls a procedure for each coordinate, as SPLASH-2's program does",
           "coarse|fine"),
    {"length", "cycles of that procedure", kShiftCycles, 1, 100'000},
    kSeedParameter,
};

constexpr double kCutoff = 1.0;  // also the least side of a cell
constexpr double kStep = 0.02;
constexpr std::uint32_t kLockOfSums = 0;
using Vector = std::array<double, 3>;

class WaterSpatial final : public Program {
 public:
  explicit WaterSpatial(const Values& values)
      : molecules_(values["molecules"]),
        steps_(values["steps"]),
        seed_(values["seed"]),
        length_(values["length"]),
        fine_(values["procedures"] != 0) {
    const double cells = std::cbrt(static_cast<double>(molecules_) / static_cast<double>(values["percell"]));
    side_cells_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(cells));
    box_ = kCutoff * static_cast<double>(std::max<std::uint64_t>(side_cells_, 2));
    neighbours_.resize(cells_count());
    for (std::uint64_t cell = 0; cell < cells_count(); ++cell) {
      std::vector<std::uint64_t>& list = neighbours_[cell];
      const std::uint64_t x = cell % side_cells_;
      const std::uint64_t y = cell / side_cells_ % side_cells_;
      const std::uint64_t z = cell / side_cells_ / side_cells_;
      for (std::uint64_t i = 0; i < 27; ++i) {
        const std::uint64_t nx = (x + side_cells_ + i % 3 - 1) % side_cells_;
        const std::uint64_t ny = (y + side_cells_ + i / 3 % 3 - 1) % side_cells_;
        const std::uint64_t nz = (z + side_cells_ + i / 9 - 1) % side_cells_;
        list.push_back((nz * side_cells_ + ny) * side_cells_ + nx);
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  void lay_out(Memory& memory, ProcessId) override {
    position_ = memory.array<double>("water.position", 3 * molecules_);
    velocity_ = memory.array<double>("water.velocity", 3 * molecules_);
    force_ = memory.array<double>("water.force", 3 * molecules_);
    for (int i = 0; i < 2; ++i) {
      next_[i] = memory.array<std::int32_t>(i == 0 ? "water.next0" : "water.next1", molecules_);
      head_[i] = memory.array<std::int32_t>(i == 0 ? "water.head0" : "water.head1", cells_count());
    }
    energy_ = memory.array<double>("water.energy", steps_);
    initialise_ = memory.region("water.initialise");
    predict_ = memory.region("water.predict");
    move_ = memory.region("water.move");
    forces_ = memory.region("water.forces");
    if (fine_) shift_ = memory.region("water.shift");
    correct_ = memory.region("water.correct");
  }

  void run(Process& process) override {
    process.phase(initialise_);
    const auto [low, high] = process.share(cells_count());
    {
      // Each process puts the molecules that begin in its cells there.
      const auto position = process.view(position_);
      const auto velocity = process.view(velocity_);
      const auto next = process.view(next_[0]);
      const auto head = process.view(head_[0]);
      for (std::uint64_t cell = low; cell < high; ++cell) head[cell] = -1;
      for (std::uint64_t m = 0; m < molecules_; ++m) {
        const Vector at = start(m);
        const std::uint64_t cell = cell_of(at);
        if (cell < low || cell >= high) continue;
        for (std::uint64_t d = 0; d < 3; ++d) {
          position[3 * m + d] = at[d];
          velocity[3 * m + d] = start_velocity(m)[d];
        }
        next[m] = static_cast<std::int32_t>(head[cell]);
        head[cell] = static_cast<std::int32_t>(m);
      }
    }
    process.barrier();
    process.phase(forces_);
    forces(process, 0);
    process.barrier();
    for (std::uint64_t step = 0; step < steps_; ++step) {
      const unsigned now = step & 1U;
      process.phase(predict_);
      predict(process, now);
      process.barrier();
      process.phase(move_);
      move(process, now);
      process.barrier();
      process.phase(forces_);
      const double potential = forces(process, now ^ 1U);
      process.phase(correct_);
      const double kinetic = correct(process, now ^ 1U);
      process.lock(kLockOfSums);
      process.view(energy_)[step] += potential + kinetic;
      process.unlock(kLockOfSums);
      process.barrier();
    }
  }

  // The same steps with all pairs, one after the other.
  std::string check(const Memory& memory) override {
    std::vector<Vector> x(molecules_);
    std::vector<Vector> v(molecules_);
    std::vector<Vector> f;
    for (std::uint64_t m = 0; m < molecules_; ++m) {
      x[m] = start(m);
      v[m] = start_velocity(m);
    }
    double potential = all_pairs(x, f);
    for (std::uint64_t step = 0; step < steps_; ++step) {
      double kinetic = 0;
      for (std::uint64_t m = 0; m < molecules_; ++m) {
        for (std::uint64_t d = 0; d < 3; ++d) {
          v[m][d] += 0.5 * kStep * f[m][d];
          x[m][d] = wrapped(x[m][d] + kStep * v[m][d]);
        }
      }
      potential = all_pairs(x, f);
      for (std::uint64_t m = 0; m < molecules_; ++m) {
        for (std::uint64_t d = 0; d < 3; ++d) {
          v[m][d] += 0.5 * kStep * f[m][d];
          kinetic += 0.5 * v[m][d] * v[m][d];
        }
      }
      const double wanted = potential + kinetic;
      if (!(std::abs(memory.peek(energy_, step) - wanted) <= 1e-7 * (std::abs(wanted) + 1))) {
        return differs("the energy after step", step, memory.peek(energy_, step), wanted);
      }
    }
    for (std::uint64_t i = 0; i < 3 * molecules_; ++i) {
      const double difference = memory.peek(position_, i) - x[i / 3][i % 3];
      if (!(std::abs(difference - box_ * std::round(difference / box_)) <= 1e-7)) {
        return "molecule " + std::to_string(i / 3) + " is " + std::to_string(difference) +
               " from where it should be";
      }
    }
    return {};
  }

 private:
  std::uint64_t cells_count() const noexcept { return side_cells_ * side_cells_ * side_cells_; }
  Vector start(std::uint64_t m) const noexcept {
    return {box_ * uniform_at(seed_, 6 * m), box_ * uniform_at(seed_, 6 * m + 1),
            box_ * uniform_at(seed_, 6 * m + 2)};
  }
  Vector start_velocity(std::uint64_t m) const noexcept {
    return {uniform_at(seed_, 6 * m + 3) - 0.5, uniform_at(seed_, 6 * m + 4) - 0.5,
            uniform_at(seed_, 6 * m + 5) - 0.5};
  }
  double wrapped(double x) const noexcept {
    x -= box_ * std::floor(x / box_);
    return x < box_ ? x : 0.0;
  }
  std::uint64_t cell_of(const Vector& at) const noexcept {
    std::uint64_t cell = 0;
    for (std::size_t d = 3; d-- > 0;) {
      const auto index = static_cast<std::uint64_t>(at[d] / box_ * static_cast<double>(side_cells_));
      cell = cell * side_cells_ + std::min(index, side_cells_ - 1);
    }
    return cell;
  }
  // Potential (1 - r^2/c^2)^3 below the cutoff c. Adds the force on the first to `force`; returns the energy.
  double interact(const Vector& a, const Vector& b, Vector& force) const noexcept {
    Vector apart;
    double square = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      apart[d] = a[d] - b[d];
      apart[d] -= box_ * std::round(apart[d] / box_);
      square += apart[d] * apart[d];
    }
    const double rest = 1 - square / (kCutoff * kCutoff);
    if (rest <= 0) return 0;
    for (std::size_t d = 0; d < 3; ++d) force[d] += 6 / (kCutoff * kCutoff) * rest * rest * apart[d];
    return rest * rest * rest;
  }
  double all_pairs(const std::vector<Vector>& x, std::vector<Vector>& f) const {
    double energy = 0;
    f.assign(molecules_, Vector{});
    for (std::uint64_t a = 0; a < molecules_; ++a) {
      for (std::uint64_t b = 0; b < molecules_; ++b) {
        if (a != b) energy += 0.5 * interact(x[a], x[b], f[a]);
      }
    }
    return energy;
  }

  // Calls body(cell, molecule) for each molecule in this process's cells.
  template <typename Body>
  void for_own(Process& process, unsigned lists, Body&& body) {
    const auto next = process.view(next_[lists]);
    const auto head = process.view(head_[lists]);
    const auto [low, high] = process.share(cells_count());
    for (std::uint64_t cell = low; cell < high; ++cell) {
      for (std::int32_t m = head[cell]; m >= 0; m = next[static_cast<std::uint64_t>(m)]) {
        body(cell, static_cast<std::uint64_t>(m));
      }
    }
  }

  void predict(Process& process, unsigned lists) {
    const Procedure procedure(process, predict_);
    const auto position = process.view(position_);
    const auto velocity = process.view(velocity_);
    const auto force = process.view(force_);
    for_own(process, lists, [&](std::uint64_t, std::uint64_t m) {
      for (std::uint64_t i = 3 * m; i < 3 * m + 3; ++i) {
        const double v = velocity[i] + 0.5 * kStep * force[i];
        velocity[i] = v;
        position[i] = wrapped(position[i] + kStep * v);
        process.compute(8);
      }
    });
    // The lists to come are emptied before anyone may move a molecule into them.
    const auto head = process.view(head_[lists ^ 1U]);
    const auto [low, high] = process.share(cells_count());
    for (std::uint64_t cell = low; cell < high; ++cell) head[cell] = -1;
  }

  void move(Process& process, unsigned lists) {
    const Procedure procedure(process, move_);
    const auto position = process.view(position_);
    const auto next = process.view(next_[lists ^ 1U]);
    const auto head = process.view(head_[lists ^ 1U]);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> moved;
    for_own(process, lists, [&](std::uint64_t cell, std::uint64_t m) {
      const std::uint64_t to = cell_of({position[3 * m], position[3 * m + 1], position[3 * m + 2]});
      if (to != cell) {
        moved.emplace_back(m, to);
        return;
      }
      next[m] = static_cast<std::int32_t>(head[cell]);
      head[cell] = static_cast<std::int32_t>(m);
    });
    process.barrier();
    for (const auto& entry : moved) {
      const auto lock = static_cast<std::uint32_t>(1 + entry.second);
      process.lock(lock);
      next[entry.first] = static_cast<std::int32_t>(head[entry.second]);
      head[entry.second] = static_cast<std::int32_t>(entry.first);
      process.unlock(lock);
    }
  }

  double forces(Process& process, unsigned lists) {
    const auto position = process.view(position_);
    const auto force = process.view(force_);
    const auto next = process.view(next_[lists]);
    const auto head = process.view(head_[lists]);
    const auto at = [&](std::uint64_t m) {
      return Vector{position[3 * m], position[3 * m + 1], position[3 * m + 2]};
    };
    double energy = 0;
    for_own(process, lists, [&](std::uint64_t cell, std::uint64_t m) {
      const Procedure procedure(process, forces_);
      const Vector own = at(m);
      Vector sum{};
      for (const std::uint64_t other_cell : neighbours_[cell]) {
        for (std::int32_t o = head[other_cell]; o >= 0; o = next[static_cast<std::uint64_t>(o)]) {
          const auto other = static_cast<std::uint64_t>(o);
          if (other == m) continue;
          for (int coordinate = 0; fine_ && coordinate < 3; ++coordinate) {
            const Procedure shift(process, shift_);
            process.compute(length_);
          }
          energy += 0.5 * interact(own, at(other), sum);
          process.compute(30);
        }
      }
      for (std::uint64_t d = 0; d < 3; ++d) force[3 * m + d] = sum[d];
    });
    return energy;
  }

  double correct(Process& process, unsigned lists) {
    const Procedure procedure(process, correct_);
    const auto velocity = process.view(velocity_);
    const auto force = process.view(force_);
    double energy = 0;
    for_own(process, lists, [&](std::uint64_t, std::uint64_t m) {
      for (std::uint64_t i = 3 * m; i < 3 * m + 3; ++i) {
        const double v = velocity[i] + 0.5 * kStep * force[i];
        velocity[i] = v;
        energy += 0.5 * v * v;
        process.compute(6);
      }
    });
    return energy;
  }

  std::uint64_t molecules_;
  std::uint64_t steps_;
  std::uint64_t seed_;
  std::uint64_t length_;
  bool fine_;
  std::uint64_t side_cells_ = 1;
  double box_ = 1;
  std::vector<std::vector<std::uint64_t>> neighbours_;  // of each cell, itself included; private constants
  SharedArray<double> position_, velocity_, force_;
  SharedArray<std::int32_t> next_[2], head_[2];  // lists of the present and of the next step, by turns
  SharedArray<double> energy_;
  RegionId initialise_ = 0, predict_ = 0, move_ = 0, forces_ = 0, shift_ = 0, correct_ = 0;
};

}  // namespace

const Workload kWaterSpatial = workload<WaterSpatial>(
    "water-spatial",
    "molecules in cells with short-range forces; compared with all pairs, computed sequentially",
    kParameters);

}  // namespace substrata::workloads
