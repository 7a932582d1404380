// substrata probes: sources and probe points, of the feed or of a trace.
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

// Counts what passes at every probe point.
struct Passing {
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(65536);
  static void take(void* owner, const substrata_transaction* batch, std::size_t count) {
    if (count != 0) static_cast<Passing*>(owner)->counts[batch->probe] += count;
  }
};

const char* time_base_name(std::uint32_t base) {
  constexpr const char* kNames[] = {"sequence numbers", "real time", "virtual time", "simulated time"};
  return base < 4 ? kNames[base] : "unknown";
}

int list_trace(const std::string& path) {
  const client::feed::Trace trace = client::feed::Trace::open(path.c_str()).value();
  const substrata_trace_info info = trace.describe().value();
  std::printf("%s: %llu transactions in %llu blocks, %llu bytes, %s\n", path.c_str(),
              static_cast<unsigned long long>(info.transactions),
              static_cast<unsigned long long>(info.blocks), static_cast<unsigned long long>(info.file_bytes),
              info.complete != 0 ? "complete" : "cut off");
  if (info.comment != nullptr && info.comment[0] != '\0') std::printf("%s\n", info.comment);
  for (std::uint32_t i = 0; i < info.probes; ++i) {
    const auto probe = trace.probe(i);
    if (!probe) break;
    std::printf("  %-40s %12llu  %s\n", probe->name, static_cast<unsigned long long>(probe->delivered),
                probe->text);
  }
  if (info.damage != nullptr) {
    std::fprintf(stderr, "%s\n", info.damage);
    return 1;
  }
  return 0;
}

// The transactions of a trace from that number on.
int show_transactions(const std::string& path, std::uint64_t from) {
  constexpr int kShown = 20;
  const client::feed::Trace trace = client::feed::Trace::open(path.c_str()).value();
  trace.seek(from).value();
  std::printf("%12s %16s %-32s %18s %10s %5s %6s  from > to\n", "number", "time", "probe point", "address",
              "bytes", "kind", "state");
  for (int shown = 0; shown < kShown;) {
    const auto batch = trace.next().value();
    if (batch.empty()) break;
    const substrata_probe_info probe = trace.probe(batch.front().probe).value();
    for (const substrata_transaction& one :
         batch.first(std::min<std::size_t>(batch.size(), kShown - shown))) {
      std::printf("%12llu %16llu %-32s %#18llx %10u %5u %6u  %u > %u\n",
                  static_cast<unsigned long long>(from++), static_cast<unsigned long long>(one.time),
                  probe.name, static_cast<unsigned long long>(one.address), one.size, one.kind, one.state,
                  one.initiator, one.target);
      ++shown;
    }
  }
  return 0;
}

}  // namespace

int probes(int argc, char** argv) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::string file, machine, workload;
  std::uint64_t nodes = 0, from = kNone;
  Arguments arguments(
      "substrata probes",
      "Lists sources and probe points. Machines create theirs when they run: name one with its "
      "workload to see them and their transactions.\n\n"
      "  substrata probes                          sources and probe points that always exist\n"
      "  substrata probes -m shrimp -w fft -n 4    the probe points of a machine\n"
      "  substrata probes lu.trace                 the probe points of a trace\n"
      "  substrata probes lu.trace --from 1000     20 of its transactions, from number 1000 on");
  arguments.word("FILE", file, "list the probe points of this trace", Arguments::Value::kFile);
  arguments.word("-m,--machine", machine, "run this machine first", Arguments::Value::kMachine);
  arguments.word("-w,--workload", workload, "workload to run", Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "number of processors or nodes");
  arguments.number("--from", from, "show transactions of the trace, from this number on; the first is 0");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (from != kNone && file.empty()) throw std::runtime_error("--from goes with a trace");
  if (from != kNone) return show_transactions(file, from);
  if (!file.empty()) return list_trace(file);
  if (machine.empty() != workload.empty()) throw std::runtime_error("--machine and --workload go together");
  start_library();

  Passing passing;
  client::feed::Observer observer;
  if (!machine.empty()) {
    client::feed::demand(observer.try_create(Passing::take, &passing));
    observer.subscribe("*").value();
    auto options = client::sized<substrata_run_options>();
    options.processes = static_cast<std::uint32_t>(nodes);
    options.seed = 1;
    auto result = client::sized<substrata_run_result>();
    if (substrata_run(machine.c_str(), workload.c_str(), &options, &result) != 0)
      throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
  std::printf("Sources:\n");
  for (std::uint32_t i = 0; i < substrata_source_count(); ++i) {
    auto source = client::sized<substrata_source_info>();
    if (substrata_source_at(i, &source) != 0) break;
    std::printf("  %-14s %s (%s)\n", source.name, source.summary, time_base_name(source.time_base));
    if (source.why_not != nullptr) std::printf("  %-14s not available: %s\n", "", source.why_not);
  }
  std::printf("\nProbe points:\n");
  for (std::uint32_t i = 0; i < substrata_probe_count(); ++i) {
    auto probe = client::sized<substrata_probe_info>();
    if (substrata_probe_at(i, &probe) != 0) break;
    std::printf("  %-32s %12llu  %s\n", probe.name, static_cast<unsigned long long>(passing.counts[i]),
                probe.text);
  }
  return 0;
}

}  // namespace substrata::tool
