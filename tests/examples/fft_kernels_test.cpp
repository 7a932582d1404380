// Checks the Fourier example's kernels against the definition, against FFTW, and by going back.
#include "fft/fft_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

#ifdef HAVE_FFTW3
#include <fftw3.h>
#endif

namespace {

using fft::Complex;
using fft::Direction;

std::vector<Complex> random_signal(std::size_t length, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Complex> signal(length);
  for (Complex& value : signal) {
    const double real = uniform(generator);
    value = {real, uniform(generator)};
  }
  return signal;
}

std::vector<Complex> transformed(std::vector<Complex> data, Direction direction) {
  std::vector<Complex> work(data.size());
  fft::Plan(data.size()).transform(data.data(), work.data(), direction);
  return data;
}

// The relative distance of two signals in the Euclidean norm.
double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::norm(a.at(i) - b.at(i));
    norm += std::norm(b.at(i));
  }
  return std::sqrt(difference / norm);
}

TEST(Plan, AgreesWithTheDefinitionForEverySupportedLengthUpTo100) {
  int lengths = 0;
  for (std::size_t length = 1; length <= 100; ++length) {
    if (!fft::is_supported_length(length)) continue;
    ++lengths;
    const std::vector<Complex> signal = random_signal(length, 1);
    for (const Direction direction : {Direction::kForward, Direction::kInverse}) {
      const double sign = direction == Direction::kForward ? -1 : 1;
      std::vector<Complex> expected(length);
      for (std::size_t k = 0; k < length; ++k) {
        for (std::size_t n = 0; n < length; ++n) {
          const double angle =
              2 * std::numbers::pi * static_cast<double>(k * n % length) / static_cast<double>(length);
          expected[k] += signal[n] * std::polar(1.0, sign * angle);
        }
      }
      EXPECT_LT(distance(transformed(signal, direction), expected), 1e-14 * static_cast<double>(length))
          << length;
    }
  }
  EXPECT_EQ(lengths, 34);  // the numbers 2^a 3^b 5^c up to 100
}

TEST(Plan, AgreesWithFftw) {
#ifdef HAVE_FFTW3
  for (const std::size_t length : {256UL, 1024UL, 3125UL, 2187UL, 3600UL, 4096UL, 30000UL}) {
    const std::vector<Complex> signal = random_signal(length, 2);
    std::vector<Complex> expected = signal;
    auto* data = reinterpret_cast<fftw_complex*>(expected.data());
    fftw_plan plan = fftw_plan_dft_1d(static_cast<int>(length), data, data, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    EXPECT_LT(distance(transformed(signal, Direction::kForward), expected), 2e-15) << length;
  }
#else
  GTEST_SKIP() << "FFTW was not installed when this was built (Debian: libfftw3-dev)";
#endif
}

TEST(Plan, InverseOfForwardIsTheSignalTimesTheLength) {
  for (const std::size_t length : {1UL, 2UL, 360UL, 4096UL}) {
    const std::vector<Complex> signal = random_signal(length, 3);
    std::vector<Complex> back = transformed(transformed(signal, Direction::kForward), Direction::kInverse);
    for (Complex& value : back) value /= static_cast<double>(length);
    EXPECT_LT(distance(back, signal), 2e-15) << length;
  }
}

TEST(Plan, ImpulseHasAFlatSpectrum) {
  std::vector<Complex> impulse(60);
  impulse[0] = 1;
  for (const Complex& value : transformed(impulse, Direction::kForward)) {
    EXPECT_NEAR(value.real(), 1, 1e-15);
    EXPECT_NEAR(value.imag(), 0, 1e-15);
  }
}

TEST(Plan, CountsTheOperationsOfItsButterflies) {
  const auto operations = [](std::size_t length) {
    std::vector<Complex> data(length), work(length);
    return fft::Plan(length).transform(data.data(), work.data(), Direction::kForward);
  };
  EXPECT_EQ(operations(1), 0);
  EXPECT_EQ(operations(2), 4 + 6);            // a sum, a difference, one turn
  EXPECT_EQ(operations(4), 16 + 3 * 6);       // eight additions, three turns
  EXPECT_EQ(operations(8), 2 * 34 + 4 * 10);  // two butterflies of four, four of two
  EXPECT_EQ(operations(3), 16 + 2 * 6);
  EXPECT_EQ(operations(5), 48 + 4 * 6);
  EXPECT_EQ(operations(15), 3 * 72 + 5 * 28);
}

TEST(Plan, RefusesALengthWithAnotherPrimeFactor) {
  for (const std::size_t length : {0UL, 7UL, 11UL, 14UL, 1001UL}) {
    EXPECT_FALSE(fft::is_supported_length(length)) << length;
    EXPECT_THROW(fft::Plan{length}, std::invalid_argument) << length;
  }
}

TEST(RootOfUnity, IsExactAtTheEighthsAndNearElsewhere) {
  EXPECT_EQ(fft::root_of_unity(0, 16), Complex(1, 0));
  EXPECT_EQ(fft::root_of_unity(4, 16), Complex(0, -1));
  EXPECT_EQ(fft::root_of_unity(8, 16), Complex(-1, 0));
  EXPECT_EQ(fft::root_of_unity(12, 16), Complex(0, 1));
  EXPECT_EQ(fft::root_of_unity(16 + 4, 16), Complex(0, -1));
  for (std::size_t k = 0; k < 48; ++k) {
    const Complex expected = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / 48);
    EXPECT_LT(std::abs(fft::root_of_unity(k, 48) - expected), 1e-15) << k;
  }
}

}  // namespace
