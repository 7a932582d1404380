/* Threads that come and go, one after the other, each with memory of its own. Prints by how many pages the program
 * grew meanwhile. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long resident_pages(void) {
  long all = 0, resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) exit(1);
  fclose(file);
  return resident;
}

static void* work(void* argument) {
  volatile int here[16];
  volatile int* block = malloc(64);
  for (int i = 0; i < 16; ++i) here[i] = block[i] = i + (argument != NULL);
  free((void*)block);
  return NULL;
}

static void run(int threads) {
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0) exit(2);
    pthread_join(thread, NULL);
  }
}

int main(void) {
  run(100);
  const long before = resident_pages();
  run(2000);
  printf("%ld\n", resident_pages() - before);
  return 0;
}
