/* A radix sort of 65536 keys with 1024 values a digit: the algorithm and the generator of keys of SPLASH-2's
   RADIX (Woo et al., "The SPLASH-2 programs: characterization and methodological considerations", ISCA 1995).
 */
#include <stdlib.h>
#include <string.h>

enum { kKeys = 65536, kRadix = 1024, kDigitBits = 10, kMostKey = 524288 };
static unsigned long long state = 314159265;

static double next_random(void) {
  state = state * 1220703125ULL & ((1ULL << 46) - 1);
  return (double)state / (double)(1ULL << 46);
}

int main(int argc, char** argv) {
  const int idle = argc > 1 && strcmp(argv[1], "idle") == 0;
  const int check = argc > 1 && strcmp(argv[1], "check") == 0;
  int *from = malloc(kKeys * sizeof *from), *to = malloc(kKeys * sizeof *to);
  int* rank = malloc(kRadix * sizeof *rank);
  unsigned long long sum_before = 0, sum_after = 0;
  int right = 1;
  if (from == NULL || to == NULL || rank == NULL) return 1;
  for (int i = 0; i < kKeys; ++i) {
    double sum = 0;
    for (int draw = 0; draw < 4; ++draw) sum += next_random();
    from[i] = (int)(sum / 4 * kMostKey);
  }
  for (int i = 0; check && i < kKeys; ++i) sum_before += (unsigned long long)from[i] * (unsigned)from[i];
  for (int shift = 0; !idle && shift < 20; shift += kDigitBits) {
    int* swapped = from;
    for (int d = 0; d < kRadix; ++d) rank[d] = 0;
    for (int i = 0; i < kKeys; ++i) ++rank[from[i] >> shift & (kRadix - 1)];
    for (int d = 0, sum = 0; d < kRadix; ++d) {
      const int count = rank[d];
      rank[d] = sum;
      sum += count;
    }
    for (int i = 0; i < kKeys; ++i) to[rank[from[i] >> shift & (kRadix - 1)]++] = from[i];
    from = to;
    to = swapped;
  }
  for (int i = 0; check && i < kKeys; ++i) {
    sum_after += (unsigned long long)from[i] * (unsigned)from[i];
    right = right && (i == 0 || from[i - 1] <= from[i]);
  }
  free(from);
  free(to);
  free(rank);
  return right && sum_before == sum_after ? 0 : 2;
}
