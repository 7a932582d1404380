// FE-12: what the cache model costs an access, directly and through the feed, beside the cost of reading the
// accesses.
#include <benchmark/benchmark.h>
#include <substrata/feed.h>

#include <vector>

#include "memory/cache_instrument.hpp"
#include "models/cache/cache_model.hpp"

namespace {

using namespace substrata::memory;

// A mix as a sort has it: two streams, a scattered writer over 2 MiB, a hot table.
std::vector<substrata_transaction> accesses(uint16_t probe) {
  std::vector<substrata_transaction> all(1 << 16);
  uint64_t random = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    substrata_transaction& t = all[i];
    t.time = i;
    t.size = 8;
    t.probe = probe;
    t.kind = i % 4 == 3 ? SUBSTRATA_WRITE : SUBSTRATA_READ;
    t.address = i % 4 == 0   ? 0x1000000 + i * 2
                : i % 4 == 1 ? 0x2000000 + (random >> 56) * 8
                : i % 4 == 2 ? 0x3000000 + i * 2
                             : 0x4000000 + (random >> 43);
  }
  return all;
}

void floor_read_accesses(benchmark::State& state) {
  const std::vector<substrata_transaction> all = accesses(0);
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const substrata_transaction& t : all) sum += t.address + t.size + t.kind;
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * all.size()));
}
BENCHMARK(floor_read_accesses);

void cache_model_direct(benchmark::State& state) {
  const std::vector<substrata_transaction> all = accesses(0);
  Caches caches{Geometry{}};
  Counts counts;
  NoTraffic none;
  for (auto _ : state) {
    for (const substrata_transaction& t : all) {
      caches.access(t.address, t.size, t.kind == SUBSTRATA_WRITE, counts, none);
    }
  }
  state.counters["miss"] = static_cast<double>(counts.l1_misses) / static_cast<double>(counts.references);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * all.size()));
}
BENCHMARK(cache_model_direct);

// Sixteen kilobytes again and again: nothing misses after the first turn.
void cache_model_hits(benchmark::State& state) {
  Caches caches{Geometry{}};
  Counts counts;
  NoTraffic none;
  for (auto _ : state) {
    for (uint64_t i = 0; i < uint64_t{1} << 16; ++i)
      caches.access(i * 0x9e3779b97f4a7c15 >> 50, 1, i % 4 == 3, counts, none);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() << 16));
}
BENCHMARK(cache_model_hits);

void cache_model_observing(benchmark::State& state, bool publishing) {
  uint32_t number = 0;
  add_cpu_probe(0, "accesses", &number);
  const std::vector<substrata_transaction> all = accesses(static_cast<uint16_t>(number));
  substrata_publisher* publisher = nullptr;
  substrata_publisher_open(number, 0, &publisher);
  CacheInstrument instrument(Geometry{}, publishing);
  if (!instrument.begin().ok()) state.SkipWithError("the model does not begin");
  for (auto _ : state) {
    for (const substrata_transaction& t : all) substrata_publish(publisher, &t);
  }
  substrata_publisher_close(publisher);
  if (instrument.total()[0].value() != state.iterations() * all.size())
    state.SkipWithError("accesses were lost");
  instrument.end();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * all.size()));
}
BENCHMARK_CAPTURE(cache_model_observing, counting, false);
BENCHMARK_CAPTURE(cache_model_observing, following, true);

}  // namespace

BENCHMARK_MAIN();
