// gpu_node FOLDER: an MPI program that plays a node of eight GPUs. It computes and exchanges in turn, really, and
// writes what the GPUs and adapters of such a node would show into FOLDER, a machine unfolded from
// tests/machines/eight_h200.txt: power and heat by a lag of first order towards those of the phase, port counters by
// the bytes that the ranks exchanged. Nothing of it was measured on a GPU.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kGpus = 8, kSteps = 4, kTurns = 24, kWords = 1 << 16 };

static const char* folder;
static int rank, ranks;

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

// Whole or not at all, as a reader sees it.
static void write_file(const char* name, const char* text) {
  char path[4096], fresh[4104];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(fresh, sizeof fresh, "%s.new", path);
  FILE* const file = fopen(fresh, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0 || rename(fresh, path) != 0) {
    fprintf(stderr, "gpu_node: %s cannot be written\n", path);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void show_gpus(const double* watts, const double* degrees, int percent) {
  char text[8192] = "component nvml\n";
  for (int i = 0; i < kGpus; ++i) {
    char* const end = text + strlen(text);
    const char* const gpu = "nvml:::NVIDIA_H200:device";
    snprintf(end, sizeof text - (size_t)(end - text),
             "%s_%d:power mW %.0f\n%s_%d:temperature degC %.0f\n%s_%d:gpu_utilization %% %d\n"
             "%s_%d:total_memory bytes 150754820096\n%s_%d:allocated_memory bytes %llu\n",
             gpu, i, 1000 * watts[i], gpu, i, degrees[i], gpu, i, percent, gpu, i, gpu, i, 64ull << 30);
  }
  write_file("events.txt", text);
}

// The port's counters of words of 4 bytes, grown by so many bytes. In place: the recorder keeps the files open.
static void move_bytes(int adapter, unsigned long long bytes) {
  const char* const names[] = {"port_xmit_data", "port_rcv_data"};
  for (int i = 0; i < 2; ++i) {
    char path[4096];
    unsigned long long words = 0;
    snprintf(path, sizeof path, "%s/sys/class/infiniband/mlx5_%d/ports/1/counters/%s", folder, adapter,
             names[i]);
    FILE* const file = fopen(path, "r+");
    if (file == NULL || fscanf(file, "%llu", &words) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
    rewind(file);
    fprintf(file, "%llu\n", words + bytes / 4);
    fclose(file);
  }
}

static void mark(const char* what, const char* name) {
  const char* const marks = getenv("SUBSTRATA_MARKS");
  FILE* const file = rank != 0 || marks == NULL ? NULL : fopen(marks, "a");
  if (file == NULL) return;
  fprintf(file, "%s %s\n", what, name);
  fclose(file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2 || ranks > kGpus) {
    if (rank == 0) fprintf(stderr, "usage: mpirun -n RANKS gpu_node FOLDER, 8 ranks at most\n");
    MPI_Finalize();
    return 2;
  }
  folder = argv[1];
  double* const out = calloc((size_t)kWords * (size_t)ranks, sizeof *out);
  double* const in = calloc((size_t)kWords * (size_t)ranks, sizeof *in);
  if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  double watts[kGpus], degrees[kGpus];
  for (int i = 0; i < kGpus; ++i) watts[i] = 120 + i, degrees[i] = 32 + 0.5 * i;
  unsigned long long exchanged = 0;
  double sum = 1;
  for (int step = 0; step < kSteps; ++step)
    for (int phase = 0; phase < 2; ++phase) {
      const int computes = phase == 0;
      mark("begin", computes ? "compute" : "exchange");
      for (int turn = 0; turn < kTurns; ++turn) {
        const double end = now() + 0.05;
        const unsigned long long before = exchanged;
        if (computes)
          for (; now() < end; sum = sum * 1.0000001 + 1e-9) continue;
        else
          for (int i = 0; i < 4; ++i) {
            MPI_Alltoall(out, kWords, MPI_DOUBLE, in, kWords, MPI_DOUBLE, MPI_COMM_WORLD);
            exchanged += (unsigned long long)(ranks - 1) * kWords * sizeof *out;
          }
        if (exchanged != before) move_bytes(rank, exchanged - before);
        for (int i = 0; i < kGpus; ++i) {
          watts[i] += ((computes ? 640 + 6 * i : 230 + 3 * i) - watts[i]) / 4;
          degrees[i] += ((computes ? 68 + i : 40 + 0.5 * i) - degrees[i]) / 20;
        }
        if (rank == 0) show_gpus(watts, degrees, computes ? 97 : 12);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      mark("end", computes ? "compute" : "exchange");
    }
  if (rank == 0) printf("%d ranks exchanged %llu bytes each (%g)\n", ranks, exchanged, sum);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
