// What a client pays through PAPI's interface: reads of one and four events against the bare grouped read,
// the clock against clock_gettime, and the library's initialisation. Floor and call are measured in turns in
// the same run; minima of blocks.
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <papi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Pair {
  double floor_ns = 1e18;
  double call_ns = 1e18;
  double ratio() const { return call_ns / floor_ns; }
};

constexpr int kBlocks = 41;
constexpr int kCalls = 10'000;

// The fastest block of each, blocks taken in turns so that both see the same machine.
template <typename Floor, typename Call>
Pair in_turns(Floor floor, Call call) {
  Pair best;
  for (int block = 0; block < kBlocks; ++block) {
    int64_t begin = now_ns();
    for (int i = 0; i < kCalls; ++i) floor();
    best.floor_ns = std::min(best.floor_ns, static_cast<double>(now_ns() - begin) / kCalls);
    begin = now_ns();
    for (int i = 0; i < kCalls; ++i) call();
    best.call_ns = std::min(best.call_ns, static_cast<double>(now_ns() - begin) / kCalls);
  }
  return best;
}

// A bare group of software events, as PAPI would open it; -1 where the kernel refuses.
int open_group(const std::vector<uint64_t>& configs) {
  int leader = -1;
  for (const uint64_t config : configs) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = config;
    // With the times, which a careful reader needs to know whether a value is scaled: the library reads them
    // too.
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (configs.size() > 1) attributes.read_format |= PERF_FORMAT_GROUP;
    const int file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0));
    if (file < 0) return -1;
    if (leader < 0) leader = file;
  }
  return leader;
}

// Reads of the named events through PAPI against the bare read of the same ones.
bool compare_reads(const std::vector<const char*>& names, const std::vector<uint64_t>& configs) {
  const int leader = open_group(configs);
  int set = PAPI_NULL;
  bool ready = leader >= 0 && PAPI_create_eventset(&set) == PAPI_OK;
  for (const char* name : names) ready = ready && PAPI_add_named_event(set, name) == PAPI_OK;
  if (!ready || PAPI_start(set) != PAPI_OK) {
    std::printf("read of %zu: not measured, the kernel's software events do not open here\n", names.size());
    return false;
  }
  uint64_t raw[16];
  long long values[16];
  const Pair cost = in_turns(
      [&] {
        benchmark::DoNotOptimize(read(leader, raw, sizeof raw));
        benchmark::ClobberMemory();
      },
      [&] {
        benchmark::DoNotOptimize(PAPI_read(set, values));
        benchmark::ClobberMemory();
      });
  std::printf("read of %zu: %.0f ns, %.2f times the bare read (%.0f ns)\n", names.size(), cost.call_ns,
              cost.ratio(), cost.floor_ns);
  PAPI_stop(set, values);
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return true;
}

}  // namespace

int main() {
  const int64_t before = processor_ns();
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
    std::puts("the library does not come up");
    return 1;
  }
  const int64_t init = processor_ns() - before;
  std::printf("library_init: %.3f ms of processor time\n", static_cast<double>(init) / 1e6);

  compare_reads({"perf::TASK-CLOCK"}, {PERF_COUNT_SW_TASK_CLOCK});
  compare_reads({"perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS"},
                {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CONTEXT_SWITCHES,
                 PERF_COUNT_SW_CPU_MIGRATIONS});

  timespec now{};
  const Pair clock = in_turns(
      [&] {
        clock_gettime(CLOCK_MONOTONIC, &now);
        benchmark::DoNotOptimize(now);
      },
      [] { benchmark::DoNotOptimize(PAPI_get_real_nsec()); });
  std::printf("real_nsec: %.1f ns, %.2f times clock_gettime\n", clock.call_ns, clock.ratio());

  int set = PAPI_NULL;
  long long value = 0;
  if (PAPI_create_eventset(&set) == PAPI_OK && PAPI_add_named_event(set, "example:::constant") == PAPI_OK &&
      PAPI_start(set) == PAPI_OK) {
    const Pair example = in_turns([] { benchmark::ClobberMemory(); },
                                  [&] {
                                    benchmark::DoNotOptimize(PAPI_read(set, &value));
                                    benchmark::ClobberMemory();
                                  });
    std::printf("read of example: %.1f ns over an empty loop\n", example.call_ns - example.floor_ns);
  }
  return 0;
}
