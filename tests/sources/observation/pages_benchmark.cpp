// What observing page faults costs, and what a fetch of shared pages costs beside a copy.
#include <benchmark/benchmark.h>
#include <substrata/feed.h>
#include <substrata/pages.h>
#include <substrata/shared_pages.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <substrata/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPages = 4096;
constexpr std::size_t kPage = 4096;

void touch(benchmark::State& state, substrata_page_faults* faults) {
  for (auto _ : state) {
    state.PauseTiming();
    void* mapped = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      state.SkipWithError("no memory");
      return;
    }
    madvise(mapped, kPages * kPage, MADV_NOHUGEPAGE);
    state.ResumeTiming();
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(mapped)[i * kPage] = 1;
    if (faults != nullptr) substrata_page_faults_collect(faults, nullptr);
    state.PauseTiming();
    munmap(mapped, kPages * kPage);
    state.ResumeTiming();
  }
  state.counters["per_fault"] =
      benchmark::Counter(static_cast<double>(kPages) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The floor: the fault itself.
void floor_fault(benchmark::State& state) { touch(state, nullptr); }
BENCHMARK(floor_fault);

// The same with its address reported to one counting observer.
void observed_fault(benchmark::State& state) {
  unsigned long long seen = 0;
  substrata_observer* observer = nullptr;
  substrata_observer_create([](void* owner, const substrata_transaction*,
                               size_t count) { *static_cast<unsigned long long*>(owner) += count; },
                            &seen, 0, &observer);
  substrata_subscribe(observer, "os.*");
  substrata_page_faults* faults = nullptr;
  if (substrata_page_faults_start(nullptr, &faults) != 0) {
    state.SkipWithError(substrata_feed_error());
  } else {
    touch(state, faults);
    substrata_page_faults_stop(faults);
  }
  substrata_observer_destroy(observer);
}
BENCHMARK(observed_fault);

constexpr std::size_t kSharedPages = 512;

substrata_shared_pages* open_shared(const std::string& name, uint32_t process) {
  auto options = substrata::client::sized<substrata_shared_pages_options>();
  options.processes = 2;
  options.process = process;
  options.page_bytes = static_cast<uint32_t>(kPage);
  options.bytes = 2 * kSharedPages * kPage;
  options.name = name.c_str();
  substrata_shared_pages* memory = nullptr;
  return substrata_shared_pages_open(&options, &memory) == 0 ? memory : nullptr;
}

volatile unsigned* first_word(substrata_shared_pages* memory, std::size_t page) {
  return static_cast<volatile unsigned*>(substrata_shared_pages_memory(memory)) +
         page * kPage / sizeof(unsigned);
}

// The floor of a fetch: copying as many pages.
void floor_copy_pages(benchmark::State& state) {
  std::vector<char> from(kSharedPages * kPage, 1);
  std::vector<char> to(kSharedPages * kPage);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kSharedPages; ++i) std::memcpy(&to[i * kPage], &from[i * kPage], kPage);
    benchmark::ClobberMemory();
  }
  state.counters["per_page"] =
      benchmark::Counter(static_cast<double>(kSharedPages) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(floor_copy_pages);

// This process reads, or stores to, pages that another one has changed: signal, copy, twin, protection.
void fetch(benchmark::State& state, bool store) {
  const std::string name = "bench-" + std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    substrata_shared_pages* const memory = open_shared(name, 0);
    if (memory == nullptr) _exit(1);
    // Its own last page but one says when to end.
    for (unsigned round = 1; *first_word(memory, kSharedPages) == 0; ++round) {
      for (std::size_t page = 0; page < kSharedPages; ++page) *first_word(memory, page) = round;
      if (substrata_shared_pages_barrier(memory) != 0 || substrata_shared_pages_barrier(memory) != 0)
        _exit(1);
    }
    substrata_shared_pages_close(memory);
    _exit(0);
  }
  substrata_shared_pages* const memory = open_shared(name, 1);
  if (memory == nullptr) {
    state.SkipWithError(substrata_feed_error());
    return;
  }
  for (auto _ : state) {
    substrata_shared_pages_barrier(memory);
    const auto begin = std::chrono::steady_clock::now();
    unsigned sum = 0;
    for (std::size_t page = 0; page < kSharedPages; ++page) {
      if (store) {
        first_word(memory, page)[1] = 1;
      } else {
        sum += *first_word(memory, page);
      }
    }
    benchmark::DoNotOptimize(sum);
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    substrata_shared_pages_barrier(memory);
  }
  substrata_shared_pages_barrier(memory);
  *first_word(memory, kSharedPages) = 1;
  substrata_shared_pages_barrier(memory);
  state.counters["per_page"] =
      benchmark::Counter(static_cast<double>(kSharedPages) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  substrata_shared_pages_close(memory);
  int status = 0;
  waitpid(child, &status, 0);
}
void fetch_shared_pages(benchmark::State& state) { fetch(state, false); }
BENCHMARK(fetch_shared_pages)->UseManualTime()->Iterations(200);
void fetch_and_twin_shared_pages(benchmark::State& state) { fetch(state, true); }
BENCHMARK(fetch_and_twin_shared_pages)->UseManualTime()->Iterations(200);

}  // namespace

BENCHMARK_MAIN();
