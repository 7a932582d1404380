// Queries of any bytes on transactions of any bytes: what is read is run, twice, with all transactions in one batch and
// with each by itself, and both give the same packets.
#include <substrata/owl_module.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "owl/composition.hpp"
#include "owl/composition_parts.hpp"

namespace {

using namespace substrata::owl;

constexpr uint64_t kMostBytes = 48 << 20;  // of tables and states in one run
constexpr size_t kMostTransactions = 300;

// What came out of each sub-module: packets, and a sum over their bytes in their order.
struct Emitted {
  std::vector<std::pair<uint64_t, uint64_t>> stages = std::vector<std::pair<uint64_t, uint64_t>>(512);
  uint64_t signals = 0;
  void add(const void* packet, uint32_t bytes, uint32_t stage) {
    if (stage >= stages.size()) std::abort();
    auto& [count, sum] = stages[stage];
    ++count;
    for (uint32_t i = 0; i < bytes; ++i)
      sum = (sum ^ static_cast<const unsigned char*>(packet)[i]) * 0x100000001B3u;
  }
  static Emitted& of(void* capsule) { return *static_cast<Emitted*>(capsule); }
};

// 16 bytes make a transaction, with few different keys and times that grow.
std::vector<Transaction> transactions_of(const uint8_t* data, size_t size) {
  std::vector<Transaction> made(std::min(kMostTransactions, size / 16));
  uint64_t time = 0;
  for (Transaction& t : made) {
    t.kind = data[0] % 64;
    t.state = data[1] % 64;
    t.address = uint64_t{data[2] % 16u} << (data[3] % 40);
    t.site = data[6];
    t.size = data[7];
    t.initiator = data[8] % 8;
    t.target = data[9] % 8;
    t.phase = data[10] % 4;
    t.flags = data[11] % 16;
    t.detail = uint64_t{data[12]} << (data[13] % 64);
    t.time = time += data[14];
    t.start = t.time - data[15];
    data += 16;
  }
  return made;
}

// Its sub-modules send signals to this process, write into a file, or depend on the time of the run.
bool acts(const Composition& composition) {
  return std::any_of(composition.stages.begin(), composition.stages.end(), [](const Stage& each) {
    return each.kind == StageKind::kKill || each.kind == StageKind::kMark || each.every.ns != 0;
  });
}

uint64_t memory_of(const Composition& composition) {
  const uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  Cost cost{};
  composition.module.cost(&composition.module, registers, &cost);
  uint64_t bytes = cost.table_bits / 8;
  for (const State& each : composition.states) bytes += reserved_by(each);
  return bytes;
}

Emitted run(const Composition& composition, const std::vector<Transaction>& transactions, size_t batch) {
  const Module& module = composition.module;
  Emitted out;
  const substrata_owl_services services{
      sizeof services,
      SUBSTRATA_OWL_MODULE_ABI,
      &out,
      [](void* capsule, const void* packet, uint32_t bytes) { Emitted::of(capsule).add(packet, bytes, 0); },
      [](void* capsule, const void* packet, uint32_t bytes, uint32_t stage) {
        Emitted::of(capsule).add(packet, bytes, stage);
      },
      [](void*, const Transaction*, size_t) { std::abort(); },
      [](void* capsule, const Transaction*, uint32_t) { ++Emitted::of(capsule).signals; }};
  const uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  void* instance = nullptr;
  if (module.create(&module, registers, &services, &instance) != nullptr) return out;
  for (size_t at = 0; at < transactions.size(); at += batch)
    module.observe(instance, transactions.data() + at, std::min(batch, transactions.size() - at));
  uint64_t metrics[SUBSTRATA_OWL_MOST_METRICS] = {};
  module.read(instance, metrics);
  module.write_back(instance);
  module.destroy(instance);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* const zero = std::find(data, data + size, uint8_t{0});
  const std::string_view text(reinterpret_cast<const char*>(data), static_cast<size_t>(zero - data));
  std::shared_ptr<const Composition> composition;
  if (compose_query(text, "fuzz", false, &composition) != 0 || acts(*composition)) return 0;
  if (memory_of(*composition) > kMostBytes) return 0;
  // All chains take all transactions, as there is no probe point.
  for (const Input& each : composition->inputs) const_cast<Input&>(each).pattern.clear();
  const auto left = static_cast<size_t>(data + size - zero);
  const std::vector<Transaction> transactions =
      left < 2 ? std::vector<Transaction>(3) : transactions_of(zero + 1, left - 1);
  const Emitted whole = run(*composition, transactions, std::max<size_t>(transactions.size(), 1));
  const Emitted single = run(*composition, transactions, 1);
  if (whole.stages != single.stages || whole.signals != single.signals) {
    std::fprintf(stderr, "one batch and single transactions give different packets\n");
    std::abort();
  }
  return 0;
}
