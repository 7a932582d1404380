// Which arrays of a program go through the bus behind the first cache: a capsule there hosts the module
// "histogram", and what it writes to main memory is summed up by array.
//
//   owl_arrays [WORKLOAD]      (default radix:keys=32768)
#include <substrata/feed.h>
#include <substrata/owl.hpp>
#include <substrata/result.hpp>

#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>

using substrata::owl_monitor::Capsule;
using substrata::owl_monitor::Packet;
using substrata::owl_monitor::Reader;

namespace {

// The histogram's packets are key, transactions and misses.
void add_up(Reader& reader, std::map<std::string, std::uint64_t>& lines) {
  for (Packet packet; reader.next(packet);) {
    std::uint64_t words[3];
    if (packet.data.size() != sizeof words) continue;
    std::memcpy(words, packet.data.data(), sizeof words);
    const char* const array = substrata_owl_object_at(words[0]);
    lines[array != nullptr ? array : "(no array)"] += words[1];
  }
}

void run(const char* workload) {
  auto options = substrata::client::sized<substrata_run_options>();
  options.processes = 1;
  auto result = substrata::client::sized<substrata_run_result>();
  if (substrata_run("memory", workload, &options, &result) != 0)
    throw std::runtime_error(substrata_feed_error());
}

int report(const char* workload) {
  // The probe point, the module, its registers, and a ring large enough to be read at the end.
  Capsule capsule("mem.cpu0.l1-l2", "histogram", "counters=64:block=64", 16 << 20);
  run(workload);
  capsule.write_back();
  std::map<std::string, std::uint64_t> lines;
  Reader reader = capsule.reader();
  add_up(reader, lines);

  const substrata_owl_statistics seen = capsule.statistics();
  std::uint64_t sum = 0;
  for (const auto& [array, count] : lines) {
    std::printf("%-24s %10llu lines\n", array.c_str(), static_cast<unsigned long long>(count));
    sum += count;
  }
  std::printf("%-24s %10llu lines in %llu packets, %llu dropped\n", "together",
              static_cast<unsigned long long>(sum), static_cast<unsigned long long>(seen.packets_injected),
              static_cast<unsigned long long>(seen.dropped));
  return seen.dropped == 0 && sum == seen.events_seen ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return report(argc > 1 ? argv[1] : "radix:keys=32768");
  } catch (const std::exception& refusal) {
    std::fprintf(stderr, "%s: %s\n", argv[0], refusal.what());
    return 1;
  }
}
