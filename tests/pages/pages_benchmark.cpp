// What observing page faults costs: the first touch of fresh pages with and without it.
#include <benchmark/benchmark.h>
#include <substrata/feed.h>
#include <substrata/pages.h>
#include <sys/mman.h>

#include <cstddef>

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
void BM_BareFault(benchmark::State& state) { touch(state, nullptr); }
BENCHMARK(BM_BareFault);

// The same with its address told to one counting observer.
void BM_ObservedFault(benchmark::State& state) {
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
BENCHMARK(BM_ObservedFault);

}  // namespace

BENCHMARK_MAIN();
