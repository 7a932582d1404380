// Loops that do nothing but multiply and add, or move memory, for each width of vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace substrata::roofline {

// Double precision. Thread-safe.
struct Kernels {
  const char* name;      // "SSE2", "AVX2", "AVX-512", "NEON", "vectors of 128 bits"
  double flops_a_round;  // operations in one round of multiply_add
  // Independent chains of x = x * factor + term; gives a number that depends on all of them.
  double (*multiply_add)(std::uint64_t rounds, double factor, double term);
  // a[i] = b[i] + factor * c[i]; count is a multiple of 8, the arrays begin at multiples of 64 bytes.
  void (*triad)(double* a, const double* b, const double* c, double factor, std::size_t count);
};
inline constexpr double kTriadFlops = 2;   // an element
inline constexpr double kTriadBytes = 24;  // an element: two loads and a store, as STREAM counts

// Those that this processor executes, the narrowest first; never empty.
std::vector<Kernels> kernels_here();

}  // namespace substrata::roofline
