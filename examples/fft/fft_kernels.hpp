// The one-process Fourier transform of the FFT example: complex, double precision, lengths 2^a 3^b 5^c.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fft {

using Complex = std::complex<double>;

enum class Direction { kForward, kInverse };  // exponent -2 pi i / n, and +; neither scales

// Whether the kernels transform this length: 2^a 3^b 5^c, at least 1.
bool is_supported_length(std::size_t length) noexcept;

// The transform of one length, with its table of roots. Thread-safe once made: transform() changes only its
// arguments.
class Plan {
 public:
  // Throws std::invalid_argument where is_supported_length() says no.
  explicit Plan(std::size_t length);

  std::size_t length() const noexcept { return length_; }

  // Transforms data[0..length) in place; work is scratch of the same length. Returns the floating-point
  // operations.
  std::int64_t transform(Complex* data, Complex* work, Direction direction) const noexcept;

 private:
  std::size_t length_;
  std::vector<unsigned> factors_;
  std::vector<Complex> roots_;  // exp(-2 pi i k / length)
};

// exp(-2 pi i k / n), exact at the eighths of the circle.
Complex root_of_unity(std::size_t k, std::size_t n) noexcept;

// Multiplies without the checks for infinities that the standard's operator* has to make.
inline Complex multiply(Complex a, Complex b) noexcept {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace fft
