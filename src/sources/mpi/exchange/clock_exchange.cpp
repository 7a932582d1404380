// The shortest of some round trips.
#include "sources/mpi/exchange/clock_exchange.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <unordered_set>

namespace substrata::mpi_exchange {
namespace {

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

ClockOffset best_offset(std::span<const ClockExchange> exchanges) {
  ClockOffset best;
  for (const ClockExchange& one : exchanges) {
    const int64_t way = one.received - one.sent;
    if (way < 0) continue;
    const int64_t half = way / 2 + way % 2 + way / 10'000;
    if (best.uncertainty >= 0 && half >= best.uncertainty) continue;
    best.time = one.sent + way / 2;
    best.offset = one.remote - best.time;
    best.uncertainty = half;
  }
  return best;
}

std::string clock_name() {
  return clock_name(text_of("/proc/sys/kernel/random/boot_id"), text_of("/proc/self/timens_offsets"));
}

std::string clock_name(std::string_view boot, std::string_view offsets) {
  std::string name(boot.substr(0, boot.find('\n')));
  if (name.empty()) return name;
  // "monotonic  SECONDS  NANOSECONDS": what the namespace adds, to CLOCK_MONOTONIC_RAW too.
  const size_t line = offsets.find("monotonic");
  long long seconds = 0, nanoseconds = 0;
  if (line != std::string_view::npos &&
      std::sscanf(std::string(offsets.substr(line)).c_str(), "monotonic %lld %lld", &seconds, &nanoseconds) ==
          2 &&
      (seconds != 0 || nanoseconds != 0))
    name += "/" + std::to_string(seconds) + "." + std::to_string(nanoseconds);
  return name;
}

std::vector<int> clock_leaders(const std::vector<uint64_t>& clock_of_rank) {
  std::vector<int> leaders;
  std::unordered_set<uint64_t> known;
  for (size_t rank = 0; rank < clock_of_rank.size(); ++rank)
    if (known.insert(clock_of_rank[rank]).second && rank != 0) leaders.push_back(static_cast<int>(rank));
  return leaders;
}

}  // namespace substrata::mpi_exchange
