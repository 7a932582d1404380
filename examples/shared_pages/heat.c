/* Heat along a rod: processes share its cells by page protection, each computes a part, and each prints what
 * the sharing moved and cost. Usage: heat [processes [cells [steps]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <substrata/feed.h>
#include <substrata/shared_pages.h>
#include <sys/wait.h>
#include <unistd.h>

/* One step for the cells [begin, end), never the first or the last one. */
static void step(const double* now, double* then, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) then[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
}

/* What one process alone computes. */
static double* alone(size_t cells, int steps) {
  double* now = calloc(2 * cells, sizeof *now);
  if (now == NULL) return NULL;
  double* then = now + cells;
  now[0] = then[0] = 100;
  for (int i = 0; i < steps; ++i) {
    step(now, then, 1, cells - 1);
    memcpy(now, then, cells * sizeof *now);
  }
  return now;
}

static int take_part(const char* name, unsigned process, unsigned processes, size_t cells, int steps) {
  struct substrata_shared_pages_options options = {.struct_size = sizeof options,
                                                   .processes = processes,
                                                   .process = process,
                                                   .bytes = 2 * cells * sizeof(double),
                                                   .name = name};
  struct substrata_shared_pages* pages;
  if (substrata_shared_pages_open(&options, &pages) != 0) {
    fprintf(stderr, "process %u: %s\n", process, substrata_feed_error());
    return 1;
  }
  double* even = substrata_shared_pages_memory(pages);
  double* odd = even + cells;
  if (process == 0) even[0] = odd[0] = 100;
  const size_t begin = 1 + (cells - 2) * process / processes;
  const size_t end = 1 + (cells - 2) * (process + 1) / processes;
  int failed = substrata_shared_pages_barrier(pages);
  for (int i = 0; i < steps && failed == 0; ++i) {
    step(i % 2 == 0 ? even : odd, i % 2 == 0 ? odd : even, begin, end);
    failed = substrata_shared_pages_barrier(pages);
  }
  if (failed != 0) fprintf(stderr, "process %u: %s\n", process, substrata_feed_error());

  struct substrata_shared_pages_counts counts = {.struct_size = sizeof counts};
  substrata_shared_pages_count(pages, &counts);
  printf(
      "process %u: %llu fetches, %llu twins, %llu diffs of %.0f bytes; %.1f ms in faults, %.1f ms sending "
      "diffs, "
      "%.1f ms waiting\n",
      process, (unsigned long long)counts.fetches, (unsigned long long)counts.twins,
      (unsigned long long)counts.diffs,
      counts.diffs == 0 ? 0.0 : (double)counts.diff_bytes / (double)counts.diffs,
      (double)counts.fault_ns / 1e6, (double)counts.release_ns / 1e6, (double)counts.wait_ns / 1e6);
  fflush(stdout);
  if (process == 0 && failed == 0) {
    double* wanted = alone(cells, steps);
    const double* found = steps % 2 == 0 ? even : odd;
    failed = wanted == NULL || memcmp(found, wanted, cells * sizeof *found) != 0;
    printf("%zu cells after %d steps: %s\n", cells, steps, failed ? "WRONG" : "as one process computes them");
    free(wanted);
  }
  substrata_shared_pages_close(pages);
  return failed != 0;
}

int main(int argc, char** argv) {
  const long processes = argc > 1 ? atol(argv[1]) : 4;
  const long cells = argc > 2 ? atol(argv[2]) : 100000;
  const long steps = argc > 3 ? atol(argv[3]) : 50;
  if (processes < 1 || processes > 64 || cells < 3 || cells > 4000000 || steps < 0 || steps > 1000000) {
    fprintf(stderr, "usage: heat [processes 1-64 [cells 3-4000000 [steps]]]\n");
    return 2;
  }
  char name[32];
  snprintf(name, sizeof name, "heat-%ld", (long)getpid());
  for (long process = 1; process < processes; ++process) {
    const pid_t child = fork();
    if (child < 0) perror("fork");
    if (child == 0) _exit(take_part(name, (unsigned)process, (unsigned)processes, (size_t)cells, (int)steps));
  }
  int failed = take_part(name, 0, (unsigned)processes, (size_t)cells, (int)steps);
  for (int status; wait(&status) > 0;) failed |= status != 0;
  return failed;
}
