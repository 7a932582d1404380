/* Eddies in an ocean basin of 258 x 258 points, the kind and size of SPLASH-2's OCEAN (Woo et al., ISCA
   1995): vorticity moves with the flow, and a red-black Gauss-Seidel multigrid solver (Brandt, "Multi-level
   adaptive solutions to boundary-value problems", Mathematics of Computation 31, 1977) finds the stream
   function; the Jacobian is that of Arakawa, Journal of Computational Physics 1, 1966. */
#include <math.h>
#include <string.h>

enum { kInner = 256, kSide = kInner + 2, kLevels = 8, kSteps = 2, kCycles = 6 };
static const double kStep = 2e-4, kFriction = 1e-3, kWind = 1;

/* Grids from the finest to one of two inner points; each has a border. */
static double solution[kLevels][kSide][kSide], wanted[kLevels][kSide][kSide];
static double vorticity[kSide][kSide], change[kSide][kSide];

/* Outside the basin the solution goes on as a line through 0 at the wall, which lies one cell before the
   first point of the finest grid and nearer, in cells, to those of the coarser ones. */
static void set_walls(int level) {
  const int inner = kInner >> level;
  const double distance = 0.5 + 0.5 / (1 << level), beyond = (distance - 1) / distance;
  double(*const s)[kSide] = solution[level];
  for (int k = 1; k <= inner; ++k) {
    s[0][k] = beyond * s[1][k];
    s[inner + 1][k] = beyond * s[inner][k];
    s[k][0] = beyond * s[k][1];
    s[k][inner + 1] = beyond * s[k][inner];
  }
  s[0][0] = beyond * s[0][1];
  s[0][inner + 1] = beyond * s[0][inner];
  s[inner + 1][0] = beyond * s[inner + 1][1];
  s[inner + 1][inner + 1] = beyond * s[inner + 1][inner];
}

static void relax(int level) {
  const int inner = kInner >> level;
  const double square = 1.0 / inner / inner;
  for (int colour = 0; colour < 2; ++colour) {
    for (int i = 1; i <= inner; ++i)
      for (int j = 1 + (i + colour) % 2; j <= inner; j += 2)
        solution[level][i][j] =
            0.25 * (solution[level][i - 1][j] + solution[level][i + 1][j] + solution[level][i][j - 1] +
                    solution[level][i][j + 1] - square * wanted[level][i][j]);
    set_walls(level);
  }
}

static double residual(int level, int i, int j) {
  const int inner = kInner >> level;
  return wanted[level][i][j] -
         (solution[level][i - 1][j] + solution[level][i + 1][j] + solution[level][i][j - 1] +
          solution[level][i][j + 1] - 4 * solution[level][i][j]) *
             inner * inner;
}

/* One V cycle; a point of a coarser grid lies amid four finer ones. */
static void solve(int level) {
  const int coarse = kInner >> (level + 1);
  relax(level);
  relax(level);
  if (level + 1 < kLevels) {
    for (int i = 1; i <= coarse; ++i)
      for (int j = 1; j <= coarse; ++j) {
        wanted[level + 1][i][j] =
            0.25 * (residual(level, 2 * i - 1, 2 * j - 1) + residual(level, 2 * i - 1, 2 * j) +
                    residual(level, 2 * i, 2 * j - 1) + residual(level, 2 * i, 2 * j));
        solution[level + 1][i][j] = 0;
      }
    set_walls(level + 1);
    solve(level + 1);
    for (int i = 1; i <= 2 * coarse; ++i)
      for (int j = 1; j <= 2 * coarse; ++j) {
        const double(*const from)[kSide] = (const double(*)[kSide])solution[level + 1];
        const int y = (i + 1) / 2, x = (j + 1) / 2, beside_y = i % 2 != 0 ? y - 1 : y + 1,
                  beside_x = j % 2 != 0 ? x - 1 : x + 1;
        solution[level][i][j] +=
            (9 * from[y][x] + 3 * from[beside_y][x] + 3 * from[y][beside_x] + from[beside_y][beside_x]) / 16;
      }
    set_walls(level);
  } else {
    for (int i = 0; i < 8; ++i) relax(level);
  }
  relax(level);
  relax(level);
}

/* Arakawa's mean of three forms of the Jacobian, which leaves the sum of squares alone. */
static double jacobian(const double (*p)[kSide], const double (*z)[kSide], int i, int j) {
  const double plain = (p[i + 1][j] - p[i - 1][j]) * (z[i][j + 1] - z[i][j - 1]) -
                       (p[i][j + 1] - p[i][j - 1]) * (z[i + 1][j] - z[i - 1][j]);
  const double first =
      p[i + 1][j] * (z[i + 1][j + 1] - z[i + 1][j - 1]) - p[i - 1][j] * (z[i - 1][j + 1] - z[i - 1][j - 1]) -
      p[i][j + 1] * (z[i + 1][j + 1] - z[i - 1][j + 1]) + p[i][j - 1] * (z[i + 1][j - 1] - z[i - 1][j - 1]);
  const double second =
      z[i][j + 1] * (p[i + 1][j + 1] - p[i - 1][j + 1]) - z[i][j - 1] * (p[i + 1][j - 1] - p[i - 1][j - 1]) -
      z[i + 1][j] * (p[i + 1][j + 1] - p[i + 1][j - 1]) + z[i - 1][j] * (p[i - 1][j + 1] - p[i - 1][j - 1]);
  return (plain + first + second) * kInner * kInner / 12;
}

static void move(void) {
  for (int i = 1; i <= kInner; ++i)
    for (int j = 1; j <= kInner; ++j) {
      const double spread = vorticity[i - 1][j] + vorticity[i + 1][j] + vorticity[i][j - 1] +
                            vorticity[i][j + 1] - 4 * vorticity[i][j];
      change[i][j] = kWind * sin(6.2831853 * i / kSide) -
                     jacobian((const double(*)[kSide])solution[0], (const double(*)[kSide])vorticity, i, j) +
                     kFriction * spread * kInner * kInner;
    }
  for (int i = 1; i <= kInner; ++i)
    for (int j = 1; j <= kInner; ++j) {
      vorticity[i][j] += kStep * change[i][j];
      wanted[0][i][j] = vorticity[i][j];
    }
}

/* The stream function solves its equation, and the Jacobian has moved vorticity without making any. */
static int is_right(void) {
  double worst = 0, largest = 0, sum = 0, sizes = 0;
  for (int i = 1; i <= kInner; ++i)
    for (int j = 1; j <= kInner; ++j) {
      const double moved =
          jacobian((const double(*)[kSide])solution[0], (const double(*)[kSide])vorticity, i, j);
      worst = fmax(worst, fabs(residual(0, i, j)));
      largest = fmax(largest, fabs(wanted[0][i][j]));
      sum += moved * solution[0][i][j];
      sizes += fabs(moved * solution[0][i][j]);
    }
  return largest > 1 && worst < 1e-6 * largest && sizes > 0 && fabs(sum) < 1e-9 * sizes;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  for (int i = 1; i <= kInner; ++i)
    for (int j = 1; j <= kInner; ++j)
      vorticity[i][j] = wanted[0][i][j] = 50 * sin(12.566371 * i / kSide) * sin(6.2831853 * j / kSide) +
                                          20 * sin(6.2831853 * (i + 2 * j) / kSide);
  for (int step = 0; !idle && step < kSteps; ++step) {
    for (int cycle = 0; cycle < kCycles; ++cycle) solve(0);
    if (step + 1 < kSteps) move();
  }
  return check && !is_right() ? 2 : 0;
}
