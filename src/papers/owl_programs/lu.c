/* LU factorisation of a dense 512 x 512 matrix by blocks of 16 x 16, each contiguous in memory: the algorithm
   and sizes of SPLASH-2's LU (Woo, Singh and Hennessy, "The performance advantages of integrating block data
   transfer in cache-coherent multiprocessors", ASPLOS 1994; Woo et al., ISCA 1995). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 512, kBlock = 16, kBlocks = kSide / kBlock };
typedef double block[kBlock][kBlock];
static block matrix[kBlocks][kBlocks];

/* The same matrix every time, with a heavy diagonal, so that no rows need to change places. */
static double element(int row, int column) {
  unsigned long long mixed = (unsigned long long)(row * kSide + column + 1) * 6364136223846793005ULL;
  mixed ^= mixed >> 29;
  return (double)(mixed >> 40 & 0xffff) / 65536 - 0.5 + (row == column ? kSide : 0);
}

/* row += factor * other, from a column on */
static void add(double* row, const double* other, double factor, int from) {
  for (int j = from; j < kBlock; ++j) row[j] += factor * other[j];
}

static void factor(block a) {
  for (int k = 0; k < kBlock; ++k)
    for (int i = k + 1; i < kBlock; ++i) {
      a[i][k] /= a[k][k];
      add(a[i], a[k], -a[i][k], k + 1);
    }
}

/* A block right of the diagonal's: the rows above are taken off. */
static void divide_row(block a, block diagonal) {
  for (int k = 0; k < kBlock; ++k)
    for (int i = k + 1; i < kBlock; ++i) add(a[i], a[k], -diagonal[i][k], 0);
}

/* A block below the diagonal's. */
static void divide_column(block a, block diagonal) {
  for (int i = 0; i < kBlock; ++i)
    for (int k = 0; k < kBlock; ++k) {
      a[i][k] /= diagonal[k][k];
      add(a[i], diagonal[k], -a[i][k], k + 1);
    }
}

static void subtract_product(block a, block left, block above) {
  for (int i = 0; i < kBlock; ++i)
    for (int k = 0; k < kBlock; ++k) add(a[i], above[k], -left[i][k], 0);
}

static double at(int row, int column) {
  return matrix[row / kBlock][column / kBlock][row % kBlock][column % kBlock];
}

/* Some elements of L times U against the matrix. */
static int is_right(void) {
  for (int row = 5; row < kSide; row += 23)
    for (int column = 0; column < kSide; ++column) {
      double sum = 0;
      for (int k = 0; k <= row && k <= column; ++k) sum += (k == row ? 1 : at(row, k)) * at(k, column);
      if (fabs(sum - element(row, column)) > 1e-9) return 0;
    }
  return 1;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) matrix[i / kBlock][j / kBlock][i % kBlock][j % kBlock] = element(i, j);
  for (int k = 0; !idle && k < kBlocks; ++k) {
    factor(matrix[k][k]);
    for (int i = k + 1; i < kBlocks; ++i) divide_column(matrix[i][k], matrix[k][k]);
    for (int j = k + 1; j < kBlocks; ++j) divide_row(matrix[k][j], matrix[k][k]);
    for (int i = k + 1; i < kBlocks; ++i)
      for (int j = k + 1; j < kBlocks; ++j) subtract_product(matrix[i][j], matrix[i][k], matrix[k][j]);
  }
  return check && !is_right() ? 2 : 0;
}
