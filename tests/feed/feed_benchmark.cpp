// What an append, an unobserved probe and a replay cost, each beside its floor of the same run.
#include <benchmark/benchmark.h>
#include <substrata/feed.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace {

inline void fill(substrata_transaction* t, uint64_t i) {
  *t = {};
  t->time = i;
  t->address = i * 8;
  t->size = 8;
  t->kind = SUBSTRATA_READ;
}

// By value, and without its address ever known elsewhere: a loop keeps the handle in a register, as a source's does.
substrata_publisher* opened(const char* probe) {
  const uint32_t number =
      substrata::client::feed::Source::generated("bench", "benchmark").probe(probe).value();
  substrata_publisher* publisher = nullptr;
  substrata_publisher_open(number, 0, &publisher);
  return publisher;
}

// Appends one transaction for each iteration; returns how many iterations there were.
uint64_t append_in_loop(benchmark::State& state, substrata_publisher* publisher) {
  uint64_t i = 0;
  for (auto _ : state) {
    if (substrata_transaction* slot = substrata_reserve(publisher)) {
      fill(slot, i);
      substrata_commit(publisher);
    }
    benchmark::ClobberMemory();
    ++i;
  }
  return i;
}

void count_batches(void* owner, const substrata_transaction*, size_t count) {
  *static_cast<uint64_t*>(owner) += count;
}

// Floor of append: the same 64 bytes stored into an array of a ring's size.
void floor_store(benchmark::State& state) {
  std::vector<substrata_transaction> ring(512);
  uint64_t i = 0;
  for (auto _ : state) {
    fill(&ring[i & 511], i);
    benchmark::ClobberMemory();
    ++i;
  }
}
BENCHMARK(floor_store);

void append_observed(benchmark::State& state) {
  uint64_t seen = 0;
  substrata_observer* observer = nullptr;
  substrata_publisher* const publisher = opened("bench.append");
  substrata_observer_create(count_batches, &seen, 0, &observer);
  substrata_subscribe(observer, "bench.append");
  const uint64_t i = append_in_loop(state, publisher);
  substrata_flush();
  if (seen != i) state.SkipWithError("transactions were lost");
  substrata_observer_destroy(observer);
  substrata_publisher_close(publisher);
}
BENCHMARK(append_observed);

// Floor of the unobserved probe: the loop alone.
void floor_loop(benchmark::State& state) {
  uint64_t i = 0;
  for (auto _ : state) {
    benchmark::ClobberMemory();
    ++i;
  }
  benchmark::DoNotOptimize(i);
}
BENCHMARK(floor_loop);

void append_unobserved(benchmark::State& state) {
  substrata_publisher* const publisher = opened("bench.unobserved");
  append_in_loop(state, publisher);
  substrata_publisher_close(publisher);
}
BENCHMARK(append_unobserved);

constexpr uint64_t kRecorded = 2'000'000;

// A sort-like pattern: a sequential reader, a scattered writer.
const std::string& recorded_trace() {
  static const std::string path = [] {
    static const substrata::tests::TemporaryFolder folder;
    const std::string name = folder.file("trace");
    substrata_publisher* const publisher = opened("bench.recorded");
    substrata_recorder* recorder = nullptr;
    substrata_record_start(name.c_str(), "bench.recorded", nullptr, &recorder);
    uint64_t random = 1;
    for (uint64_t i = 0; i < kRecorded; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      substrata_transaction* slot = substrata_reserve(publisher);
      fill(slot, i);
      if (i % 2 != 0) {
        slot->kind = SUBSTRATA_WRITE;
        slot->address = 0x10000000 + (random >> 44) * 4;
      }
      substrata_commit(publisher);
    }
    auto summary = substrata::client::sized<substrata_record_summary>();
    substrata_record_stop(recorder, &summary);
    substrata_publisher_close(publisher);
    std::printf("recorded: %.2f bytes a transaction\n",
                static_cast<double>(summary.file_bytes) / static_cast<double>(summary.transactions));
    return name;
  }();
  return path;
}

// Floor of the replay: reading the file's bytes and writing as many transactions as it holds.
void floor_read_and_store(benchmark::State& state) {
  const std::string& path = recorded_trace();
  std::vector<char> bytes(1 << 20);
  std::vector<substrata_transaction> ring(512);
  for (auto _ : state) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    while (std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size()) {
    }
    std::fclose(file);
    for (uint64_t i = 0; i < kRecorded; ++i) fill(&ring[i & 511], i);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRecorded));
}
BENCHMARK(floor_read_and_store)->Unit(benchmark::kMillisecond);

void replay(benchmark::State& state) {
  const std::string& path = recorded_trace();
  uint64_t seen = 0;
  substrata_observer* observer = nullptr;
  substrata_observer_create(count_batches, &seen, 0, &observer);
  substrata_subscribe(observer, "bench.recorded");
  for (auto _ : state) substrata_replay(path.c_str(), nullptr, nullptr);
  if (seen != state.iterations() * kRecorded) state.SkipWithError("transactions were lost");
  substrata_observer_destroy(observer);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRecorded));
}
BENCHMARK(replay)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(std::filesystem::path(recorded_trace()).parent_path());
  return 0;
}
