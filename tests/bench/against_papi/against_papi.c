/* bench_against_papi [--rounds N] [--json FILE] [--libraries FOLDER]: what calls of PAPI cost with this project's
   library and with the installed PAPI, by one client built against the installed PAPI's header, and beside the bare
   system calls. Two processes, one on each library, run short blocks in turns, pinned to one processor; the ratios are
   of the blocks of one round, and their medians are printed. FOLDER has this project's libpapi.so.7.0 (the build's
   lib). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum { kInstalled, kOurs, kLibraries };
enum { kMostMeasures = 32, kMostRounds = 1001 };

struct client {
  pid_t process;
  FILE *to, *from;
  double init; /* nanoseconds of processor time */
};

static struct client start_client(const char* program, const char* libraries) {
  struct client made = {-1, NULL, NULL, -1};
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return made;
  made.process = fork();
  if (made.process == 0) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    if (libraries != NULL)
      setenv("LD_LIBRARY_PATH", libraries, 1);
    else
      unsetenv("LD_LIBRARY_PATH");
    setenv("PAPI_EVENTS", "perf::PAGE-FAULTS", 1);
    execl(program, program, "--serve", (char*)NULL);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  made.to = fdopen(to[1], "w");
  made.from = fdopen(from[0], "r");
  if (made.process < 0 || fscanf(made.from, "%lf", &made.init) != 1) made.init = -1;
  return made;
}

static void end_client(struct client* client) {
  fclose(client->to);
  fclose(client->from);
  if (client->process > 0) waitpid(client->process, NULL, 0);
}

static double ask(struct client* client, int number) {
  double spent = -1;
  fprintf(client->to, "%d\n", number);
  fflush(client->to);
  return fscanf(client->from, "%lf", &spent) == 1 ? spent : -1;
}

static int by_size(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}
static double median(const double* from, int count) {
  static double sorted[kMostRounds];
  memcpy(sorted, from, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* By measure, library and round; measure 0 is the library's start. And the floor of each, measured in the same
 * rounds. */
static double spent[kMostMeasures][kLibraries][kMostRounds];
static double least[kMostMeasures][kMostRounds];
static double quotient[kMostRounds];

static double ratio(const double* ours, const double* theirs, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    if (ours[i] <= 0 || theirs[i] <= 0) return -1;
    quotient[i] = ours[i] / theirs[i];
  }
  return median(quotient, rounds);
}

static int number_of(const char* floor) {
  for (int i = 0; floor != NULL && measures[i].name != NULL; ++i)
    if (strcmp(measures[i].name, floor) == 0) return i + 1;
  return -1;
}

static void report(FILE* json, const char* name, int at, int floor, int rounds, int* lines) {
  const double ours = median(spent[at][kOurs], rounds), theirs = median(spent[at][kInstalled], rounds);
  const double to_papi = ratio(spent[at][kOurs], spent[at][kInstalled], rounds);
  const double to_floor = floor > 0 ? ratio(spent[at][kOurs], least[at], rounds) : -1;
  if (to_papi < 0) {
    printf("%s: not measured, it fails here\n", name);
    return;
  }
  printf("%s: %.1f ns, %.2f of PAPI's %.1f", name, ours, to_papi, theirs);
  if (to_floor > 0) printf(", %.2f of the %s", to_floor, measures[floor - 1].name);
  printf("\n");
  if (json == NULL) return;
  fprintf(json, "%s  {\"name\": \"%s\", \"ours_ns\": %.1f, \"papi_ns\": %.1f, \"to_papi\": %.3f",
          (*lines)++ == 0 ? "" : ",\n", name, ours, theirs, to_papi);
  if (to_floor > 0)
    fprintf(json, ", \"floor\": \"%s\", \"to_floor\": %.3f", measures[floor - 1].name, to_floor);
  fprintf(json, "}");
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--serve") == 0) return serve();
  int rounds = 25;
  const char *file = NULL, *libraries = OUR_LIBRARIES;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      rounds = atoi(argv[++i]);
    else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
      file = argv[++i];
    else if (strcmp(argv[i], "--libraries") == 0 && i + 1 < argc)
      libraries = argv[++i];
    else {
      fprintf(stderr, "usage: %s [--rounds N] [--json FILE] [--libraries FOLDER]\n", argv[0]);
      return 2;
    }
  }
  if (rounds < 1 || rounds > kMostRounds) {
    fprintf(stderr, "1 to %d rounds\n", kMostRounds);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN); /* a client that ended is seen by its answer */
  cpu_set_t here;
  CPU_ZERO(&here);
  const int processor = sched_getcpu();
  CPU_SET(processor < 0 ? 0 : (size_t)processor, &here);
  sched_setaffinity(0, sizeof here, &here); /* the clients inherit it */

  /* What the high-level interface writes at the clients' end goes with the folder. */
  char folder[] = "/tmp/bench_against_papi.XXXXXX", program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0 || mkdtemp(folder) == NULL) {
    perror("bench_against_papi");
    return 1;
  }
  program[length] = '\0';
  setenv("PAPI_OUTPUT_DIRECTORY", folder, 1);
  const char* const paths[kLibraries] = {NULL, libraries};
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < kLibraries; ++i) {
      const int library = (i + round) % kLibraries;
      struct client cold = start_client(program, paths[library]);
      spent[0][library][round] = cold.init;
      end_client(&cold);
    }
  struct client clients[kLibraries];
  for (int i = 0; i < kLibraries; ++i) clients[i] = start_client(program, paths[i]);
  int failed = 0;
  for (int i = 0; i < kLibraries; ++i) failed = failed || clients[i].init < 0;
  /* Round -1 warms up. A measure's rounds follow each other, since the last one changes what a process can do. */
  for (int at = 0; !failed && measures[at].name != NULL; ++at)
    for (int round = -1; round < rounds; ++round) {
      for (int i = 0; i < kLibraries; ++i) {
        const int library = (i + round + 1) % kLibraries;
        const double one = ask(&clients[library], at);
        if (round >= 0) spent[at + 1][library][round] = one;
      }
      const int floor = number_of(measures[at].floor);
      const double bare = floor > 0 ? ask(&clients[kOurs], floor - 1) : -1;
      if (round >= 0) least[at + 1][round] = bare;
    }
  for (int i = 0; i < kLibraries; ++i) end_client(&clients[i]);
  char command[sizeof folder + 16];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command) != 0) fprintf(stderr, "%s stays\n", folder);
  if (failed) {
    fprintf(stderr, "a library does not come up; is libpapi.so.7.0 in %s?\n", libraries);
    return 1;
  }
  FILE* const json = file != NULL ? fopen(file, "w") : NULL;
  if (file != NULL && json == NULL) {
    fprintf(stderr, "%s: %s\n", file, strerror(errno));
    return 1;
  }
  int lines = 0;
  if (json != NULL) fprintf(json, "{\"rounds\": %d, \"measures\": [\n", rounds);
  report(json, "library_init", 0, -1, rounds, &lines);
  for (int at = 0; measures[at].name != NULL; ++at)
    if (strncmp(measures[at].name, "bare ", 5) != 0)
      report(json, measures[at].name, at + 1, number_of(measures[at].floor), rounds, &lines);
  if (json != NULL) {
    fprintf(json, "\n]}\n");
    fclose(json);
  }
  return 0;
}
