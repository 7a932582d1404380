// The one-process Fourier transform: Stockham's self-sorting algorithm with butterflies of 2, 3, 4 and 5
// points.
#include "fft_kernels.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

namespace fft {
namespace {

// Multiplies by -i (forward) or i (inverse): a turn by a quarter circle costs no multiplication.
template <bool kForward>
Complex quarter_turn(Complex a) noexcept {
  if constexpr (kForward) return {a.imag(), -a.real()};
  return {-a.imag(), a.real()};
}

// The butterflies: the Fourier transform of the R values of `v`, in place, and how many operations it takes.
template <bool kForward>
struct Butterfly2 {
  static constexpr std::size_t kPoints = 2;
  static constexpr std::int64_t kOperations = 4;
  static void apply(Complex* v) noexcept {
    const Complex a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  }
};

template <bool kForward>
struct Butterfly3 {
  static constexpr std::size_t kPoints = 3;
  static constexpr std::int64_t kOperations = 16;
  static void apply(Complex* v) noexcept {
    constexpr double kSin60 = 0.86602540378443864676;
    const Complex sum = v[1] + v[2];
    const Complex turned = quarter_turn<kForward>((v[1] - v[2]) * kSin60);
    const Complex middle = v[0] - sum * 0.5;
    v[0] += sum;
    v[1] = middle + turned;
    v[2] = middle - turned;
  }
};

template <bool kForward>
struct Butterfly4 {
  static constexpr std::size_t kPoints = 4;
  static constexpr std::int64_t kOperations = 16;
  static void apply(Complex* v) noexcept {
    const Complex even_sum = v[0] + v[2];
    const Complex even_difference = v[0] - v[2];
    const Complex odd_sum = v[1] + v[3];
    const Complex odd_turned = quarter_turn<kForward>(v[1] - v[3]);
    v[0] = even_sum + odd_sum;
    v[1] = even_difference + odd_turned;
    v[2] = even_sum - odd_sum;
    v[3] = even_difference - odd_turned;
  }
};

template <bool kForward>
struct Butterfly5 {
  static constexpr std::size_t kPoints = 5;
  static constexpr std::int64_t kOperations = 48;
  static void apply(Complex* v) noexcept {
    constexpr double kCos72 = 0.30901699437494742410;
    constexpr double kSin72 = 0.95105651629515357212;
    constexpr double kCos144 = -0.80901699437494742410;
    constexpr double kSin144 = 0.58778525229247312917;
    const Complex sum1 = v[1] + v[4];
    const Complex difference1 = v[1] - v[4];
    const Complex sum2 = v[2] + v[3];
    const Complex difference2 = v[2] - v[3];
    const Complex first = v[0] + sum1 * kCos72 + sum2 * kCos144;
    const Complex second = v[0] + sum1 * kCos144 + sum2 * kCos72;
    const Complex first_turned = quarter_turn<kForward>(difference1 * kSin72 + difference2 * kSin144);
    const Complex second_turned = quarter_turn<kForward>(difference1 * kSin144 - difference2 * kSin72);
    v[0] += sum1 + sum2;
    v[1] = first + first_turned;
    v[4] = first - first_turned;
    v[2] = second + second_turned;
    v[3] = second - second_turned;
  }
};

// One pass of decimation in frequency: `length` is what is left to transform, `stride` how many transforms of
// it lie interleaved; reads `from`, writes `to` in the order the next pass wants.
template <bool kForward, template <bool> class Butterfly>
std::int64_t pass(std::size_t length, std::size_t stride, std::size_t total, const Complex* roots,
                  const Complex* from, Complex* to) noexcept {
  constexpr std::size_t kPoints = Butterfly<kForward>::kPoints;
  const std::size_t part = length / kPoints;
  const std::size_t root_step = total / length;
  for (std::size_t p = 0; p < part; ++p) {
    Complex turn[kPoints];
    for (std::size_t u = 0; u < kPoints; ++u) {
      const Complex root = roots[(p * u * root_step) % total];
      turn[u] = kForward ? root : std::conj(root);
    }
    for (std::size_t q = 0; q < stride; ++q) {
      Complex v[kPoints];
      for (std::size_t t = 0; t < kPoints; ++t) v[t] = from[q + stride * (p + part * t)];
      Butterfly<kForward>::apply(v);
      Complex* out = to + q + stride * kPoints * p;
      out[0] = v[0];
      for (std::size_t u = 1; u < kPoints; ++u) out[stride * u] = multiply(v[u], turn[u]);
    }
  }
  constexpr std::int64_t kEach =
      Butterfly<kForward>::kOperations + 6 * (static_cast<std::int64_t>(kPoints) - 1);
  return kEach * static_cast<std::int64_t>(part * stride);
}

template <bool kForward>
std::int64_t all_passes(const std::vector<unsigned>& factors, const std::vector<Complex>& roots,
                        std::size_t total, Complex* data, Complex* work) noexcept {
  std::int64_t operations = 0;
  std::size_t length = total;
  std::size_t stride = 1;
  Complex* from = data;
  Complex* to = work;
  for (const unsigned factor : factors) {
    switch (factor) {
      case 2:
        operations += pass<kForward, Butterfly2>(length, stride, total, roots.data(), from, to);
        break;
      case 3:
        operations += pass<kForward, Butterfly3>(length, stride, total, roots.data(), from, to);
        break;
      case 4:
        operations += pass<kForward, Butterfly4>(length, stride, total, roots.data(), from, to);
        break;
      default:
        operations += pass<kForward, Butterfly5>(length, stride, total, roots.data(), from, to);
        break;
    }
    length /= factor;
    stride *= factor;
    std::swap(from, to);
  }
  if (from != data) {
    for (std::size_t i = 0; i < total; ++i) data[i] = from[i];
  }
  return operations;
}

}  // namespace

bool is_supported_length(std::size_t length) noexcept {
  if (length == 0) return false;
  for (const std::size_t factor : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
    while (length % factor == 0) length /= factor;
  }
  return length == 1;
}

Complex root_of_unity(std::size_t k, std::size_t n) noexcept {
  k %= n;
  if (8 * k % n == 0) {
    constexpr double kHalf = std::numbers::sqrt2 / 2;
    constexpr Complex kEighths[] = {{1, 0},  {kHalf, -kHalf}, {0, -1}, {-kHalf, -kHalf},
                                    {-1, 0}, {-kHalf, kHalf}, {0, 1},  {kHalf, kHalf}};
    return kEighths[8 * k / n];
  }
  const double angle = -2.0 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

Plan::Plan(std::size_t length) : length_(length) {
  if (!is_supported_length(length)) {
    throw std::invalid_argument("length " + std::to_string(length) + " is not a product of 2, 3 and 5");
  }
  for (const unsigned factor : {5U, 3U, 4U, 2U}) {
    for (; length % factor == 0; length /= factor) factors_.push_back(factor);
  }
  roots_.reserve(length_);
  for (std::size_t k = 0; k < length_; ++k) roots_.push_back(root_of_unity(k, length_));
}

std::int64_t Plan::transform(Complex* data, Complex* work, Direction direction) const noexcept {
  if (direction == Direction::kForward) return all_passes<true>(factors_, roots_, length_, data, work);
  return all_passes<false>(factors_, roots_, length_, data, work);
}

}  // namespace fft
