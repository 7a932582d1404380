/* Shallow-water equations on a periodic grid, the stand-in for SPEC's swim: the potential-enstrophy
   conserving scheme of Sadourny, "The dynamics of finite-difference models of the shallow-water equations",
   Journal of the Atmospheric Sciences 32, 1975, with leapfrog steps and an Asselin filter. */
#include <math.h>
#include <string.h>

enum { kSide = 240, kSteps = 3 };
typedef double Field[kSide][kSide];

/* Velocities on the west and south faces of a cell, pressure in its middle, at three times. */
static Field u, v, p, u_next, v_next, p_next, u_last, v_last, p_last;
/* Mass fluxes on the faces, potential vorticity at the south-west corner, energy in the middle. */
static Field flux_u, flux_v, vorticity, energy;
static Field stream;

static const double kPi = 3.14159265358979323846, kCell = 6.4e6 / kSide, kStep = 45, kFilter = 0.001;

static int after(int at) { return at + 1 < kSide ? at + 1 : 0; }
static int before(int at) { return at > 0 ? at - 1 : kSide - 1; }

static void begin(void) {
  const double turn = 2 * kPi / kSide;
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      stream[i][j] = 1e6 * sin((i + .5) * turn) * sin((j + .5) * turn);
      p[i][j] = p_last[i][j] = 50000 + 1000 * (cos(2 * i * turn) + cos(2 * j * turn));
    }
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      u[i][j] = u_last[i][j] = -(stream[i][after(j)] - stream[i][j]) / kCell;
      v[i][j] = v_last[i][j] = (stream[after(i)][j] - stream[i][j]) / kCell;
    }
}

static void find_fluxes(void) {
  for (int i = 0; i < kSide; ++i) {
    const int west = before(i), east = after(i);
    for (int j = 0; j < kSide; ++j) {
      const int south = before(j), north = after(j);
      flux_u[i][j] = .5 * (p[i][j] + p[west][j]) * u[i][j];
      flux_v[i][j] = .5 * (p[i][j] + p[i][south]) * v[i][j];
      vorticity[i][j] = 4 * (v[i][j] - v[west][j] - u[i][j] + u[i][south]) / kCell /
                        (p[i][j] + p[west][j] + p[i][south] + p[west][south]);
      energy[i][j] = p[i][j] + .25 * (u[i][j] * u[i][j] + u[east][j] * u[east][j] + v[i][j] * v[i][j] +
                                      v[i][north] * v[i][north]);
    }
  }
}

static void advance(double span) {
  const double eighth = span / 8, slope = span / kCell;
  for (int i = 0; i < kSide; ++i) {
    const int west = before(i), east = after(i);
    for (int j = 0; j < kSide; ++j) {
      const int south = before(j), north = after(j);
      u_next[i][j] = u_last[i][j] +
                     eighth * (vorticity[i][j] + vorticity[i][north]) *
                         (flux_v[i][j] + flux_v[i][north] + flux_v[west][j] + flux_v[west][north]) -
                     slope * (energy[i][j] - energy[west][j]);
      v_next[i][j] = v_last[i][j] -
                     eighth * (vorticity[i][j] + vorticity[east][j]) *
                         (flux_u[i][j] + flux_u[east][j] + flux_u[i][south] + flux_u[east][south]) -
                     slope * (energy[i][j] - energy[i][south]);
      p_next[i][j] =
          p_last[i][j] - slope * (flux_u[east][j] - flux_u[i][j] + flux_v[i][north] - flux_v[i][j]);
    }
  }
}

static void keep(void) {
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      u_last[i][j] = u[i][j] + kFilter * (u_next[i][j] - 2 * u[i][j] + u_last[i][j]);
      v_last[i][j] = v[i][j] + kFilter * (v_next[i][j] - 2 * v[i][j] + v_last[i][j]);
      p_last[i][j] = p[i][j] + kFilter * (p_next[i][j] - 2 * p[i][j] + p_last[i][j]);
      u[i][j] = u_next[i][j];
      v[i][j] = v_next[i][j];
      p[i][j] = p_next[i][j];
    }
}

/* What the scheme conserves: mass exactly, energy up to the steps' length. */
static void sums(double* mass, double* work) {
  *mass = *work = 0;
  find_fluxes();
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      *mass += p[i][j];
      *work += .5 * (p[i][j] * p[i][j] + flux_u[i][j] * u[i][j] + flux_v[i][j] * v[i][j]);
    }
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  double mass = 0, work = 0, mass_after, work_after, moved = 0, pulled;
  begin();
  if (idle) return 0;
  if (check) sums(&mass, &work);
  for (int step = 0; step < kSteps; ++step) {
    find_fluxes();
    advance(step == 0 ? kStep : 2 * kStep);
    keep();
  }
  if (!check) return 0;
  sums(&mass_after, &work_after);
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j)
      moved = fmax(moved, fabs(u[i][j] + (stream[i][after(j)] - stream[i][j]) / kCell));
  /* The steepest slope of the pressure has pulled for so long. */
  pulled = 1000 * 4 * kPi / (kCell * kSide) * kSteps * kStep;
  if (fabs(mass_after / mass - 1) > 1e-12 || fabs(work_after / work - 1) > 1e-6) return 2;
  return fabs(moved / pulled - 1) < 0.1 ? 0 : 2;
}
