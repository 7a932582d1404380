// What the layer costs: a call through the table against a direct call, a read of a set against a direct
// read, and the clock against clock_gettime. Prints nanoseconds; the ratio is to the floor measured in the
// same run.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "core/eventset/library.hpp"
#include "core/eventset/measure.hpp"
#include "core/system/timers.hpp"
#include "support/smallest_substrate.hpp"

namespace {

using namespace substrata;

int64_t counter = 0;

// Neither inlined nor adapted to its caller: the direct call costs what any call does, and is the floor of the others.
#ifdef __clang__
#define SUBSTRATA_WHOLE_CALL [[gnu::noinline]]
#else
#define SUBSTRATA_WHOLE_CALL [[gnu::noipa]]
#endif
SUBSTRATA_WHOLE_CALL Status read(Set*, int64_t* values) noexcept {
  values[0] = ++counter;
  return kSuccess;
}
constexpr SubstrateTable kTable = [] {
  SubstrateTable table = smallest::table("bench");
  table.read = read;
  return table;
}();
int32_t entry(const Host* host, SubstrateTable* out) noexcept { return publish(kTable, host, out); }
constexpr BuiltIn kSubstrates[] = {{"bench", entry}, {nullptr, nullptr}};

int running_set() {
  static const int set = [] {
    Library::instance().use_built_in(kSubstrates);
    if (!Library::instance().initialise().ok()) return -1;
    const int handle = create_event_set().value_or(-1);
    if (!add_named_event(handle, "bench:::nothing").ok() || !start_set(handle).ok()) return -1;
    return handle;
  }();
  return set;
}

void floor_direct_read(benchmark::State& state) {
  int64_t value = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(read(nullptr, &value));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(floor_direct_read);

void table_read(benchmark::State& state) {
  running_set();
  const SubstrateTable* table = &Library::instance().registry().at(0)->table();
  benchmark::DoNotOptimize(table);
  int64_t value = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table->read(nullptr, &value));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(table_read);

int refused(int code) noexcept { return code; }

void set_read(benchmark::State& state) {
  const int set = running_set();
  int64_t value = 0;
  for (auto _ : state) {
    if (read_set(set, &value, refused) != 0) {
      state.SkipWithError("the set cannot be read");
      break;
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(set_read);

void floor_clock(benchmark::State& state) {
  timespec now;
  for (auto _ : state) {
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    benchmark::DoNotOptimize(now);
  }
}
BENCHMARK(floor_clock);

void real_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(real_ns());
}
BENCHMARK(real_clock);

void init_and_shutdown(benchmark::State& state) {
  Library::instance().use_built_in(kSubstrates);
  for (auto _ : state) {
    Library::instance().shutdown();
    if (!Library::instance().initialise().ok()) state.SkipWithError("the library does not come up");
  }
}

// The benchmarks that need the set run before this one takes it down.
BENCHMARK(init_and_shutdown);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);

  // Ratios, printed by the program itself.
  class Reporter : public benchmark::ConsoleReporter {
   public:
    void ReportRuns(const std::vector<Run>& runs) override {
      for (const Run& run : runs) {
        if (run.run_type != Run::RT_Iteration) continue;
        const double ns = run.GetAdjustedCPUTime();
        const std::string name = run.benchmark_name();
        if (name == "floor_direct_read") direct = ns;
        if (name == "floor_clock") clock = ns;
        if (name == "table_read")
          std::printf("dispatch through the table: %+.2f ns over a direct call\n", ns - direct);
        if (name == "set_read")
          std::printf("read of an eventset: %.2f ns, %.2f times the direct read\n", ns, ns / direct);
        if (name == "real_clock") std::printf("real_ns: %.2f times clock_gettime\n", ns / clock);
      }
      ConsoleReporter::ReportRuns(runs);
    }
    double direct = 0, clock = 0;
  } reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}
