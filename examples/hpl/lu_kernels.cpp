// The numerical kernels of the Linpack example, blocked for registers and first-level cache.
#include "lu_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace hpl {
namespace {

constexpr int kTile = 4;  // a 4 x 4 tile of C fits the sixteen registers of baseline x86-64 and of AArch64

constexpr std::ptrdiff_t at(int row, int column, int lead) noexcept {
  return static_cast<std::ptrdiff_t>(column) * lead + row;
}

// One full tile; the constant trip counts let the compiler keep the sums in registers.
void subtract_tile(int inner, const double* a, int a_lead, const double* b, int b_lead, double* c,
                   int c_lead) noexcept {
  double sum[kTile][kTile] = {};
  for (int k = 0; k < inner; ++k) {
    const double* column = a + at(0, k, a_lead);
    for (int j = 0; j < kTile; ++j) {
      const double factor = b[at(k, j, b_lead)];
      for (int i = 0; i < kTile; ++i) sum[j][i] += column[i] * factor;
    }
  }
  for (int j = 0; j < kTile; ++j) {
    for (int i = 0; i < kTile; ++i) c[at(i, j, c_lead)] -= sum[j][i];
  }
}

// What is left over at the lower and right border.
void subtract_border(int rows, int columns, int inner, const double* a, int a_lead, const double* b,
                     int b_lead, double* c, int c_lead) noexcept {
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      double sum = 0;
      for (int k = 0; k < inner; ++k) sum += a[at(i, k, a_lead)] * b[at(k, j, b_lead)];
      c[at(i, j, c_lead)] -= sum;
    }
  }
}

}  // namespace

PanelResult factor_panel(int rows, int columns, double* panel, int lead, std::span<int> pivots) noexcept {
  PanelResult result;
  for (int j = 0; j < columns; ++j) {
    double* column = panel + at(0, j, lead);
    int pivot = j;
    for (int i = j + 1; i < rows; ++i) {
      if (std::fabs(column[i]) > std::fabs(column[pivot])) pivot = i;
    }
    pivots[static_cast<std::size_t>(j)] = pivot;
    if (column[pivot] == 0.0 || !std::isfinite(column[pivot])) {
      result.singular = true;
      continue;
    }
    if (pivot != j) {
      for (int k = 0; k < columns; ++k) std::swap(panel[at(j, k, lead)], panel[at(pivot, k, lead)]);
    }
    const double inverse = 1.0 / column[j];
    for (int i = j + 1; i < rows; ++i) column[i] *= inverse;
    for (int k = j + 1; k < columns; ++k) {
      double* target = panel + at(0, k, lead);
      const double factor = target[j];
      for (int i = j + 1; i < rows; ++i) target[i] -= column[i] * factor;
    }
    const std::int64_t below = rows - j - 1;
    result.operations += 1 + below + 2 * below * (columns - j - 1);
  }
  return result;
}

void swap_rows(int columns, double* matrix, int lead, std::span<const int> pivots) noexcept {
  for (int k = 0; k < columns; ++k) {
    double* column = matrix + at(0, k, lead);
    for (std::size_t j = 0; j < pivots.size(); ++j) std::swap(column[j], column[pivots[j]]);
  }
}

std::int64_t solve_unit_lower(int size, int columns, const double* lower, int lower_lead, double* right,
                              int right_lead) noexcept {
  for (int k = 0; k < columns; ++k) {
    double* column = right + at(0, k, right_lead);
    for (int j = 0; j < size; ++j) {
      const double known = column[j];
      const double* below = lower + at(0, j, lower_lead);
      for (int i = j + 1; i < size; ++i) column[i] -= known * below[i];
    }
  }
  return static_cast<std::int64_t>(columns) * size * (size - 1);
}

std::int64_t solve_upper(int size, const double* upper, int lead, double* x) noexcept {
  for (int j = size - 1; j >= 0; --j) {
    const double* column = upper + at(0, j, lead);
    x[j] /= column[j];
    for (int i = 0; i < j; ++i) x[i] -= column[i] * x[j];
  }
  return static_cast<std::int64_t>(size) * size;
}

std::int64_t subtract_product(int rows, int columns, int inner, const double* a, int a_lead, const double* b,
                              int b_lead, double* c, int c_lead) noexcept {
  const int whole_rows = rows - rows % kTile;
  const int whole_columns = columns - columns % kTile;
  for (int j = 0; j < whole_columns; j += kTile) {
    for (int i = 0; i < whole_rows; i += kTile) {
      subtract_tile(inner, a + i, a_lead, b + at(0, j, b_lead), b_lead, c + at(i, j, c_lead), c_lead);
    }
  }
  subtract_border(rows - whole_rows, whole_columns, inner, a + whole_rows, a_lead, b, b_lead, c + whole_rows,
                  c_lead);
  subtract_border(rows, columns - whole_columns, inner, a, a_lead, b + at(0, whole_columns, b_lead), b_lead,
                  c + at(0, whole_columns, c_lead), c_lead);
  return 2 * static_cast<std::int64_t>(rows) * columns * inner;
}

double random_element(std::uint64_t seed, std::uint64_t row, std::uint64_t column) noexcept {
  // SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014) over a counter made of the position.
  std::uint64_t z = seed + 0x9E3779B97F4A7C15ULL * ((row << 32) + column + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53 - 0.5;
}

double scaled_residual(double residual, double matrix_norm, double solution_norm, double right_norm,
                       int size) noexcept {
  return residual / (0x1.0p-53 * (matrix_norm * solution_norm + right_norm) * size);
}

}  // namespace hpl
