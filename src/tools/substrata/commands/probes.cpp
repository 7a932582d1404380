// substrata probes: sources and probe points, of the feed or of a trace.
#include <substrata/feed.h>

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "arguments/arguments.hpp"
#include "sampler/measuring.hpp"
#include "substrata_tool/commands.hpp"

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

struct DestroyObserver {
  void operator()(substrata_observer* observer) const { substrata_observer_destroy(observer); }
};

struct CloseTrace {
  void operator()(substrata_trace* trace) const { substrata_trace_close(trace); }
};

const char* time_base_name(std::uint32_t base) {
  constexpr const char* kNames[] = {"sequence numbers", "real time", "virtual time", "simulated time"};
  return base < 4 ? kNames[base] : "unknown";
}

int list_trace(const std::string& path) {
  substrata_trace* opened = nullptr;
  if (substrata_trace_open(path.c_str(), &opened) != 0) throw std::runtime_error(substrata_feed_error());
  const std::unique_ptr<substrata_trace, CloseTrace> trace(opened);
  substrata_trace_info info{};
  info.struct_size = sizeof info;
  substrata_trace_describe(trace.get(), &info);
  std::printf("%s: %llu transactions in %llu blocks, %llu bytes, %s\n", path.c_str(),
              static_cast<unsigned long long>(info.transactions),
              static_cast<unsigned long long>(info.blocks), static_cast<unsigned long long>(info.file_bytes),
              info.complete != 0 ? "complete" : "cut off");
  if (info.comment != nullptr && info.comment[0] != '\0') std::printf("%s\n", info.comment);
  for (std::uint32_t i = 0; i < info.probes; ++i) {
    substrata_probe_info probe{};
    probe.struct_size = sizeof probe;
    if (substrata_trace_probe(trace.get(), i, &probe) != 0) break;
    std::printf("  %-40s %12llu  %s\n", probe.name, static_cast<unsigned long long>(probe.delivered),
                probe.text);
  }
  if (info.damage != nullptr) {
    std::fprintf(stderr, "%s\n", info.damage);
    return 1;
  }
  return 0;
}

}  // namespace

int probes(int argc, char** argv) {
  std::string file, machine, workload;
  std::uint64_t nodes = 0;
  Arguments arguments(
      "substrata probes",
      "Lists sources and probe points. Machines create theirs when they run: name one with its "
      "workload to see them and their transactions.\n\n"
      "  substrata probes                          sources and probe points that always exist\n"
      "  substrata probes -m shrimp -w fft -n 4    the probe points of a machine\n"
      "  substrata probes lu.trace                 the probe points of a trace");
  arguments.word("FILE", file, "list the probe points of this trace", Arguments::Value::kFile);
  arguments.word("-m,--machine", machine, "run this machine first", Arguments::Value::kMachine);
  arguments.word("-w,--workload", workload, "workload to run", Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "number of processors or nodes");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (!file.empty()) return list_trace(file);
  if (machine.empty() != workload.empty()) throw std::runtime_error("--machine and --workload go together");
  start_library();

  Passing passing;
  if (!machine.empty()) {
    substrata_observer* created = nullptr;
    if (substrata_observer_create(Passing::take, &passing, 0, &created) != 0)
      throw std::runtime_error(substrata_feed_error());
    const std::unique_ptr<substrata_observer, DestroyObserver> observer(created);
    if (substrata_subscribe(observer.get(), "*") != 0) throw std::runtime_error(substrata_feed_error());
    substrata_run_options options{};
    options.struct_size = sizeof options;
    options.processes = static_cast<std::uint32_t>(nodes);
    options.seed = 1;
    substrata_run_result result{};
    result.struct_size = sizeof result;
    if (substrata_run(machine.c_str(), workload.c_str(), &options, &result) != 0)
      throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
  std::printf("Sources:\n");
  for (std::uint32_t i = 0; i < substrata_source_count(); ++i) {
    substrata_source_info source{};
    source.struct_size = sizeof source;
    if (substrata_source_at(i, &source) != 0) break;
    std::printf("  %-14s %s (%s)\n", source.name, source.summary, time_base_name(source.time_base));
    if (source.why_not != nullptr) std::printf("  %-14s not available: %s\n", "", source.why_not);
  }
  std::printf("\nProbe points:\n");
  for (std::uint32_t i = 0; i < substrata_probe_count(); ++i) {
    substrata_probe_info probe{};
    probe.struct_size = sizeof probe;
    if (substrata_probe_at(i, &probe) != 0) break;
    std::printf("  %-32s %12llu  %s\n", probe.name, static_cast<unsigned long long>(passing.counts[i]),
                probe.text);
  }
  return 0;
}

}  // namespace substrata::tool
