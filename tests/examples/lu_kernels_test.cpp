// Checks the Linpack example's kernels against elimination written out plainly.
#include "hpl/lu_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace {

// Column-major, with more lead than rows so that a kernel that mixes them up is caught.
struct Matrix {
  int rows, columns, lead;
  std::vector<double> data;

  Matrix(int rows_, int columns_, int spare = 3)
      : rows(rows_),
        columns(columns_),
        lead(rows_ + spare),
        data(static_cast<std::size_t>(lead) * static_cast<std::size_t>(columns_ > 0 ? columns_ : 1),
             kUntouched) {}
  double& at(int row, int column) {
    return data.at(static_cast<std::size_t>(column) * static_cast<std::size_t>(lead) +
                   static_cast<std::size_t>(row));
  }
  double at(int row, int column) const {
    return data.at(static_cast<std::size_t>(column) * static_cast<std::size_t>(lead) +
                   static_cast<std::size_t>(row));
  }
  bool padding_untouched() const {
    for (int column = 0; column < columns; ++column) {
      for (int row = rows; row < lead; ++row) {
        if (at(row, column) != kUntouched) return false;
      }
    }
    return true;
  }
  static constexpr double kUntouched = 12345.0;
};

Matrix random_matrix(int rows, int columns, std::uint64_t seed) {
  Matrix matrix(rows, columns);
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row) {
      matrix.at(row, column) =
          hpl::random_element(seed, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
    }
  }
  return matrix;
}

// Small whole numbers: sums of products of them are exact in any order.
Matrix whole_numbers(int rows, int columns, std::uint64_t seed) {
  Matrix matrix = random_matrix(rows, columns, seed);
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row) matrix.at(row, column) = std::floor(matrix.at(row, column) * 20);
  }
  return matrix;
}

// The oracle: Gaussian elimination with row pivoting as a textbook has it, counting every operation.
std::int64_t eliminate(Matrix& a, std::vector<int>& pivots) {
  std::int64_t operations = 0;
  for (int step = 0; step < a.columns; ++step) {
    int pivot = step;
    for (int row = step; row < a.rows; ++row) {
      if (std::fabs(a.at(row, step)) > std::fabs(a.at(pivot, step))) pivot = row;
    }
    pivots.push_back(pivot);
    for (int column = 0; column < a.columns; ++column) std::swap(a.at(step, column), a.at(pivot, column));
    ++operations;  // one reciprocal
    for (int row = step + 1; row < a.rows; ++row) {
      a.at(row, step) = a.at(row, step) * (1.0 / a.at(step, step));
      ++operations;
      for (int column = step + 1; column < a.columns; ++column) {
        a.at(row, column) -= a.at(row, step) * a.at(step, column);
        operations += 2;
      }
    }
  }
  return operations;
}

TEST(FactorPanel, AgreesWithPlainEliminationAndCountsItsOperations) {
  for (const auto& [rows, columns] : {std::pair(1, 1), {5, 1}, {7, 7}, {40, 8}, {33, 17}, {64, 32}}) {
    Matrix panel = random_matrix(rows, columns, 7);
    Matrix expected = panel;
    std::vector<int> pivots(static_cast<std::size_t>(columns));
    std::vector<int> expected_pivots;
    const std::int64_t operations = eliminate(expected, expected_pivots);
    const hpl::PanelResult result = hpl::factor_panel(rows, columns, panel.data.data(), panel.lead, pivots);
    EXPECT_FALSE(result.singular);
    EXPECT_EQ(result.operations, operations) << rows << " x " << columns;
    EXPECT_EQ(pivots, expected_pivots);
    EXPECT_TRUE(panel.padding_untouched());
    for (int column = 0; column < columns; ++column) {
      for (int row = 0; row < rows; ++row) {
        EXPECT_NEAR(panel.at(row, column), expected.at(row, column), 1e-12) << row << ", " << column;
      }
    }
  }
}

TEST(FactorPanel, PivotingKeepsEveryMultiplierWithinOne) {
  Matrix panel = random_matrix(50, 20, 99);
  panel.at(0, 0) = 1e-30;  // without an exchange of rows this pivot would ruin everything
  std::vector<int> pivots(20);
  hpl::factor_panel(50, 20, panel.data.data(), panel.lead, pivots);
  for (int column = 0; column < 20; ++column) {
    for (int row = column + 1; row < 50; ++row) EXPECT_LE(std::fabs(panel.at(row, column)), 1.0);
  }
}

TEST(FactorPanel, ColumnWithoutPivotIsReported) {
  Matrix zero_column = random_matrix(6, 3, 5);
  for (int row = 0; row < 6; ++row) zero_column.at(row, 1) = 0;
  std::vector<int> pivots(3);
  EXPECT_TRUE(hpl::factor_panel(6, 3, zero_column.data.data(), zero_column.lead, pivots).singular);

  Matrix no_number = random_matrix(6, 3, 5);
  no_number.at(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(hpl::factor_panel(6, 3, no_number.data.data(), no_number.lead, pivots).singular);
}

TEST(SwapRows, ExchangesInTheOrderOfThePivots) {
  Matrix matrix = whole_numbers(5, 3, 1);
  Matrix expected = matrix;
  const std::vector<int> pivots = {2, 1, 4};
  hpl::swap_rows(3, matrix.data.data(), matrix.lead, pivots);
  for (int column = 0; column < 3; ++column) {
    std::swap(expected.at(0, column), expected.at(2, column));
    std::swap(expected.at(2, column), expected.at(4, column));
  }
  EXPECT_EQ(matrix.data, expected.data);
}

TEST(SubtractProduct, IsExactForWholeNumbersOfEveryShapeAroundTheTile) {
  for (int rows = 0; rows <= 9; ++rows) {
    for (int columns = 0; columns <= 9; ++columns) {
      for (const int inner : {0, 1, 4, 7}) {
        const Matrix a = whole_numbers(rows, inner, 11);
        const Matrix b = whole_numbers(inner, columns, 12);
        Matrix c = whole_numbers(rows, columns, 13);
        Matrix expected = c;
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < columns; ++j) {
            for (int k = 0; k < inner; ++k) expected.at(i, j) -= a.at(i, k) * b.at(k, j);
          }
        }
        const std::int64_t operations = hpl::subtract_product(rows, columns, inner, a.data.data(), a.lead,
                                                              b.data.data(), b.lead, c.data.data(), c.lead);
        EXPECT_EQ(operations, 2 * rows * columns * inner);
        EXPECT_EQ(c.data, expected.data) << rows << " x " << columns << ", inner " << inner;
      }
    }
  }
}

TEST(SolveUnitLower, SolutionTimesTheMatrixIsTheRightSide) {
  constexpr int kSize = 6, kColumns = 4;
  const Matrix lower = whole_numbers(kSize, kSize, 21);  // its diagonal and upper part must not be looked at
  const Matrix solution = whole_numbers(kSize, kColumns, 22);
  Matrix right(kSize, kColumns);
  for (int column = 0; column < kColumns; ++column) {
    for (int row = 0; row < kSize; ++row) {
      right.at(row, column) = solution.at(row, column);
      for (int k = 0; k < row; ++k) right.at(row, column) += lower.at(row, k) * solution.at(k, column);
    }
  }
  const std::int64_t operations =
      hpl::solve_unit_lower(kSize, kColumns, lower.data.data(), lower.lead, right.data.data(), right.lead);
  EXPECT_EQ(operations, kColumns * kSize * (kSize - 1));
  EXPECT_EQ(right.data, solution.data);
}

TEST(SolveUpper, SolutionTimesTheMatrixIsTheRightSide) {
  constexpr int kSize = 7;
  Matrix upper = whole_numbers(kSize, kSize, 31);  // its lower part must not be looked at
  for (int i = 0; i < kSize; ++i) upper.at(i, i) = i % 2 == 0 ? 2 : -4;
  const Matrix solution = whole_numbers(kSize, 1, 32);
  std::vector<double> x(kSize, 0.0);
  for (int row = 0; row < kSize; ++row) {
    for (int k = row; k < kSize; ++k)
      x.at(static_cast<std::size_t>(row)) += upper.at(row, k) * solution.at(k, 0);
  }
  EXPECT_EQ(hpl::solve_upper(kSize, upper.data.data(), upper.lead, x.data()), kSize * kSize);
  for (int row = 0; row < kSize; ++row) EXPECT_EQ(x.at(static_cast<std::size_t>(row)), solution.at(row, 0));
}

TEST(RandomElement, IsRepeatableWithinItsRangeAndCentred) {
  double sum = 0;
  double low = 1, high = -1;
  for (std::uint64_t row = 0; row < 200; ++row) {
    for (std::uint64_t column = 0; column < 200; ++column) {
      const double value = hpl::random_element(42, row, column);
      EXPECT_EQ(value, hpl::random_element(42, row, column));
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
  }
  EXPECT_GE(low, -0.5);
  EXPECT_LT(high, 0.5);
  EXPECT_LT(low, -0.49);
  EXPECT_GT(high, 0.49);
  EXPECT_NEAR(sum / 40000, 0.0, 0.01);
  EXPECT_NE(hpl::random_element(42, 1, 2), hpl::random_element(42, 2, 1));
  EXPECT_NE(hpl::random_element(42, 1, 2), hpl::random_element(43, 1, 2));
}

TEST(ScaledResidual, IsTheFormulaOfHplAndAWrongSolutionFails) {
  // 2^-53 * (4 * 2 + 8) * 16 = 2^-45.
  EXPECT_DOUBLE_EQ(hpl::scaled_residual(0x1.0p-45, 4, 2, 8, 16), 1.0);
  EXPECT_GT(hpl::scaled_residual(1e-3, 100, 1, 0.5, 1000), hpl::kResidualThreshold);
}

}  // namespace
