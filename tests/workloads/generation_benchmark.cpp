// How many references a second the workloads make without a model (FE-12: 100 million), beside the same loops
// on plain memory.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "workloads/run.hpp"
#include "workloads/trivial_machine.hpp"

namespace {

using namespace substrata::workloads;

// The floor: the arithmetic of stream on plain arrays, 6 loads and 4 stores an element and round.
void BM_PlainStream(benchmark::State& state) {
  constexpr std::size_t kElements = 65536;
  std::vector<double> a(kElements), b(kElements), c(kElements);
  std::uint64_t references = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kElements; ++i) a[i] = static_cast<double>(i % 1000);
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < kElements; ++i) c[i] = a[i];
      benchmark::ClobberMemory();
      for (std::size_t i = 0; i < kElements; ++i) b[i] = 0.375 * c[i];
      benchmark::ClobberMemory();
      for (std::size_t i = 0; i < kElements; ++i) c[i] = a[i] + b[i];
      benchmark::ClobberMemory();
      for (std::size_t i = 0; i < kElements; ++i) a[i] = b[i] + 0.375 * c[i];
      benchmark::ClobberMemory();
    }
    references += kElements * (1 + 10 * 10);
  }
  state.counters["refs"] = benchmark::Counter(static_cast<double>(references), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_PlainStream)->Unit(benchmark::kMillisecond);

void BM_Generate(benchmark::State& state, const char* spec) {
  std::uint64_t references = 0;
  for (auto _ : state) {
    TrivialMachine machine({.quantum = 100000});
    const Report report =
        run_workload(spec, 1, machine, {.processes = static_cast<ProcessId>(state.range(0))});
    if (!report.correct) state.SkipWithError(report.message.c_str());
    references += report.outcome.reads + report.outcome.writes;
  }
  state.counters["refs"] = benchmark::Counter(static_cast<double>(references), benchmark::Counter::kIsRate);
}
// Set-up and the check of the result are part of the time.
BENCHMARK_CAPTURE(BM_Generate, stream, "stream:rounds=10")->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Generate, radix, "radix:keys=1048576")->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Generate, fft, "fft:points=262144")->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Generate, lu, "lu:n=384")->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
