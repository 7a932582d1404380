/* A program whose heap objects, calls, atomics and block operations are counted in the test. */
#include <stdlib.h>
#include <string.h>

volatile int total;

__attribute__((noinline)) static volatile int* make_first(void) { return malloc(400); }
__attribute__((noinline)) static volatile int* make_second(void) { return calloc(100, sizeof(int)); }
__attribute__((noinline)) void fill(volatile int* place, int count) {
  for (int i = 0; i < count; i++) place[i] = i;
}

int main(int argc, char** argv) {
  (void)argv;
  volatile int* first = make_first();
  volatile int* second = make_second();
  for (int round = 0; round < 3; round++) fill(first, 100);
  fill(second, 50);
  for (int i = 0; i < 100; i++) total += first[i];
  for (int i = 0; i < 10; i++) __atomic_fetch_add((int*)&total, 1, __ATOMIC_SEQ_CST);
  size_t size = (size_t)argc * 300;
  char* copy = malloc(400);
  memcpy(copy, (void*)first, size); /* a size no compiler knows: a call */
  int wrong = memcmp(copy, (void*)first, size) != 0 || total != 4960;
  free(copy);
  free((void*)first);
  free((void*)second);
  return wrong;
}
