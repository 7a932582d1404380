/* Three parallel kernels on volatile arrays, so that a compiler may neither drop nor add an access to them: a
 * radix sort, an FFT and an LU factorisation. Compiled with -DORACLE by a plain compiler, the program counts
 * its accesses itself and prints them; compiled by the access tracer's wrapper, the tracer must come to the
 * same numbers. Both check their results. kernels sort|fft|lu THREADS */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 20000
#define DIGIT 256
#define POINTS 4096
#define ORDER 64
#define MOST_THREADS 8

#ifdef ORACLE
static unsigned long counts[8][2];
#define SEEN(object, way) __atomic_fetch_add(&counts[object][way], 1, __ATOMIC_RELAXED)
#else
#define SEEN(object, way) ((void)0)
#endif
enum { keys_, other_, digits_, real_, imaginary_, matrix_ };
#define R(array, index) (SEEN(array##_, 0), array[index])
#define W(array, index, value) (SEEN(array##_, 1), array[index] = (value))

volatile long keys[KEYS], other[KEYS], digits[MOST_THREADS * DIGIT];
volatile double real[POINTS], imaginary[POINTS];
volatile double matrix[ORDER * ORDER];

static int threads = 1;
static pthread_barrier_t barrier;

static void sort_pass(int me, volatile long* from, volatile long* to, int shift, int from_keys) {
  long begin = (long)KEYS * me / threads, end = (long)KEYS * (me + 1) / threads;
  for (int d = 0; d < DIGIT; d++) W(digits, me * DIGIT + d, 0);
  for (long i = begin; i < end; i++) {
    SEEN(from_keys ? keys_ : other_, 0);
    long slot = me * DIGIT + ((from[i] >> shift) & (DIGIT - 1));
    W(digits, slot, R(digits, slot) + 1);
  }
  pthread_barrier_wait(&barrier);
  if (me == 0) {
    long sum = 0;
    for (int d = 0; d < DIGIT; d++)
      for (int t = 0; t < threads; t++) {
        long count = R(digits, t * DIGIT + d);
        W(digits, t * DIGIT + d, sum);
        sum += count;
      }
  }
  pthread_barrier_wait(&barrier);
  for (long i = begin; i < end; i++) {
    SEEN(from_keys ? keys_ : other_, 0);
    long key = from[i], slot = me * DIGIT + ((key >> shift) & (DIGIT - 1));
    long place = R(digits, slot);
    W(digits, slot, place + 1);
    SEEN(from_keys ? other_ : keys_, 1);
    to[place] = key;
  }
  pthread_barrier_wait(&barrier);
}

static void* sort(void* number) {
  int me = (int)(long)number;
  sort_pass(me, keys, other, 0, 1);
  sort_pass(me, other, keys, 8, 0);
  return NULL;
}

static void* fft(void* number) {
  int me = (int)(long)number;
  for (int half = POINTS / 2; half >= 1; half /= 2) {
    for (int b = me; b < POINTS / 2; b += threads) {
      int i = b / half * 2 * half + b % half, j = i + half;
      double angle = -M_PI * (b % half) / half, c = cos(angle), s = sin(angle);
      double ar = R(real, i), ai = R(imaginary, i), br = R(real, j), bi = R(imaginary, j);
      double dr = ar - br, di = ai - bi;
      W(real, i, ar + br);
      W(imaginary, i, ai + bi);
      W(real, j, dr * c - di * s);
      W(imaginary, j, dr * s + di * c);
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static void* lu(void* number) {
  int me = (int)(long)number;
  for (int k = 0; k < ORDER; k++) {
    for (int i = k + 1; i < ORDER; i++) {
      if (i % threads != me) continue;
      double factor = R(matrix, i * ORDER + k) / R(matrix, k * ORDER + k);
      W(matrix, i * ORDER + k, factor);
      for (int j = k + 1; j < ORDER; j++)
        W(matrix, i * ORDER + j, R(matrix, i * ORDER + j) - factor * R(matrix, k * ORDER + j));
    }
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static unsigned long seed = 1;
__attribute__((noinline)) static double random_number(void) {
  seed = seed * 6364136223846793005ul + 1442695040888963407ul;
  return (double)(seed >> 40) / (1 << 24);
}

static void parallel(void* (*work)(void*)) {
  pthread_t others[MOST_THREADS];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (long t = 1; t < threads; t++) pthread_create(&others[t], NULL, work, (void*)t);
  work(NULL);
  for (long t = 1; t < threads; t++) pthread_join(others[t], NULL);
}

int main(int argc, char** argv) {
  int right = 1;
  if (argc != 3) return 2;
  threads = atoi(argv[2]);
  if (threads < 1 || threads > MOST_THREADS) return 2;
  if (strcmp(argv[1], "sort") == 0) {
    for (long i = 0; i < KEYS; i++) W(keys, i, (long)(random_number() * 65536));
    parallel(sort);
    for (long i = 1; i < KEYS; i++) {
      long before = R(keys, i - 1);
      if (before > R(keys, i)) right = 0;
    }
  } else if (strcmp(argv[1], "fft") == 0) {
    /* One wave of frequency 5: all of its energy must lie in one place (its bits reversed). */
    for (int i = 0; i < POINTS; i++) {
      W(real, i, cos(2 * M_PI * 5 * i / POINTS));
      W(imaginary, i, sin(2 * M_PI * 5 * i / POINTS));
    }
    parallel(fft);
    int place = 0;
    for (int bit = 1, mirror = POINTS / 2; bit < POINTS; bit *= 2, mirror /= 2)
      if (5 & bit) place += mirror;
    for (int i = 0; i < POINTS; i++) {
      double size = R(real, i), wanted = i == place ? POINTS : 0;
      if (fabs(size - wanted) > 1e-6) right = 0;
    }
  } else if (strcmp(argv[1], "lu") == 0) {
    static double before[ORDER][ORDER];
    for (int i = 0; i < ORDER; i++)
      for (int j = 0; j < ORDER; j++) {
        before[i][j] = random_number() + (i == j ? ORDER : 0);
        W(matrix, i * ORDER + j, before[i][j]);
      }
    parallel(lu);
    for (int i = 0; i < ORDER; i++)
      for (int j = 0; j < ORDER; j++) {
        double sum = 0;
        for (int k = 0; k <= i && k <= j; k++) {
          double left = k == i ? 1 : R(matrix, i * ORDER + k);
          sum += left * R(matrix, k * ORDER + j);
        }
        if (fabs(sum - before[i][j]) > 1e-9) right = 0;
      }
  } else {
    return 2;
  }
#ifdef ORACLE
  static const char* const names[] = {"keys", "other", "digits", "real", "imaginary", "matrix"};
  for (int i = 0; i < 6; i++) printf("%s %lu %lu\n", names[i], counts[i][0], counts[i][1]);
#endif
  return right ? 0 : 1;
}
