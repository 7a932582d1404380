// An all-to-all exchange on the modelled Myrinet cluster in two ways: everybody in the same order of
// receivers, and each beginning with its neighbour. Prints the time of each and where the packets waited.
#include <cstdint>
#include <cstdio>
#include <substrata/myrinet.hpp>
#include <vector>

namespace {

namespace myrinet = substrata::myrinet_monitor;
using namespace std::chrono_literals;

constexpr std::uint32_t kNodes = 8;
constexpr substrata::client::Bytes kBlock{4096};

std::vector<myrinet::Process> exchange(bool staggered) {
  std::vector<myrinet::Process> processes(kNodes);
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    for (std::uint32_t step = 0; step < kNodes; ++step) {
      const std::uint32_t to = staggered ? (node + step) % kNodes : step;
      if (to != node) processes[node].send(to, kBlock);
    }
    for (std::uint32_t from = 0; from < kNodes; ++from)
      if (from != node) processes[node].receive(from, 1);
    processes[node].compute(10us);
  }
  return processes;
}

void show(const char* what, bool staggered) {
  const myrinet::Carried ran = myrinet::Carried::run(exchange(staggered)).value();
  const myrinet::Counts counts = ran.counts().value();
  std::printf("%s: %lld packets, %.0f us (modelled)\n", what, static_cast<long long>(counts.received.count),
              std::chrono::duration<double, std::micro>(ran.simulated()).count());
  for (const myrinet::Point& point : ran.signature(myrinet::Axis::kSize).value()) {
    const auto average = [&](myrinet::Latency latency) {
      return std::chrono::duration<double, std::micro>(point.of(latency).average).count();
    };
    std::printf("  %u to %u bytes: source %.1f, LANai %.1f, net %.1f, destination %.1f us\n", point.first,
                point.last, average(myrinet::Latency::kSource), average(myrinet::Latency::kLanai),
                average(myrinet::Latency::kNet), average(myrinet::Latency::kDest));
  }
}

}  // namespace

int main() {
  try {
    show("everybody sends to node 0 first", false);
    show("everybody sends to its neighbour first", true);
  } catch (const substrata::client::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
