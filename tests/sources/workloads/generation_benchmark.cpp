// How many references a second the workloads make without a model (FE-12: 100 million), beside the same loops
// on plain memory.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "sources/workloads/catalogue.hpp"
#include "sources/workloads/engine.hpp"
#include "sources/workloads/trivial_machine.hpp"

namespace {

using namespace substrata::workloads;

// The floor: the arithmetic of stream on plain arrays, 6 loads and 4 stores an element and round.
void floor_plain_stream(benchmark::State& state) {
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
BENCHMARK(floor_plain_stream)->Unit(benchmark::kMillisecond);

// Processor time of this thread: others share the machine.
double now_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The run of the processes alone, without making the input tables and without the check of the result.
void generate(benchmark::State& state, const char* spec) {
  std::uint64_t references = 0;
  for (auto _ : state) {
    std::string error;
    const std::unique_ptr<Program> program = make_program(spec, 1, error);
    if (program == nullptr) {
      state.SkipWithError(error.c_str());
      return;
    }
    TrivialMachine machine({.quantum = 100000});
    Memory memory;
    const EngineSettings settings{.processes = static_cast<ProcessId>(state.range(0))};
    program->lay_out(memory, settings.processes);
    memory.commit();
    Engine engine(*program, machine, memory, settings);
    const double begin = now_s();
    const Outcome outcome = engine.run();
    state.SetIterationTime(now_s() - begin);
    if (!outcome.completed || !program->check(memory).empty()) state.SkipWithError("wrong result");
    references += outcome.reads + outcome.writes;
  }
  state.counters["refs"] = benchmark::Counter(static_cast<double>(references), benchmark::Counter::kIsRate);
}
#define SUBSTRATA_GENERATE(name, spec) \
  BENCHMARK_CAPTURE(generate, name, spec)->Arg(1)->Arg(16)->UseManualTime()->Unit(benchmark::kMillisecond)
SUBSTRATA_GENERATE(stream, "stream:rounds=10");
SUBSTRATA_GENERATE(radix, "radix:keys=1048576");
SUBSTRATA_GENERATE(fft, "fft:points=65536");
SUBSTRATA_GENERATE(lu, "lu:n=256");
SUBSTRATA_GENERATE(ocean, "ocean:n=512");

}  // namespace

BENCHMARK_MAIN();
