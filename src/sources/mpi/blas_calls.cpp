// Stands before the functions of BLAS that do most of a program's arithmetic, in C's and in Fortran's names.
//
// A call within a call (the C names of the reference BLAS call Fortran's) is passed on untouched. Integers are of 32
// bits: libraries whose integers have 64 bits have other names.
#include "sources/mpi/blas_calls.hpp"

#include <substrata/feed.h>

#include "sources/mpi/shim.hpp"
#include "sources/mpi/wrap.hpp"

namespace substrata::mpi {
namespace {

inline constinit thread_local bool inside_blas = false;

template <typename Call>
void counted(BlasFunction function, double operations, const Call& call) {
  Shim& self = shim();
  if (!self.counting || inside_blas) return call();
  inside_blas = true;
  const int64_t begin = real_cycles();
  call();
  const int64_t ticks = real_cycles() - begin;
  inside_blas = false;
  unharmed([&] {
    self.blas.add(substrata_phase(), self.phases.board().current.load(std::memory_order_relaxed), function,
                  operations, nanoseconds_of_ticks(ticks));
  });
}

double product(double factor, int m, int n, int k) {
  return factor * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}
// Of a triangular matrix on the left, of order m, or on the right, of order n.
double solve(bool left, int m, int n) { return left ? product(1, m, m, n) : product(1, m, n, n); }

}  // namespace
}  // namespace substrata::mpi

using namespace substrata::mpi;

// clang-format off
#define BLAS(name, function, operations, parameters, arguments)                          \
  EXPORT void name parameters {                                                          \
    static constinit Next<void parameters> next_one(#name);                              \
    auto* const original = next_one.get(__builtin_return_address(0));                    \
    if (original == nullptr) return;                                                     \
    counted(BlasFunction::function, operations, [&] { original arguments; });            \
  }
// cblas.h: 101 is row-major, 141 the left side; alpha and beta of a complex product are pointers.
#define PRODUCT(name, function, factor, number, pointer)                                 \
  BLAS(cblas_##name, function, product(factor, m, n, k),                                 \
       (int order, int ta, int tb, int m, int n, int k, number alpha, const pointer* a, int lda,  \
        const pointer* b, int ldb, number beta, pointer* c, int ldc),                    \
       (order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))                    \
  BLAS(name##_, function, product(factor, *m, *n, *k),                                   \
       (const char* ta, const char* tb, const int* m, const int* n, const int* k, const pointer* alpha, \
        const pointer* a, const int* lda, const pointer* b, const int* ldb, const pointer* beta,  \
        pointer* c, const int* ldc, size_t length_ta, size_t length_tb),                 \
       (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_ta, length_tb))
PRODUCT(sgemm, kSgemm, 2, float, float)
PRODUCT(dgemm, kDgemm, 2, double, double)
PRODUCT(cgemm, kCgemm, 8, const void*, void)
PRODUCT(zgemm, kZgemm, 8, const void*, void)
BLAS(cblas_dgemv, kDgemv, product(2, m, n, 1),
     (int order, int t, int m, int n, double alpha, const double* a, int lda, const double* x, int dx, double beta,
      double* y, int dy),
     (order, t, m, n, alpha, a, lda, x, dx, beta, y, dy))
BLAS(dgemv_, kDgemv, product(2, *m, *n, 1),
     (const char* t, const int* m, const int* n, const double* alpha, const double* a, const int* lda, const double* x,
      const int* dx, const double* beta, double* y, const int* dy, size_t length),
     (t, m, n, alpha, a, lda, x, dx, beta, y, dy, length))
BLAS(cblas_dtrsm, kDtrsm, solve(side == 141, m, n),
     (int order, int side, int uplo, int t, int diagonal, int m, int n, double alpha, const double* a, int lda,
      double* b, int ldb),
     (order, side, uplo, t, diagonal, m, n, alpha, a, lda, b, ldb))
BLAS(dtrsm_, kDtrsm, solve(*side == 'L' || *side == 'l', *m, *n),
     (const char* side, const char* uplo, const char* t, const char* diagonal, const int* m, const int* n,
      const double* alpha, const double* a, const int* lda, double* b, const int* ldb, size_t length_side,
      size_t length_uplo, size_t length_t, size_t length_diagonal),
     (side, uplo, t, diagonal, m, n, alpha, a, lda, b, ldb, length_side, length_uplo, length_t, length_diagonal))
// clang-format on
