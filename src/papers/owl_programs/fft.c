/* A complex FFT of 65536 points in six steps, the algorithm and size of SPLASH-2's FFT (Bailey, "FFTs in
   external or hierarchical memory", Journal of Supercomputing 4, 1990; Woo et al., ISCA 1995): transpose,
   transform rows, multiply by roots of unity, transpose, transform rows, transpose; transposes go by blocks
   of a cache line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 256, kPoints = kSide * kSide, kBlock = 4 };
struct complex_number {
  double re, im;
};
typedef struct complex_number complex_number;

static complex_number times(complex_number a, complex_number b) {
  return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void transpose(const complex_number* from, complex_number* to) {
  for (int i = 0; i < kSide; i += kBlock)
    for (int j = 0; j < kSide; j += kBlock)
      for (int y = i; y < i + kBlock; ++y)
        for (int x = j; x < j + kBlock; ++x) to[x * kSide + y] = from[y * kSide + x];
}

/* One row in place; `roots`: the first half of the row's roots of unity. */
static void transform(complex_number* row, const complex_number* roots) {
  for (int i = 1, j = 0; i < kSide; ++i) {
    int bit = kSide / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) {
      const complex_number swapped = row[i];
      row[i] = row[j];
      row[j] = swapped;
    }
  }
  for (int half = 1; half < kSide; half *= 2)
    for (int first = 0; first < kSide; first += 2 * half)
      for (int k = 0; k < half; ++k) {
        complex_number *const a = &row[first + k], *const b = a + half;
        const complex_number turned = times(*b, roots[k * (kSide / 2 / half)]);
        *b = (complex_number){a->re - turned.re, a->im - turned.im};
        *a = (complex_number){a->re + turned.re, a->im + turned.im};
      }
}

static complex_number root_of_unity(long power) {
  const double angle = -2 * 3.14159265358979323846 * (double)(power % kPoints) / kPoints;
  return (complex_number){cos(angle), sin(angle)};
}

/* Some of the results against the sum that defines them. */
static int is_right(const complex_number* input, const complex_number* output) {
  for (int k = 3; k < kPoints; k += 9001) {
    complex_number sum = {0, 0};
    for (int i = 0; i < kPoints; ++i) {
      const complex_number each = times(input[i], root_of_unity((long)i * k));
      sum.re += each.re;
      sum.im += each.im;
    }
    if (hypot(sum.re - output[k].re, sum.im - output[k].im) > 1e-7) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  static complex_number numbers[kPoints], other[kPoints], turns[kPoints], roots[kSide / 2];
  complex_number* const input = check ? malloc(sizeof numbers) : NULL;
  unsigned long long state = 20050504;
  int right = 1;
  if (check && input == NULL) return 1;
  for (int i = 0; i < kPoints; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    numbers[i].re = (double)(state >> 40) / (1 << 24) - 0.5;
    numbers[i].im = (double)(state >> 16 & 0xffffff) / (1 << 24) - 0.5;
    turns[i] = root_of_unity((long)(i / kSide) * (i % kSide));
    if (i < kSide / 2) roots[i] = root_of_unity((long)i * kSide);
  }
  if (check) memcpy(input, numbers, sizeof numbers);
  if (!idle) {
    transpose(numbers, other);
    for (int i = 0; i < kSide; ++i) {
      transform(other + i * kSide, roots);
      for (int j = 0; j < kSide; ++j)
        other[i * kSide + j] = times(other[i * kSide + j], turns[i * kSide + j]);
    }
    transpose(other, numbers);
    for (int i = 0; i < kSide; ++i) transform(numbers + i * kSide, roots);
    transpose(numbers, other);
    if (check) right = is_right(input, other);
  }
  free(input);
  return right ? 0 : 2;
}
