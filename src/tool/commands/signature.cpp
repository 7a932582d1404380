// substrata signature: the performance signature of a run or of a recorded trace, as a table and as a plot.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "arguments.hpp"
#include "commands.hpp"
#include "reproduce/myrinet_runs.hpp"

namespace substrata::tool {
namespace {

struct Unfollow {
  void operator()(substrata_following* following) const { substrata_unfollow(following); }
};
struct CloseTrace {
  void operator()(substrata_trace* trace) const { substrata_trace_close(trace); }
};

// Does the trace hold messages of MPI ranks, which the cluster must carry first?
bool holds_messages(const std::string& path) {
  substrata_trace* opened = nullptr;
  if (substrata_trace_open(path.c_str(), &opened) != 0) throw std::runtime_error(substrata_feed_error());
  const std::unique_ptr<substrata_trace, CloseTrace> trace(opened);
  substrata_probe_info probe{};
  probe.struct_size = sizeof probe;
  for (std::uint32_t i = 0; substrata_trace_probe(trace.get(), i, &probe) == 0; ++i)
    if (std::strncmp(probe.name, "mpi.", 4) == 0) return true;
  return false;
}

void replay_into_monitor(const std::string& path) {
  std::unique_ptr<substrata_following, Unfollow> following;
  const bool messages = holds_messages(path);
  if (messages) {
    substrata_run_options options{};
    options.struct_size = sizeof options;
    options.parameters = "nodes=256";
    substrata_following* started = nullptr;
    if (substrata_follow("myrinet", &options, &started) != 0)
      throw std::runtime_error(substrata_feed_error());
    following.reset(started);
  }
  if (substrata_replay(path.c_str(), messages ? "mpi.*" : "myrinet.*", nullptr) != 0)
    throw std::runtime_error(substrata_feed_error());
}

substrata_myrinet_axis axis_of(const std::string& name) {
  if (name == "size") return SUBSTRATA_MYRINET_BY_SIZE;
  if (name == "sender") return SUBSTRATA_MYRINET_BY_SENDER;
  if (name == "receiver") return SUBSTRATA_MYRINET_BY_RECEIVER;
  if (name == "type") return SUBSTRATA_MYRINET_BY_TYPE;
  throw std::runtime_error("--by takes size, sender, receiver or type, not '" + name + "'");
}

}  // namespace

int signature(int argc, char** argv) {
  std::string trace, workload, parameters, by = "size", node, out;
  std::uint64_t nodes = 8;
  Arguments arguments(
      "substrata signature",
      "The performance signature of the Myrinet monitor: average latencies and packet counts, of "
      "a recorded trace (of the machine myrinet, or of an MPI rank) or of a workload. All "
      "modelled.");
  arguments.word("TRACE", trace, "recorded trace", Arguments::Value::kFile);
  arguments.word("-w,--workload", workload, "run this workload instead", Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "its nodes (default 8)");
  arguments.word("--parameters", parameters, "of the machine: name=value:...");
  arguments.word("--by", by, "size (default), sender, receiver or type");
  arguments.word("--node", node, "one interface alone (default: all)");
  arguments.word("--out", out, "folder for signature.dat and signature.gp (gnuplot)",
                 Arguments::Value::kFolder);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (trace.empty() == workload.empty()) throw std::runtime_error("give a trace or --workload");
  const substrata_myrinet_axis axis = axis_of(by);
  unsigned one = SUBSTRATA_MYRINET_ALL;
  if (!node.empty()) {
    if (node.size() > 3 || node.find_first_not_of("0123456789") != std::string::npos)
      throw std::runtime_error("--node takes a number, not '" + node + "'");
    one = static_cast<unsigned>(std::stoul(node));
  }
  myrinet_begin(1);
  if (workload.empty()) {
    replay_into_monitor(trace);
  } else {
    myrinet_run(workload, static_cast<unsigned>(nodes), parameters);
  }
  myrinet_end();
  const Signature points = myrinet_signature(axis, SUBSTRATA_MYRINET_ALL, one);
  std::printf("%-13s %10s %10s %12s %12s %12s %12s\n", by.c_str(), "sent", "received", "Source us",
              "LANai us", "Net us", "Dest us");
  for (const substrata_myrinet_point& point : points) {
    const std::string x = axis == SUBSTRATA_MYRINET_BY_SIZE
                              ? std::to_string(point.x) + "-" + std::to_string(point.x_end - 1)
                              : std::to_string(point.x);
    std::printf("%-13s %10llu %10llu %12.2f %12.2f %12.2f %12.2f\n", x.c_str(),
                static_cast<unsigned long long>(point.sent), static_cast<unsigned long long>(point.received),
                point.average_ns[0] / 1000, point.average_ns[1] / 1000, point.average_ns[2] / 1000,
                point.average_ns[3] / 1000);
  }
  std::uint64_t left_out = 0;
  if (substrata_myrinet_recorded(nullptr, &left_out) == 0 && left_out != 0)
    std::printf("%llu stages of packets left out: node or program beyond the monitor's shape\n",
                static_cast<unsigned long long>(left_out));
  if (!out.empty()) {
    std::filesystem::create_directories(out);
    write_signature({out}, "signature", workload.empty() ? trace : workload, points);
  }
  return 0;
}

}  // namespace substrata::tool
