/* Forces and motions of 512 water molecules in a box of cells with linked lists, the kind and size of
   SPLASH-2's WATER-SPATIAL (Woo et al., ISCA 1995): a molecule's record holds the places of its atoms with
   their derivatives for Gear's predictor and corrector (Gear, "Numerical initial value problems", 1971) and
   its forces; molecules attract and repel each other within half a cell, and springs hold their atoms
   together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 8, kMolecules = kSide * kSide * kSide, kCells = 4, kOrders = 6, kSteps = 2 };
static const double kStep = 1e-3, kReach = 1.9;
#define BOX 8.0

struct molecule {
  struct molecule* next;
  double place[kOrders][3]
              [3]; /* by order of the derivative, atom (oxygen, hydrogen, hydrogen) and dimension */
  double force[3][3], middle[3];
  int serial;
};
static struct molecule molecules[kMolecules], *cell[kCells][kCells][kCells];
static const double kMass[3] = {16, 1, 1}, kCharge[3] = {-0.8, 0.4, 0.4};
static const double kRest[3] = {0.3, 0.3, 0.45}; /* lengths of the springs 0-1, 0-2 and 1-2 */
static const double kCorrector[kOrders] = {3.0 / 20, 251.0 / 360, 1, 11.0 / 18, 1.0 / 6, 1.0 / 60};

static double next_random(void) {
  static unsigned long long state = 20050504;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 33) / 2147483648.0 - 0.5;
}

static void make_molecules(void) {
  static const double kShape[3][3] = {{0, 0, 0}, {0.29, 0.05, 0}, {-0.1, 0.27, 0}};
  for (int i = 0; i < kMolecules; ++i) {
    const int at[3] = {i % kSide, i / kSide % kSide, i / kSide / kSide};
    molecules[i].serial = i;
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d) {
        molecules[i].place[0][a][d] = at[d] + 0.5 + kShape[a][d];
        molecules[i].place[1][a][d] = kStep * next_random();
      }
  }
}

static double factorial_ratio(int n, int k) { /* n over k */
  double result = 1;
  for (int i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
  return result;
}

static void predict(struct molecule* m) {
  for (int a = 0; a < 3; ++a)
    for (int d = 0; d < 3; ++d)
      for (int order = 0; order + 1 < kOrders; ++order)
        for (int higher = order + 1; higher < kOrders; ++higher)
          m->place[order][a][d] += factorial_ratio(higher, order) * m->place[higher][a][d];
}

static void correct(struct molecule* m) {
  for (int a = 0; a < 3; ++a)
    for (int d = 0; d < 3; ++d) {
      const double wrong = kStep * kStep / 2 * m->force[a][d] / kMass[a] - m->place[2][a][d];
      for (int order = 0; order < kOrders; ++order) m->place[order][a][d] += kCorrector[order] * wrong;
    }
}

static int cell_of(double place) { return ((int)floor(place / BOX * kCells) % kCells + kCells) % kCells; }

static void sort_into_cells(void) {
  memset(cell, 0, sizeof cell);
  for (int i = 0; i < kMolecules; ++i) {
    struct molecule* const m = &molecules[i];
    for (int d = 0; d < 3; ++d)
      m->middle[d] = (m->place[0][0][d] * 16 + m->place[0][1][d] + m->place[0][2][d]) / 18;
    struct molecule** const home = &cell[cell_of(m->middle[0])][cell_of(m->middle[1])][cell_of(m->middle[2])];
    m->next = *home;
    *home = m;
  }
}

static double hold(struct molecule* m) {
  static const int kSpring[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  double energy = 0;
  for (int s = 0; s < 3; ++s) {
    const int a = kSpring[s][0], b = kSpring[s][1];
    double along[3], square = 0;
    for (int d = 0; d < 3; ++d) {
      along[d] = m->place[0][a][d] - m->place[0][b][d];
      square += along[d] * along[d];
    }
    const double length = sqrt(square), stretch = length - kRest[s];
    for (int d = 0; d < 3; ++d) {
      m->force[a][d] -= 2000 * stretch * along[d] / length;
      m->force[b][d] += 2000 * stretch * along[d] / length;
    }
    energy += 1000 * stretch * stretch;
  }
  return energy;
}

/* All nine pairs of atoms, and a short repulsion of the oxygens, when the middles are near. */
static double pull(struct molecule* m, struct molecule* n) {
  double shift[3], apart = 0, energy = 0;
  for (int d = 0; d < 3; ++d) {
    const double distance = m->middle[d] - n->middle[d];
    shift[d] = BOX * floor(distance / BOX + 0.5);
    apart += (distance - shift[d]) * (distance - shift[d]);
  }
  if (apart > kReach * kReach) return 0;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      double along[3], square = 0;
      for (int d = 0; d < 3; ++d) {
        along[d] = m->place[0][a][d] - n->place[0][b][d] - shift[d];
        square += along[d] * along[d];
      }
      const double sixth = a + b == 0 ? pow(0.7, 6) / (square * square * square) : 0;
      const double coulomb = kCharge[a] * kCharge[b] / sqrt(square);
      const double strength = (coulomb + 24 * (2 * sixth * sixth - sixth)) / square;
      for (int d = 0; d < 3; ++d) {
        m->force[a][d] += strength * along[d];
        n->force[b][d] -= strength * along[d];
      }
      energy += coulomb + 4 * (sixth * sixth - sixth);
    }
  return energy;
}

static double find_forces(int by_cells) {
  double energy = 0;
  for (int i = 0; i < kMolecules; ++i) memset(molecules[i].force, 0, sizeof molecules[i].force);
  for (int i = 0; i < kMolecules; ++i) energy += hold(&molecules[i]);
  if (!by_cells) {
    for (int i = 0; i < kMolecules; ++i)
      for (int j = i + 1; j < kMolecules; ++j) energy += pull(&molecules[i], &molecules[j]);
    return energy;
  }
  for (int home = 0; home < kCells * kCells * kCells; ++home) {
    const int x = home % kCells, y = home / kCells % kCells, z = home / kCells / kCells;
    for (struct molecule* m = cell[x][y][z]; m != NULL; m = m->next)
      for (int near = 0; near < 27; ++near) {
        struct molecule* n =
            cell[(x + near % 3 + kCells - 1) % kCells][(y + near / 3 % 3 + kCells - 1) % kCells]
                [(z + near / 9 + kCells - 1) % kCells];
        for (; n != NULL; n = n->next)
          if (n->serial > m->serial) energy += pull(m, n);
      }
  }
  return energy;
}

/* Against all pairs, without cells; and no force is left over. */
static int is_right(double energy) {
  static double found[kMolecules][3][3];
  double difference = 0, left[3] = {0};
  for (int i = 0; i < kMolecules; ++i) memcpy(found[i], molecules[i].force, sizeof found[i]);
  const double all = find_forces(0);
  for (int i = 0; i < kMolecules; ++i)
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d) {
        difference = fmax(difference, fabs(found[i][a][d] - molecules[i].force[a][d]));
        left[d] += found[i][a][d];
      }
  return difference < 1e-8 && fabs(all - energy) < 1e-8 * fabs(all) && fabs(left[0]) < 1e-7 &&
         fabs(left[1]) < 1e-7 && fabs(left[2]) < 1e-7;
}

static double kinetic(void) {
  double energy = 0;
  for (int i = 0; i < kMolecules; ++i)
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d) {
        const double velocity = molecules[i].place[1][a][d] / kStep;
        energy += kMass[a] * velocity * velocity / 2;
      }
  return energy;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  double begun = 0, energy = 0;
  make_molecules();
  if (idle) return 0;
  for (int step = 0; step <= kSteps; ++step) {
    if (step > 0)
      for (int i = 0; i < kMolecules; ++i) predict(&molecules[i]);
    sort_into_cells();
    energy = find_forces(1);
    for (int i = 0; i < kMolecules; ++i)
      if (step > 0) {
        correct(&molecules[i]);
      } else {
        for (int d = 0; d < 9; ++d)
          molecules[i].place[2][d / 3][d % 3] =
              kStep * kStep / 2 * molecules[i].force[d / 3][d % 3] / kMass[d / 3];
      }
    if (step == 0) begun = energy + kinetic();
  }
  if (!check) return 0;
  if (fabs(energy + kinetic() - begun) > 1e-2 * fabs(begun)) return 2;
  sort_into_cells();
  return is_right(find_forces(1)) ? 0 : 2;
}
