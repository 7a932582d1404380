// The numerical kernels of the Linpack example: what one process does with its own columns of the matrix.
#pragma once

#include <cstdint>
#include <span>

namespace hpl {

// All matrices are column-major: element (row, column) lies at data[row + column * lead]. Every kernel
// returns the number of floating-point operations it did (an addition, a multiplication and a division count
// one each). Thread-safe as long as the matrices differ.

// What became of a panel.
struct PanelResult {
  std::int64_t operations = 0;
  bool singular = false;  // a column had no pivot other than zero; the factors must not be used
};

// Factors the rows x columns panel in place into L (unit lower, below the diagonal) and U, with row pivoting:
// pivots[j] is the row exchanged with row j (relative to the panel). rows >= columns; pivots holds columns
// entries.
PanelResult factor_panel(int rows, int columns, double* panel, int lead, std::span<int> pivots) noexcept;

// Exchanges row j with row pivots[j], for j = 0, 1, ..., in each of the given columns.
void swap_rows(int columns, double* matrix, int lead, std::span<const int> pivots) noexcept;

// Replaces B (size x columns) by the solution X of L X = B; L is unit lower triangular.
std::int64_t solve_unit_lower(int size, int columns, const double* lower, int lower_lead, double* right,
                              int right_lead) noexcept;

// Replaces x by the solution of U x = b, given b; U is upper triangular with a diagonal free of zeros.
std::int64_t solve_upper(int size, const double* upper, int lead, double* x) noexcept;

// C (rows x columns) -= A (rows x inner) * B (inner x columns).
std::int64_t subtract_product(int rows, int columns, int inner, const double* a, int a_lead, const double* b,
                              int b_lead, double* c, int c_lead) noexcept;

// Element (row, column) of the test matrix: uniform in [-0.5, 0.5), a pure function of its arguments, so that
// any process can make any part at any time.
double random_element(std::uint64_t seed, std::uint64_t row, std::uint64_t column) noexcept;

// HPL's figure of merit: |Ax-b| / (epsilon * (|A| |x| + |b|) * n), all norms the infinity norm and epsilon
// the unit round-off 2^-53 as HPL's pdlamch gives it. HPL passes a run below 16 (HPL.dat, "threshold").
double scaled_residual(double residual, double matrix_norm, double solution_norm, double right_norm,
                       int size) noexcept;
inline constexpr double kResidualThreshold = 16.0;

}  // namespace hpl
