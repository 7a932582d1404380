/* An MPI program that computes with BLAS in a section, and the library: with -DLIBRARY its two products, of which the
 * one with C's name calls the one with Fortran's, as the reference implementation does. */
#include <stddef.h>
#include <stdio.h>

void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc, size_t length_ta, size_t length_tb);

#ifdef LIBRARY
void cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  (void)order, (void)ta, (void)tb;
  dgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc, size_t length_ta, size_t length_tb) {
  (void)ta, (void)tb, (void)a, (void)b, (void)lda, (void)ldb, (void)ldc, (void)length_ta, (void)length_tb;
  *c = *c * *beta + *alpha * *m * *n * *k;
}
#else
#include <mpi.h>

int main(int argc, char** argv) {
  double a = 1, b = 1, c = 0, one = 1;
  int m = 2, n = 3, k = 4, stride = 1;
  MPI_Init(&argc, &argv);
  cblas_dgemm(101, 111, 111, 1, 1, 1, 1, &a, 1, &b, 1, 1, &c, 1);
  fputs("Begin of Work section.\n", stdout);
  for (int i = 0; i < 3; i++) cblas_dgemm(101, 111, 111, 10, 20, 30, 1, &a, 1, &b, 1, 1, &c, 1);
  dgemm_("N", "N", &m, &n, &k, &one, &a, &stride, &b, &stride, &one, &c, &stride, 1, 1);
  fputs("End of Work section.\n", stdout);
  MPI_Finalize();
  return c == 1 + 3 * 6000 + 24 ? 0 : 1;
}
#endif
