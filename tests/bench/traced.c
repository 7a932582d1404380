/* Two kernels whose every access the access tracer sees: a radix sort of two million keys and an FFT of 2^18 points.
 * traced sort|fft ROUNDS [LESS] prints the processor time of the fastest round, in milliseconds; LESS divides the
 * size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void sort(unsigned* from, unsigned* to, long n) {
  for (int shift = 0; shift < 32; shift += 8) {
    long places[256] = {0}, sum = 0;
    for (long i = 0; i < n; i++) places[from[i] >> shift & 255]++;
    for (int digit = 0; digit < 256; digit++) {
      const long count = places[digit];
      places[digit] = sum;
      sum += count;
    }
    for (long i = 0; i < n; i++) to[places[from[i] >> shift & 255]++] = from[i];
    unsigned* const other = from;
    from = to;
    to = other;
  }
}

static void fft(double* re, double* im, const double* cosines, const double* sines, long n) {
  for (long half = n / 2; half >= 1; half /= 2)
    for (long begin = 0; begin < n; begin += 2 * half)
      for (long k = 0; k < half; k++) {
        const long i = begin + k, j = i + half, w = k * (n / 2 / half);
        const double ar = re[i], ai = im[i], br = re[j], bi = im[j], dr = ar - br, di = ai - bi;
        re[i] = ar + br;
        im[i] = ai + bi;
        re[j] = dr * cosines[w] - di * sines[w];
        im[j] = dr * sines[w] + di * cosines[w];
      }
}

static double sort_ms(long n) {
  unsigned *keys = malloc((size_t)n * sizeof *keys), *other = malloc((size_t)n * sizeof *keys), random = 1;
  for (long i = 0; i < n; i++) keys[i] = random = random * 1664525u + 1013904223u;
  const double begin = now();
  sort(keys, other, n);
  const double took = now() - begin;
  for (long i = 1; i < n; i++)
    if (keys[i - 1] > keys[i]) exit(1);
  free(keys);
  free(other);
  return took;
}

static double fft_ms(long n) {
  double *re = malloc((size_t)n * 8), *im = malloc((size_t)n * 8), *cosines = malloc((size_t)n * 4),
         *sines = malloc((size_t)n * 4);
  for (long i = 0; i < n; i++) re[i] = cos(2 * M_PI * 5 * (double)i / (double)n), im[i] = 0;
  for (long k = 0; k < n / 2; k++) {
    cosines[k] = cos(-2 * M_PI * (double)k / (double)n);
    sines[k] = sin(-2 * M_PI * (double)k / (double)n);
  }
  const double begin = now();
  fft(re, im, cosines, sines, n);
  const double took = now() - begin;
  double most = 0; /* one wave of frequency 5: half of its energy lies in one place */
  for (long i = 0; i < n; i++) most = fabs(re[i]) > most ? fabs(re[i]) : most;
  if (fabs(most - (double)n / 2) > 1e-6 * (double)n) exit(1);
  free(re), free(im), free(cosines), free(sines);
  return took;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const long less = argc > 3 ? atol(argv[3]) : 1;
  double least = 1e18;
  for (int round = 0; round < atoi(argv[2]); round++) {
    const double took = argv[1][0] == 's' ? sort_ms(2000000 / less) : fft_ms((1 << 18) / less);
    least = took < least ? took : least;
  }
  printf("%.3f\n", least);
  return 0;
}
