/* Two threads on stacks of their own at once; when both have ended, a third on the second's stack. It has the
 * number of the first. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { kStack = 1 << 20 };
static pthread_barrier_t both;
static void* stacks[2];

static __attribute__((noinline)) void fill(volatile int* numbers, int count) {
  for (int i = 0; i < count; ++i) numbers[i] = i;
}
static void* work(void* argument) {
  volatile int numbers[1000];
  fill(numbers, (int)(intptr_t)argument);
  if ((intptr_t)argument != 1000) pthread_barrier_wait(&both);
  return NULL;
}
static pthread_t start(int stack, intptr_t writes) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, stacks[stack], kStack) != 0 ||
      pthread_create(&thread, &attributes, work, (void*)writes) != 0)
    exit(1);
  pthread_attr_destroy(&attributes);
  return thread;
}

int main(void) {
  for (int i = 0; i < 2; ++i)
    stacks[i] = mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(&both, NULL, 3);
  const pthread_t first = start(0, 10);
  const pthread_t second = start(1, 20);
  pthread_barrier_wait(&both);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  pthread_join(start(1, 1000), NULL);
  return 0;
}
