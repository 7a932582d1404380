// What Owl costs a transaction: dispatch to a module, the histogram, a packet into the ring, each beside its
// floor.
#include <benchmark/benchmark.h>
#include <substrata/owl.h>
#include <substrata/feed.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "owl/counter_array.hpp"
#include "owl/ring.hpp"

namespace {

constexpr size_t kBatch = 512;

std::vector<substrata_transaction> batch_of(uint64_t blocks) {
  std::vector<substrata_transaction> batch(kBatch);
  uint64_t state = 1;
  for (substrata_transaction& t : batch) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    t.address = (state >> 33) % blocks * 64;
    t.kind = SUBSTRATA_READ;
    t.size = 8;
  }
  return batch;
}

// A module that does nothing but count, so that what remains is the way to it.
struct Nothing {
  uint64_t seen = 0;
};
void nothing_cost(const substrata_owl_module*, const uint64_t*, substrata_owl_cost* out) { *out = {}; }
const char* nothing_create(const substrata_owl_module*, const uint64_t*, const substrata_owl_services*,
                           void** instance) {
  *instance = new Nothing;
  return nullptr;
}
void nothing_destroy(void* instance) { delete static_cast<Nothing*>(instance); }
void nothing_observe(void* instance, const substrata_transaction*, size_t count) {
  static_cast<Nothing*>(instance)->seen += count;
}
void nothing_read(void*, uint64_t*) {}
const substrata_owl_module kNothing{sizeof(substrata_owl_module),
                                    SUBSTRATA_OWL_MODULE_ABI,
                                    "nothing",
                                    "does nothing",
                                    "",
                                    nullptr,
                                    0,
                                    0,
                                    nullptr,
                                    nothing_cost,
                                    nothing_create,
                                    nothing_destroy,
                                    nothing_observe,
                                    nullptr,
                                    nothing_read,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr,
                                    nullptr};

class Source {
 public:
  void publish(std::vector<substrata_transaction>& batch) {
    for (substrata_transaction& t : batch) t.probe = static_cast<uint16_t>(publisher_.probe());
    publisher_.publish_all(batch);
  }

 private:
  substrata::client::feed::Publisher publisher_ =
      substrata::client::feed::Source::generated("owl-benchmark", "made by a benchmark")
          .publisher("owl.benchmark", "of a benchmark", kBatch)
          .value();
};

void per_transaction(benchmark::State& state) {
  state.counters["ns/transaction"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBatch,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void run_capsule(benchmark::State& state, const char* module, const char* registers, uint64_t blocks) {
  static_cast<void>(substrata_owl_add(&kNothing));  // refused the second time
  Source source;
  auto options = substrata::client::sized<substrata_owl_capsule_options>();
  options.probes = "owl.benchmark";
  options.module = module;
  options.registers = registers;
  options.policy = SUBSTRATA_OWL_OVERWRITE_OLD;
  substrata_owl_capsule* capsule = nullptr;
  if (substrata_owl_attach(&options, &capsule) != 0 || substrata_owl_start(capsule) != 0) {
    state.SkipWithError(substrata_owl_error());
    return;
  }
  std::vector<substrata_transaction> batch = batch_of(blocks);
  for (auto _ : state) source.publish(batch);
  per_transaction(state);
  substrata_owl_detach(capsule);
}

void floor_direct_call(benchmark::State& state) {
  Nothing nothing;
  std::vector<substrata_transaction> batch = batch_of(32);
  for (auto _ : state) {
    nothing_observe(&nothing, batch.data(), batch.size());
    benchmark::DoNotOptimize(nothing.seen);
  }
  per_transaction(state);
}
void dispatch(benchmark::State& state) { run_capsule(state, "nothing", "", 32); }
void floor_array_increment(benchmark::State& state) {
  std::vector<uint64_t> bins(4096);
  const std::vector<substrata_transaction> batch = batch_of(4096);
  for (auto _ : state) {
    for (const substrata_transaction& t : batch) ++bins[t.address / 64];
    benchmark::DoNotOptimize(bins.data());
    benchmark::ClobberMemory();
  }
  per_transaction(state);
}
void histogram_hits(benchmark::State& state) { run_capsule(state, "histogram", "counters=64", 60); }
// Every eighth block has no counter, the paper's bound of the injection rate.
void histogram_eighth_misses(benchmark::State& state) { run_capsule(state, "histogram", "counters=64", 73); }
void histogram_half_misses(benchmark::State& state) { run_capsule(state, "histogram", "counters=64", 128); }

// Half of the transactions are writes, in no order.
std::vector<substrata_transaction> mixed_batch() {
  std::vector<substrata_transaction> batch = batch_of(64);
  uint64_t state = 7;
  for (substrata_transaction& t : batch) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (state >> 63 != 0) t.kind = SUBSTRATA_WRITE;
  }
  return batch;
}
void floor_filter_and_count(benchmark::State& state) {
  const std::vector<substrata_transaction> batch = mixed_batch();
  uint64_t count = 0;
  for (auto _ : state) {
    for (const substrata_transaction& t : batch) count += t.kind == SUBSTRATA_WRITE;
    benchmark::DoNotOptimize(count);
    benchmark::ClobberMemory();
  }
  per_transaction(state);
}
void run_query(benchmark::State& state, const std::string& text) {
  Source source;
  std::FILE* const file = std::fopen("/dev/null", "w");
  substrata_owl_query* query = nullptr;
  if (substrata_owl_query_start(text.data(), text.size(), "-e", fileno(file), &query) != 0) {
    state.SkipWithError(substrata_owl_error());
    return;
  }
  std::vector<substrata_transaction> batch = mixed_batch();
  for (auto _ : state) source.publish(batch);
  per_transaction(state);
  substrata_owl_query_stop(query);
  std::fclose(file);
}
void filter_and_count(benchmark::State& state) { run_query(state, "owl.benchmark: filter(write) -> count"); }
void long_filter_and_count(benchmark::State& state) {
  run_query(state, "owl.benchmark: filter(write && size >= 4 && address < 1m) -> count");
}
void filter_and_count_by_key(benchmark::State& state) {
  run_query(state, "owl.benchmark: filter(write) -> count, sum(size) by address");
}
void count_by_state(benchmark::State& state) {
  run_query(
      state,
      "owl.benchmark: filter(last[address] != size) -> count; owl.benchmark: set(last[address] = size)");
}

void floor_copy(benchmark::State& state) {
  std::vector<uint64_t> to(4096);
  uint64_t at = 0;
  for (auto _ : state) {
    uint64_t* const out = &to[at++ & 4095];
    *out = at;
    benchmark::DoNotOptimize(out);
  }
}
void ring_push(benchmark::State& state) {
  substrata::owl::RingProducer ring;
  if (ring.create(nullptr, 1 << 20, SUBSTRATA_OWL_OVERWRITE_OLD, 100) != 0) {
    state.SkipWithError("no ring");
    return;
  }
  ring.publish();
  uint64_t value = 0;
  bool near_full = false;
  for (auto _ : state) {
    ++value;
    benchmark::DoNotOptimize(ring.push(&value, sizeof value, 0, &near_full));
  }
}

BENCHMARK(floor_direct_call);
BENCHMARK(dispatch);
BENCHMARK(floor_array_increment);
BENCHMARK(histogram_hits);
BENCHMARK(histogram_eighth_misses);
BENCHMARK(histogram_half_misses);
BENCHMARK(floor_filter_and_count);
BENCHMARK(filter_and_count);
BENCHMARK(long_filter_and_count);
BENCHMARK(filter_and_count_by_key);
BENCHMARK(count_by_state);
BENCHMARK(floor_copy);
BENCHMARK(ring_push);

}  // namespace

BENCHMARK_MAIN();
