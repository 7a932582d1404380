// What a packet costs the model: a board's histogram update, and the way through the feed, beside a bare
// increment of a random word of an array as large as the histogram.
#include <benchmark/benchmark.h>
#include <substrata/feed.h>

#include <cstdint>
#include <vector>

#include "shrimp/board.hpp"
#include "shrimp/probes.hpp"
#include "shrimp/rack.hpp"

namespace {

using namespace substrata::shrimp;

constexpr size_t kPackets = 1 << 16;
constexpr size_t kAtOnce = 64;

// Pseudo-random variables whose addresses spread over the whole histogram.
std::vector<uint64_t> scattered() {
  std::vector<uint64_t> all(kPackets);
  uint64_t random = 1;
  for (uint64_t& one : all) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    one = random >> 16;
  }
  return all;
}

void floor_random_increment(benchmark::State& state) {
  std::vector<uint64_t> words(1 << 20);
  const std::vector<uint64_t> all = scattered();
  for (auto _ : state) {
    for (const uint64_t one : all) ++words[one & 0xfffff];
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPackets));
}
BENCHMARK(floor_random_increment);

// The multiplexer and the memory: variables in, histogram updated, threshold compared.
void histogram_update(benchmark::State& state) {
  Board board;
  const std::vector<uint64_t> all = scattered();
  board.initialise(0, board.words(), 1);
  for (auto _ : state) {
    for (size_t i = 0; i < kPackets; i += kAtOnce) board.record(&all[i], &all[i], kAtOnce, false);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPackets));
}
BENCHMARK(histogram_update);

// As the floor, with the transactions that the next one reads.
std::vector<substrata_transaction> packets(uint16_t probe) {
  std::vector<substrata_transaction> all(kPackets);
  const std::vector<uint64_t> variables = scattered();
  for (size_t i = 0; i < kPackets; ++i) {
    substrata_transaction& t = all[i];
    t.time = 1'000'000 * i + 3'000'000;
    t.start = 1'000'000 * i;
    t.initiator = static_cast<uint32_t>(variables[i] & 0xff);
    t.size = static_cast<uint32_t>(variables[i] >> 8 & 0xfff);
    t.kind = SUBSTRATA_PACKET;
    t.probe = probe;
  }
  return all;
}

// From a publisher's array to the histogram: variables computed, counters kept.
void packets_through_the_feed(benchmark::State& state) {
  const Probes probes(1);
  uint32_t number = 0;
  substrata_probe_find("shrimp.node0.receive", &number);
  const std::vector<substrata_transaction> all = packets(static_cast<uint16_t>(number));
  substrata_publisher* publisher = nullptr;
  substrata_publisher_open(number, 0, &publisher);
  rack().power_on();
  if (!rack().begin().ok()) state.SkipWithError("the boards do not begin");
  for (auto _ : state) substrata_publish_all(publisher, all.data(), all.size());
  substrata_publisher_close(publisher);
  rack().end();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPackets));
}

// The floor of the way through the feed: reads the same transactions and increments a word for each.
void floor_read_and_increment(benchmark::State& state) {
  std::vector<uint64_t> words(1 << 20);
  const std::vector<substrata_transaction> all = packets(0);
  for (auto _ : state) {
    for (const substrata_transaction& t : all) ++words[(t.initiator << 12 | t.size) & 0xfffff];
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kPackets));
}
BENCHMARK(floor_read_and_increment);
BENCHMARK(packets_through_the_feed);

}  // namespace

BENCHMARK_MAIN();
