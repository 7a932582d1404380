// A long run of one ring between two processes: the consumer is stopped, killed and started anew meanwhile,
// and every record must arrive once and in order. Not a test: it takes minutes; run it by hand as
// `bench_owl_ring [RECORDS]`, by default 10^9.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <random>
#include <utility>

#include "owl/ring.hpp"

namespace {

using substrata::owl::RingProducer;

// What consumers leave the one after them, in memory that all processes share, so that it can see whether it
// goes on where they were. It is not needed to go on: the consumer's place lies in the ring.
struct Shared {
  std::atomic<uint64_t> consumed;  // records, as reported after each
};

enum Ending { kMetLast = 0, kNoRing = 3, kDamaged, kWrongSequence, kWrongOrder };

[[noreturn]] void consume(const char* path, Shared& shared, uint64_t records) {
  substrata_owl_reader* reader = nullptr;
  if (substrata_owl_reader_open(path, 0, &reader) != 0) _exit(kNoRing);
  bool first = true;
  uint64_t before = 0;
  while (true) {
    substrata_owl_packet packet;
    uint64_t value = 0;
    const int status = substrata_owl_reader_peek(reader, &packet, &value, sizeof value);
    if (status < 0) _exit(kDamaged);
    if (status == 0) {
      sched_yield();
      continue;
    }
    if (packet.sequence != value || substrata_owl_reader_lost(reader) != 0) _exit(kWrongSequence);
    const uint64_t reported = shared.consumed.load(std::memory_order_relaxed);
    // A consumer that was killed between consuming and reporting has consumed one more than it reported.
    if (first ? value != reported && value != reported + 1 : value != before + 1) _exit(kWrongOrder);
    first = false;
    before = value;
    substrata_owl_reader_consume(reader);
    shared.consumed.store(value + 1, std::memory_order_relaxed);
    if (value + 1 == records) _exit(kMetLast);
  }
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int fail(const char* what, int status) {
  std::printf("FAILED: %s (%d)\n", what, status);
  return 1;
}

// Nanoseconds of a store of the record's words alone, without anyone who reads.
double floor_ns() {
  constexpr uint64_t kStores = 100'000'000;
  static std::atomic<uint64_t> words[3 * 1024];
  const double begun = cpu_seconds();
  for (uint64_t i = 0; i < kStores; ++i) {
    std::atomic<uint64_t>* const at = words + i % 1024 * 3;
    at[0].store(8, std::memory_order_release);
    at[1].store(i, std::memory_order_release);
    at[2].store(i, std::memory_order_release);
  }
  return (cpu_seconds() - begun) * 1e9 / static_cast<double>(kStores);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000'000;
  if (records < 1000) {
    std::fprintf(stderr, "%s: RECORDS must be at least 1000\n", argv[0]);
    return 2;
  }
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  RingProducer ring;
  if (memory == MAP_FAILED || ring.create(nullptr, 1 << 20, SUBSTRATA_OWL_DROP_NEW, 75) != 0)
    return fail("no ring", 0);
  ring.publish();
  Shared& shared = *new (memory) Shared{};
  const auto begin = [&] {
    const pid_t child = fork();
    if (child == 0) consume(ring.memory().path().c_str(), shared, records);
    return child;
  };
  const double floor = floor_ns();
  std::mt19937_64 random(1);
  const uint64_t every = records / 100;
  uint64_t next_event = every, stops = 0, kills = 0, full = 0, near = 0;
  const auto begun = std::chrono::steady_clock::now();
  const double cpu_begun = cpu_seconds();
  pid_t child = begin();
  if (child < 0) return fail("no process", 0);
  for (uint64_t value = 0; value < records;) {
    bool near_full = false;
    if (ring.push(&value, sizeof value, 0, &near_full)) {
      ++value;
      near += std::exchange(near_full, false) ? 1 : 0;
    } else {
      ++full;
      int status = 0;
      if (waitpid(child, &status, WNOHANG) != 0) return fail("the consumer ended early", status);
      sched_yield();
    }
    if (value < next_event) continue;
    next_event += every / 2 + random() % every;
    if (random() % 2 == 0) {
      // Stopped until the ring is full, then it goes on.
      ++stops;
      kill(child, SIGSTOP);
      while (value < records && ring.push(&value, sizeof value, 0, &near_full)) {
        ++value;
        near += std::exchange(near_full, false) ? 1 : 0;
      }
      kill(child, SIGCONT);
    } else {
      ++kills;
      kill(child, SIGKILL);
      int status = 0;
      if (waitpid(child, &status, 0) != child || WIFEXITED(status))
        return fail("the consumer ended early", status);
      child = begin();
      if (child < 0) return fail("no process", 0);
    }
  }
  const double cpu = cpu_seconds() - cpu_begun;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != kMetLast)
    return fail("the last consumer found a record missing, twice, or out of order", status);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (shared.consumed.load() != records || ring.lost() != 0) return fail("records were lost", 0);
  const double each = 1e9 / static_cast<double>(records);
  std::printf("%" PRIu64 " records of 8 bytes, each once and in order, none lost or counted wrong\n",
              records);
  std::printf("consumer stopped %" PRIu64 " times, killed and started anew %" PRIu64
              " times; ring full %" PRIu64 " times, %" PRIu64 " near-full signals\n",
              stops, kills, full, near);
  std::printf(
      "%.1f s, %.1f M records a second; producer %.2f ns of its processor's time a record, with waiting; "
      "stores alone %.2f ns, ratio %.1f\n",
      wall, static_cast<double>(records) / wall * 1e-6, cpu * each, floor, cpu * each / floor);
  munmap(memory, sizeof(Shared));
  return 0;
}
