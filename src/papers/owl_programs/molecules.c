/* Molecular dynamics of charged Lennard-Jones atoms, the stand-in for SPEC's ammp: records of atoms in a
   linked list, each with the list of its neighbours inside, after Verlet, "Computer experiments on classical
   fluids", Physical Review 159, 1967; neighbours are found by cells (Hockney and Eastwood, 1981). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 13, kAtoms = kSide * kSide * kSide, kNeighbours = 96, kCells = 5, kSteps = 6 };
static const double kSpacing = 1.1, kCut = 2.5, kSkin = 0.3, kStep = 0.002;
#define BOX (kSide * 1.1)

struct atom {
  struct atom *next, *next_in_cell;
  double place[3], velocity[3], force[3];
  double mass, charge, well, width; /* of the Lennard-Jones potential */
  char name[16];
  int serial, neighbours;
  struct atom* neighbour[kNeighbours]; /* those later in the list */
};
static struct atom *first, *cell[kCells][kCells][kCells];

static double next_random(void) {
  static unsigned long long state = 20050504;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 33) / 2147483648.0 - 0.5;
}

static int make_atoms(void) {
  struct atom** end = &first;
  for (int i = 0; i < kAtoms; ++i) {
    struct atom* const atom = calloc(1, sizeof *atom);
    if (atom == NULL) return 0;
    const int at[3] = {i % kSide, i / kSide % kSide, i / kSide / kSide};
    for (int d = 0; d < 3; ++d) {
      atom->place[d] = (at[d] + 0.5) * kSpacing + 0.05 * next_random();
      atom->velocity[d] = 2 * next_random();
    }
    atom->mass = atom->well = atom->width = 1;
    atom->charge = i % 2 != 0 ? 0.3 : -0.3;
    strcpy(atom->name, i % 2 != 0 ? "plus" : "minus");
    atom->serial = i;
    *end = atom;
    end = &atom->next;
  }
  return 1;
}

static double nearest_image(double distance) { return distance - BOX * floor(distance / BOX + 0.5); }
static int cell_of(double place) { return ((int)floor(place / BOX * kCells) % kCells + kCells) % kCells; }

static double square_distance(const struct atom* a, const struct atom* b, double* along) {
  double square = 0;
  for (int d = 0; d < 3; ++d) {
    along[d] = nearest_image(a->place[d] - b->place[d]);
    square += along[d] * along[d];
  }
  return square;
}

static int find_neighbours(void) {
  double along[3];
  memset(cell, 0, sizeof cell);
  for (struct atom* a = first; a != NULL; a = a->next) {
    struct atom** const home = &cell[cell_of(a->place[0])][cell_of(a->place[1])][cell_of(a->place[2])];
    a->next_in_cell = *home;
    *home = a;
  }
  for (struct atom* a = first; a != NULL; a = a->next) {
    const int x = cell_of(a->place[0]), y = cell_of(a->place[1]), z = cell_of(a->place[2]);
    a->neighbours = 0;
    for (int near = 0; near < 27; ++near) {
      struct atom* b = cell[(x + near % 3 + kCells - 1) % kCells][(y + near / 3 % 3 + kCells - 1) % kCells]
                           [(z + near / 9 + kCells - 1) % kCells];
      for (; b != NULL; b = b->next_in_cell) {
        if (b->serial <= a->serial || square_distance(a, b, along) > (kCut + kSkin) * (kCut + kSkin))
          continue;
        if (a->neighbours == kNeighbours) return 0;
        a->neighbour[a->neighbours++] = b;
      }
    }
  }
  return 1;
}

/* Adds the force of one pair and gives its energy; both potentials are shifted to 0 where they are cut off.
 */
static double pull(struct atom* a, struct atom* b) {
  double along[3];
  const double square = square_distance(a, b, along);
  if (square > kCut * kCut) return 0;
  const double width = 0.5 * (a->width + b->width), well = sqrt(a->well * b->well);
  const double sixth = pow(width, 6) / (square * square * square), distance = sqrt(square);
  const double edge = pow(width / kCut, 6), charges = a->charge * b->charge;
  const double strength = (24 * well * (2 * sixth * sixth - sixth) + charges / distance) / square;
  for (int d = 0; d < 3; ++d) {
    a->force[d] += strength * along[d];
    b->force[d] -= strength * along[d];
  }
  return 4 * well * (sixth * sixth - sixth - edge * edge + edge) + charges * (1 / distance - 1 / kCut);
}

static double find_forces(void) {
  double energy = 0;
  for (struct atom* a = first; a != NULL; a = a->next) memset(a->force, 0, sizeof a->force);
  for (struct atom* a = first; a != NULL; a = a->next)
    for (int i = 0; i < a->neighbours; ++i) energy += pull(a, a->neighbour[i]);
  return energy;
}

static double kinetic(void) {
  double energy = 0;
  for (const struct atom* a = first; a != NULL; a = a->next)
    for (int d = 0; d < 3; ++d) energy += 0.5 * a->mass * a->velocity[d] * a->velocity[d];
  return energy;
}

/* Against all pairs, without neighbours or cells. */
static int forces_are_right(double energy) {
  double(*const found)[3] = calloc(kAtoms, sizeof *found);
  double all = 0, difference = 0;
  if (found == NULL) return 0;
  for (struct atom* a = first; a != NULL; a = a->next) {
    memcpy(found[a->serial], a->force, sizeof a->force);
    memset(a->force, 0, sizeof a->force);
  }
  for (struct atom* a = first; a != NULL; a = a->next)
    for (struct atom* b = a->next; b != NULL; b = b->next) all += pull(a, b);
  for (struct atom* a = first; a != NULL; a = a->next)
    for (int d = 0; d < 3; ++d) difference = fmax(difference, fabs(found[a->serial][d] - a->force[d]));
  free(found);
  return difference < 1e-8 && fabs(all - energy) < 1e-8 * fabs(all);
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  double begun = 0, energy = 0;
  int right = 1;
  if (!make_atoms()) return 1;
  if (!idle) {
    if (!find_neighbours()) return 2;
    energy = find_forces();
    begun = energy + kinetic();
    for (int step = 0; step < kSteps; ++step) {
      for (struct atom* a = first; a != NULL; a = a->next)
        for (int d = 0; d < 3; ++d) {
          a->velocity[d] += 0.5 * kStep / a->mass * a->force[d];
          a->place[d] += kStep * a->velocity[d];
        }
      energy = find_forces();
      for (struct atom* a = first; a != NULL; a = a->next)
        for (int d = 0; d < 3; ++d) a->velocity[d] += 0.5 * kStep / a->mass * a->force[d];
    }
    if (check) right = fabs((energy + kinetic()) / begun - 1) < 1e-3 && forces_are_right(energy);
  }
  while (first != NULL) {
    struct atom* const next = first->next;
    free(first);
    first = next;
  }
  return right ? 0 : 2;
}
