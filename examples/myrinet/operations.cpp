// A workload on the modelled Myrinet cluster, seen from the layer above the packets: how long its page
// fetches, locks, barriers, messages and broadcasts take and which part of a packet's way that is. A rule
// says while it runs where packets wait in their senders' queues. Takes the workload's name; gauss without
// one.
#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <cstdio>
#include <substrata/myrinet.hpp>

namespace {

namespace myrinet = substrata::myrinet_monitor;
using namespace std::chrono_literals;

double in_us(myrinet::Nanoseconds time) { return std::chrono::duration<double, std::micro>(time).count(); }

void run(const char* workload) {
  std::uint64_t firings = 0;
  const myrinet::Watch watch =
      myrinet::Watch::start(myrinet::Rule{.least_packets = 8, .window = 1ms, .ratio = 3},
                            [&](const myrinet::Firing& firing) {
                              if (++firings > 3) return;
                              std::printf("at %.0f ms node %u's packets wait %.0f us, alone %.0f us\n",
                                          std::chrono::duration<double, std::milli>(firing.begin).count(),
                                          firing.node, in_us(firing.average), in_us(firing.idle));
                            })
          .value();
  myrinet::Recording recording = myrinet::Recording::start(myrinet::Shape{}).value();
  auto result = substrata::client::sized<substrata_run_result>();
  if (substrata_run("myrinet", workload, nullptr, &result) != 0)
    throw substrata::client::Failure({PAPI_EINVAL, result.message});
  recording.stop();
  std::printf("%s\nthe rule fired %llu times\n", result.message,
              static_cast<unsigned long long>(watch.fired().value().times));
  std::printf("%-12s %8s %9s %10s %10s | of its packets, us: %9s %9s %9s %9s\n", "operation", "number",
              "packets", "us", "99 % in", "source", "LANai", "net", "dest");
  for (const myrinet::Operations& kind : myrinet::operations().value())
    std::printf("%-12s %8llu %9lld %10.1f %10.1f | %29.1f %9.1f %9.1f %9.1f\n", name_of(kind.kind),
                static_cast<unsigned long long>(kind.ended), static_cast<long long>(kind.packets.count),
                in_us(kind.average), in_us(kind.p99), in_us(kind.of(myrinet::Latency::kSource)),
                in_us(kind.of(myrinet::Latency::kLanai)), in_us(kind.of(myrinet::Latency::kNet)),
                in_us(kind.of(myrinet::Latency::kDest)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "gauss:n=128");
  } catch (const substrata::client::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
