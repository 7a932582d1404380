/* An ART 2 network that learns three shapes and looks for them in an image, the stand-in for SPEC's art: the
   equations of Carpenter and Grossberg, "ART 2: self-organization of stable category recognition codes for
   analog input patterns", Applied Optics 26(23), 1987. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 40, kInputs = kWindow * kWindow, kCategories = 10, kShapes = 3, kImage = 152, kStride = 16 };
static const double kA = 10, kB = 10, kC = 0.1, kD = 0.9, kNothing = 1e-9, kVigilance = 0.9;

/* One node of the field F1, with its activities by the paper's letters. */
struct node {
  double input, w, x, v, u, p, q, r;
};
static struct node field[kInputs];
static double up[kInputs][kCategories], down[kCategories][kInputs], reached[kCategories];
static unsigned char image[kImage][kImage];

static unsigned next_random(void) {
  static unsigned long long state = 20050504;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33);
}

/* Brightness of a shape: a ring, a cross, stripes. */
static int shape(int which, int x, int y) {
  const int a = x - kWindow / 2, b = y - kWindow / 2, square = a * a + b * b;
  if (which == 0) return square > 100 && square < 256 ? 220 : 10;
  if (which == 1) return abs(a) < 5 || abs(b) < 5 ? 220 : 10;
  return (x + 2 * y) / 8 % 2 != 0 ? 220 : 10;
}

static double filtered(double x) { return x < 1 / sqrt((double)kInputs) ? 0 : x; }

/* Lets F1 settle, with the expectation of a category or (-1) without. */
static void settle(int category) {
  double w_norm, v_norm, p_norm;
  for (int i = 0; i < kInputs; ++i) field[i].u = field[i].q = 0;
  for (int pass = 0; pass < 3; ++pass) {
    w_norm = v_norm = p_norm = kNothing;
    for (int i = 0; i < kInputs; ++i) {
      field[i].w = field[i].input + kA * field[i].u;
      w_norm += field[i].w * field[i].w;
    }
    w_norm = sqrt(w_norm);
    for (int i = 0; i < kInputs; ++i) {
      field[i].x = field[i].w / w_norm;
      field[i].v = filtered(field[i].x) + kB * filtered(field[i].q);
      v_norm += field[i].v * field[i].v;
    }
    v_norm = sqrt(v_norm);
    for (int i = 0; i < kInputs; ++i) {
      field[i].u = field[i].v / v_norm;
      field[i].p = field[i].u + (category < 0 ? 0 : kD * down[category][i]);
      p_norm += field[i].p * field[i].p;
    }
    p_norm = sqrt(p_norm);
    for (int i = 0; i < kInputs; ++i) field[i].q = field[i].p / p_norm;
  }
}

/* The length of the paper's vector r: 1 is a perfect match. */
static double match(void) {
  double u = kNothing, p = kNothing, sum = 0;
  for (int i = 0; i < kInputs; ++i) {
    u += field[i].u * field[i].u;
    p += field[i].p * field[i].p;
  }
  for (int i = 0; i < kInputs; ++i) {
    field[i].r = (field[i].u + kC * field[i].p) / (sqrt(u) + kC * sqrt(p));
    sum += field[i].r * field[i].r;
  }
  return sqrt(sum);
}

/* The category that the input belongs to, and how well; a free one where none matches. */
static int recognise(double* how_well) {
  int refused[kCategories] = {0};
  settle(-1);
  for (int j = 0; j < kCategories; ++j) reached[j] = 0;
  for (int i = 0; i < kInputs; ++i)
    for (int j = 0; j < kCategories; ++j) reached[j] += field[i].p * up[i][j];
  for (int turn = 0; turn < kCategories; ++turn) {
    int best = -1;
    for (int j = 0; j < kCategories; ++j)
      if (!refused[j] && (best < 0 || reached[j] > reached[best])) best = j;
    for (int i = 0; i < kInputs; ++i) field[i].p = field[i].u + kD * down[best][i];
    *how_well = match();
    if (*how_well > kVigilance) {
      settle(best); /* resonance */
      return best;
    }
    refused[best] = 1;
  }
  return -1;
}

static void learn(int category) {
  for (int i = 0; i < kInputs; ++i) down[category][i] = up[i][category] = field[i].u / (1 - kD);
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  static const int kPlaces[kShapes][2] = {{16, 80}, {96, 32}, {64, 112}};
  int learned[kShapes], wrong = 0;
  double best[kCategories] = {0};
  int place[kCategories][2] = {{0}};
  for (int i = 0; i < kImage; ++i)
    for (int j = 0; j < kImage; ++j) image[i][j] = (unsigned char)(next_random() % 100);
  for (int s = 0; s < kShapes; ++s)
    for (int i = 0; i < kWindow; ++i)
      for (int j = 0; j < kWindow; ++j)
        image[kPlaces[s][0] + i][kPlaces[s][1] + j] =
            (unsigned char)(shape(s, i, j) + (int)(next_random() % 20));
  for (int i = 0; i < kInputs; ++i)
    for (int j = 0; j < kCategories; ++j) up[i][j] = 1 / ((1 - kD) * sqrt((double)kInputs) * 2);
  if (idle) return 0;
  for (int s = 0; s < kShapes; ++s) {
    double unused;
    for (int i = 0; i < kInputs; ++i) field[i].input = shape(s, i / kWindow, i % kWindow);
    learned[s] = recognise(&unused);
    if (learned[s] < 0) return 2;
    learn(learned[s]);
  }
  for (int row = 0; row + kWindow <= kImage; row += kStride)
    for (int column = 0; column + kWindow <= kImage; column += kStride) {
      double how_well = 0;
      int found;
      /* The quotient is an index. NOLINTNEXTLINE(bugprone-integer-division) */
      for (int i = 0; i < kInputs; ++i) field[i].input = image[row + i / kWindow][column + i % kWindow];
      found = recognise(&how_well);
      if (found >= 0 && how_well > best[found]) {
        best[found] = how_well;
        place[found][0] = row;
        place[found][1] = column;
      }
    }
  for (int s = 0; check && s < kShapes; ++s) {
    for (int other = 0; other < s; ++other) wrong += learned[s] == learned[other];
    wrong += place[learned[s]][0] != kPlaces[s][0] || place[learned[s]][1] != kPlaces[s][1];
  }
  return wrong != 0 ? 2 : 0;
}
