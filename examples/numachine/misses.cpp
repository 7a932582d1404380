// How long the misses of a workload take on the modelled NUMAchine and which variables cause them: the card's
// counters and its SRAM as a latency histogram, and the report by data object.
//
//   numachine_misses [workload [processors]]       numachine_misses false-sharing:rounds=200 8
#include <substrata/numachine.hpp>
#include <substrata/result.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace numachine = substrata::numachine_monitor;

namespace {

constexpr std::uint32_t kObserved = 0;  // the processor whose card is read

void measure(const std::string& workload, std::uint32_t processors) {
  numachine::reset().value();
  const numachine::Card card = numachine::Card::of(kObserved).value();
  auto waited = card.arm(0, numachine::cycles_of(numachine::Event::kReadOrExclusive)).value();
  auto requests = card.arm(1, numachine::occurrences_of(numachine::Event::kReadOrExclusive)).value();
  auto stalled = card.arm(2, numachine::pipeline(0x62)).value();  // idle in the secondary cache's stalls
  auto invalidated = card.arm(3, numachine::occurrences_of(numachine::Event::kInvalidationMiss)).value();
  // SRAM counts received responses by their latency in the compact timer's 128 buckets, which is the middle
  // field of its address (tables 4.6 and 4.7).
  card.write(SUBSTRATA_NUMACHINE_SCM, 6U << 11 | 1U << 9 | 1U << 0 | 3U << 20 | 1U << 15).value();
  card.write(SUBSTRATA_NUMACHINE_SRAMCE, 1).value();

  auto options = substrata::client::sized<substrata_run_options>();
  options.processes = processors;
  auto result = substrata::client::sized<substrata_run_result>();
  if (const int code = substrata_run("numachine", workload.c_str(), &options, &result); code != 0)
    throw substrata::client::Failure({code, substrata_feed_error()});
  std::printf("%s\n\n", result.message);

  const numachine::BusCycles cycles = waited.read().value();
  const numachine::Occurrences reads = requests.read().value();
  const auto stall = std::chrono::duration<double, std::micro>(stalled.read().value());
  std::printf(
      "processor %u, modelled: %llu reads and read exclusives, %.1f bus cycles each; stalled for %.1f us\n",
      card.processor(), static_cast<unsigned long long>(reads.count),
      reads.count == 0 ? 0.0 : static_cast<double>(cycles.count()) / static_cast<double>(reads.count),
      stall.count());
  std::printf("invalidation misses, as the card estimates them: %llu\n\n",
              static_cast<unsigned long long>(invalidated.read().value().count));

  std::printf("%-14s requests\n", "bus cycles");
  const std::vector<std::uint32_t> words = card.sram().value();
  for (std::uint32_t compact = 0; compact < 128; ++compact) {
    std::uint64_t count = 0;
    for (std::uint32_t word = compact << 4; word < words.size(); word += 1U << 11) {
      for (std::uint32_t low = 0; low < 16; ++low) count += words[word + low];
    }
    if (count == 0) continue;
    const numachine::Bucket bucket = numachine::bucket(compact).value();
    std::printf("%5llu - %-6llu %8llu\n", static_cast<unsigned long long>(bucket.first.count()),
                static_cast<unsigned long long>(bucket.last.count()), static_cast<unsigned long long>(count));
  }

  std::printf("\n%-16s %10s %13s %10s  %s\n", "object", "other", "invalidation", "ownership", "cause");
  for (const numachine::Object& object : numachine::objects().value()) {
    std::printf("%-16s %10llu %13llu %10llu  %s\n", object.name,
                static_cast<unsigned long long>(object.other_misses),
                static_cast<unsigned long long>(object.invalidation_misses),
                static_cast<unsigned long long>(object.ownership_misses), object.cause);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(argc > 1 ? argv[1] : "radix:keys=16384",
            argc > 2 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 8);
    return 0;
  } catch (const substrata::client::Failure& failure) {
    std::fprintf(stderr, "numachine_misses: %s\n", failure.what());
    return 1;
  }
}
