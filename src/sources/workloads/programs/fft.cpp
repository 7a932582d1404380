// The six-step fast Fourier transform of complex numbers: three transposes, between them transforms of whole
// rows. After the method of Bailey (FFTs in external or hierarchical memory, Supercomputing 1989) that
// SPLASH-2's FFT uses.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "sources/workloads/programs/programs.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::workloads {
namespace {

using Complex = std::complex<double>;

constexpr Parameter kParameters[] = {
    power_of_two("points", "complex points, a power of two", 65536, 4, 1U << 26),
    {"inverse", "1: transform back as well and compare with the input", 0, 0, 1},
    kSeedParameter,
};

// Without the special cases of infinite factors that operator* looks for.
Complex product(const Complex& a, const Complex& b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Reference, sequential: the recursive definition by halves.
void transform(std::vector<Complex>& values) {
  const std::size_t n = values.size();
  if (n == 1) return;
  std::vector<Complex> even(n / 2);
  std::vector<Complex> odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) {
    even[i] = values[2 * i];
    odd[i] = values[2 * i + 1];
  }
  transform(even);
  transform(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const Complex turned = odd[k] * Complex(std::cos(angle), std::sin(angle));
    values[k] = even[k] + turned;
    values[k + n / 2] = even[k] - turned;
  }
}

class Fft final : public Program {
 public:
  explicit Fft(const Values& values)
      : points_(values["points"]), seed_(values["seed"]), inverse_(values["inverse"] != 0) {
    const int bits = std::countr_zero(points_);
    rows_ = std::uint64_t{1} << (bits / 2);
    columns_ = points_ / rows_;
    roots_ = roots(points_);
    row_roots_ = roots(rows_);
    column_roots_ = roots(columns_);
  }

  void lay_out(Memory& memory, ProcessId) override {
    data_ = memory.array<Complex>("fft.data", points_);
    scratch_ = memory.array<Complex>("fft.scratch", points_);
    initialise_ = memory.region("fft.initialise");
    transpose_ = memory.region("fft.transpose");
    row_transforms_ = memory.region("fft.rows");
  }

  void run(Process& process) override {
    process.phase(initialise_);
    const auto data = process.view(data_);
    const auto [begin, end] = process.share(points_);
    for (std::uint64_t i = begin; i < end; ++i) data[i] = input(i);
    six_steps(process, data, process.view(scratch_), false);
    if (inverse_) {
      six_steps(process, process.view(scratch_), data, true);
      process.barrier();
      const double scale = 1.0 / static_cast<double>(points_);
      for (std::uint64_t i = begin; i < end; ++i) data[i] = static_cast<Complex>(data[i]) * scale;
    }
  }

  std::string check(const Memory& memory) override {
    std::vector<Complex> wanted(points_);
    for (std::uint64_t i = 0; i < points_; ++i) wanted[i] = input(i);
    if (inverse_) return compare(memory, data_, wanted, "inverse transform");
    transform(wanted);
    return compare(memory, scratch_, wanted, "transform");
  }

 private:
  Complex input(std::uint64_t i) const noexcept {
    return {uniform_at(seed_, 2 * i) - 0.5, uniform_at(seed_, 2 * i + 1) - 0.5};
  }
  static std::vector<Complex> roots(std::uint64_t order) {
    std::vector<Complex> all(order);
    for (std::uint64_t i = 0; i < order; ++i) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(order);
      all[i] = {std::cos(angle), std::sin(angle)};
    }
    return all;
  }
  static Complex directed(const Complex& root, bool back) noexcept { return back ? std::conj(root) : root; }

  // from, in natural order as rows_ x columns_, to `to` in natural order; destroys from.
  void six_steps(Process& process, const View<Complex>& from, const View<Complex>& to, bool back) {
    process.barrier();
    transpose(process, from, rows_, columns_, to);
    transform_rows(process, to, columns_, rows_, true, back);
    process.barrier();
    transpose(process, to, columns_, rows_, from);
    transform_rows(process, from, rows_, columns_, false, back);
    process.barrier();
    transpose(process, from, rows_, columns_, to);
  }

  // Every process gathers its rows of the result, from one source process after the other, beginning with its
  // neighbour so that not all ask the same one; in tiles, so that a line fetched is used.
  void transpose(Process& process, const View<Complex>& from, std::uint64_t rows, std::uint64_t columns,
                 const View<Complex>& to) {
    constexpr std::uint64_t kTile = 8;
    process.phase(transpose_);
    const auto [first, last] = process.share(columns);
    for (ProcessId step = 1; step <= process.count(); ++step) {
      const auto [begin, end] = process.share_of(rows, (process.id() + step) % process.count());
      for (std::uint64_t r = first; r < last; r += kTile) {
        for (std::uint64_t s = begin; s < end; s += kTile) {
          for (std::uint64_t i = r; i < std::min(r + kTile, last); ++i) {
            for (std::uint64_t j = s; j < std::min(s + kTile, end); ++j)
              to[i * rows + j] = from[j * columns + i];
          }
        }
      }
    }
  }

  void transform_rows(Process& process, const View<Complex>& matrix, std::uint64_t rows, std::uint64_t length,
                      bool twiddle, bool back) {
    process.phase(row_transforms_);
    // Those of a row alone: picked out of all roots, they would lie a page apart and share few cache sets.
    const std::vector<Complex>& short_roots = length == rows_ ? row_roots_ : column_roots_;
    const auto [first, last] = process.share(rows);
    for (std::uint64_t row = first; row < last; ++row) {
      const Procedure procedure(process, row_transforms_);
      const std::uint64_t base = row * length;
      // Elements change places by reversed bits; j counts as i does, its highest bit first.
      for (std::uint64_t i = 0, j = 0; i < length; ++i) {
        if (i < j) {
          const Complex kept = matrix[base + i];
          matrix[base + i] = matrix[base + j];
          matrix[base + j] = kept;
        }
        std::uint64_t bit = length / 2;
        for (; (j & bit) != 0; bit /= 2) j ^= bit;
        j |= bit;
      }
      for (std::uint64_t half = 1; half < length; half *= 2) {
        const std::uint64_t step = length / (2 * half);
        for (std::uint64_t group = 0; group < length; group += 2 * half) {
          for (std::uint64_t k = 0; k < half; ++k) {
            const std::uint64_t low = base + group + k;
            const Complex a = matrix[low];
            const Complex b = product(matrix[low + half], directed(short_roots[k * step], back));
            matrix[low] = a + b;
            matrix[low + half] = a - b;
            process.compute(10);  // floating-point operations of a butterfly
          }
        }
      }
      if (twiddle) {
        for (std::uint64_t i = 0; i < length; ++i) {
          matrix[base + i] = product(matrix[base + i], directed(roots_[(row * i) & (points_ - 1)], back));
          process.compute(6);
        }
      }
    }
  }

  std::string compare(const Memory& memory, const SharedArray<Complex>& array,
                      const std::vector<Complex>& wanted, const char* what) const {
    double worst = 0;
    double scale = 0;
    std::uint64_t where = 0;
    for (std::uint64_t i = 0; i < points_; ++i) {
      const double difference = std::abs(memory.peek(array, i) - wanted[i]);
      scale = std::max(scale, std::abs(wanted[i]));
      if (!(difference <= worst)) {
        worst = difference;
        where = i;
      }
    }
    if (worst <= scale * 1e-12 * std::log2(static_cast<double>(points_) + 1)) return {};
    return std::string("the ") + what + " is off by " + std::to_string(worst) + " at point " +
           std::to_string(where);
  }

  std::uint64_t points_;
  std::uint64_t seed_;
  bool inverse_;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  // Roots of unity of these orders: private constants of every process.
  std::vector<Complex> roots_;
  std::vector<Complex> row_roots_;
  std::vector<Complex> column_roots_;
  SharedArray<Complex> data_;
  SharedArray<Complex> scratch_;
  RegionId initialise_ = 0, transpose_ = 0, row_transforms_ = 0;
};

}  // namespace

const Workload kFft = workload<Fft>(
    "fft", "six-step complex FFT; compared with a sequential transform, or with its input after the inverse",
    kParameters);

}  // namespace substrata::workloads
