// One template, compiled for each instruction set; which one runs is decided at run time.
#include "tools/roofline/kernels.hpp"

namespace substrata::roofline {
namespace {

// Enough independent chains for two units with a latency of four to six cycles; fits sixteen registers.
constexpr int kChains = 12;

struct Vectors128 {
  typedef double Type __attribute__((vector_size(16)));
};
struct Vectors256 {
  typedef double Type __attribute__((vector_size(32)));
};
struct Vectors512 {
  typedef double Type __attribute__((vector_size(64)));
};

template <typename Vectors>
constexpr std::size_t kLanes = sizeof(typename Vectors::Type) / sizeof(double);

template <typename Vectors>
[[gnu::always_inline]] inline double multiply_add(std::uint64_t rounds, double factor, double term) {
  using Vector = typename Vectors::Type;
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + (1.0 + 0.01 * i);
  const Vector factors = Vector{} + factor, terms = Vector{} + term;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * factors + terms;
  double sum = 0;
  for (int i = 0; i < kChains; ++i)
    for (std::size_t lane = 0; lane < kLanes<Vectors>; ++lane) sum += chains[i][lane];
  return sum;
}

template <typename Vectors>
[[gnu::always_inline]] inline void triad(double* a, const double* b, const double* c, double factor,
                                         std::size_t count) {
  using Vector = typename Vectors::Type;
  const Vector factors = Vector{} + factor;
  for (std::size_t i = 0; i < count; i += kLanes<Vectors>) {
    Vector left, right;
    __builtin_memcpy(&left, b + i, sizeof left);
    __builtin_memcpy(&right, c + i, sizeof right);
    left = left + factors * right;
    __builtin_memcpy(a + i, &left, sizeof left);
  }
}

template <typename Vectors>
constexpr double kFlopsARound = 2.0 * kChains* static_cast<double>(kLanes<Vectors>);

double multiply_add_128(std::uint64_t rounds, double factor, double term) {
  return multiply_add<Vectors128>(rounds, factor, term);
}
void triad_128(double* a, const double* b, const double* c, double factor, std::size_t count) {
  triad<Vectors128>(a, b, c, factor, count);
}

#ifdef __x86_64__
constexpr const char* kName128 = "SSE2";
[[gnu::target("avx2,fma")]] double multiply_add_256(std::uint64_t rounds, double factor, double term) {
  return multiply_add<Vectors256>(rounds, factor, term);
}
[[gnu::target("avx2,fma")]] void triad_256(double* a, const double* b, const double* c, double factor,
                                           std::size_t count) {
  triad<Vectors256>(a, b, c, factor, count);
}
[[gnu::target("avx512f,fma")]] double multiply_add_512(std::uint64_t rounds, double factor, double term) {
  return multiply_add<Vectors512>(rounds, factor, term);
}
[[gnu::target("avx512f,fma")]] void triad_512(double* a, const double* b, const double* c, double factor,
                                              std::size_t count) {
  triad<Vectors512>(a, b, c, factor, count);
}
#elif defined __aarch64__
constexpr const char* kName128 = "NEON";
#else
constexpr const char* kName128 = "vectors of 128 bits";
#endif

}  // namespace

std::vector<Kernels> kernels_here() {
  std::vector<Kernels> out = {{kName128, kFlopsARound<Vectors128>, multiply_add_128, triad_128}};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
    out.push_back({"AVX2", kFlopsARound<Vectors256>, multiply_add_256, triad_256});
  if (__builtin_cpu_supports("avx512f") != 0)
    out.push_back({"AVX-512", kFlopsARound<Vectors512>, multiply_add_512, triad_512});
#endif
  return out;
}

}  // namespace substrata::roofline
