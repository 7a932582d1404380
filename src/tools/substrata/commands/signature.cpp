// substrata signature: the performance signature of a run or of a recorded trace, as a table and as a plot.
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/model_runs/idle_signature.hpp"
#include "tools/model_runs/myrinet_run.hpp"
#include "tools/model_runs/offline_replay.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
namespace {

// Does the trace hold messages of MPI ranks, which the cluster must carry first?
bool holds_messages(const std::string& path) {
  const client::feed::Trace trace = client::feed::Trace::open(path.c_str()).value();
  const std::uint32_t probes = trace.describe().value().probes;
  for (std::uint32_t i = 0; i < probes; ++i)
    if (std::strncmp(trace.probe(i).value().name, "mpi.", 4) == 0) return true;
  return false;
}

void replay_into_monitor(const std::string& path) {
  client::feed::Following following;
  const bool messages = holds_messages(path);
  if (messages) following = client::feed::Following::begin("myrinet", "nodes=256").value();
  client::feed::replay(path.c_str(), messages ? "mpi.*" : "myrinet.*").value();
}

substrata_myrinet_axis axis_of(const std::string& name) {
  if (name == "size") return SUBSTRATA_MYRINET_BY_SIZE;
  if (name == "sender") return SUBSTRATA_MYRINET_BY_SENDER;
  if (name == "receiver") return SUBSTRATA_MYRINET_BY_RECEIVER;
  if (name == "type") return SUBSTRATA_MYRINET_BY_TYPE;
  throw std::runtime_error("--by takes size, sender, receiver or type, not '" + name + "'");
}

// What packets of each size take in a cluster in which nothing else happens: every node sends one of each
// size to its neighbour, one at a time.
model_runs::Signature baseline_of(std::uint32_t nodes, const std::string& parameters) {
  constexpr std::uint64_t kApart_ns = 1'000'000;
  constexpr std::uint32_t kBin = 32;
  constexpr std::uint32_t kMost = 4096;
  model_runs::MessageLog log;
  log.header.parameters = parameters;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t bytes = kBin; bytes <= kMost; bytes += kBin) {
      substrata_myrinet_operation one{};
      one.compute_ns = bytes == kBin ? node * kApart_ns : nodes * kApart_ns;
      one.bytes = bytes;
      one.peer = (node + 1) % nodes;
      log.operations.push_back(one);
    }
    log.header.operations.push_back(kMost / kBin);
  }
  return model_runs::OfflineReplay(std::move(log))
      .signature(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_BY_SIZE);
}

void write_table(const std::string& path, const model_runs::Signature& points) {
  write_whole(path, [&](std::ostream& data) {
    data << "# modelled; x x_end sent received source_us lanai_us net_us dest_us\n";
    for (const substrata_myrinet_point& point : points) {
      data << point.x << ' ' << point.x_end << ' ' << point.sent << ' ' << point.received;
      for (const double ns : point.average_ns) data << ' ' << ns / 1000;
      data << '\n';
    }
  });
}

// What the packets were sent for: operations of the layer above, and each latency summed over an operation's
// packets.
void print_operations(const std::vector<substrata_myrinet_operation_point>& operations) {
  if (operations.empty()) return;
  std::printf("\n%-13s %10s %10s %12s %12s %12s %12s %12s %12s\n", "operation", "number", "packets", "us",
              "99 % in", "Source us", "LANai us", "Net us", "Dest us");
  for (const substrata_myrinet_operation_point& one : operations) {
    std::printf("%-13s %10llu %10llu %12.2f %12.2f", substrata_myrinet_operation_name(one.kind),
                static_cast<unsigned long long>(one.count), static_cast<unsigned long long>(one.packets),
                one.average_ns / 1000, one.p99_ns / 1000);
    for (const double ns : one.part_ns) std::printf(" %12.2f", ns / 1000);
    std::printf("\n");
  }
}

void write_operations(const std::string& folder,
                      const std::vector<substrata_myrinet_operation_point>& operations) {
  if (operations.empty()) return;
  write_whole(folder + "/operations.dat", [&](std::ostream& data) {
    data << "# modelled; operation number packets bytes average_us deviation_us median_us p90_us p99_us "
            "longest_us source_us lanai_us net_us dest_us\n";
    for (const substrata_myrinet_operation_point& one : operations) {
      data << substrata_myrinet_operation_name(one.kind) << ' ' << one.count << ' ' << one.packets << ' '
           << one.bytes;
      for (const double ns : {one.average_ns, one.deviation_ns, one.median_ns, one.p90_ns, one.p99_ns,
                              one.longest_ns, one.part_ns[0], one.part_ns[1], one.part_ns[2], one.part_ns[3]})
        data << ' ' << ns / 1000;
      data << '\n';
    }
  });
}

// The paper's picture (section 2.4): packets on a log scale, average latencies, and the idle cluster's beside
// them where there are any.
void write_files(const std::string& folder, const std::string& title, const std::string& axis,
                 const model_runs::Signature& points, const model_runs::Signature& baseline) {
  std::filesystem::create_directories(folder);
  write_table(folder + "/signature.dat", points);
  if (!baseline.empty()) write_table(folder + "/baseline.dat", baseline);
  std::string shown;
  for (const char c : title)
    if (c != '\'' && static_cast<unsigned char>(c) >= 0x20) shown += c;
  write_whole(folder + "/signature.gp", [&](std::ostream& plot) {
    plot << "# gnuplot signature.gp draws signature.png\n"
         << "set terminal pngcairo noenhanced size 1200,500\nset output 'signature.png'\n"
         << "set multiplot layout 1,2 title '" << shown << " (modelled)'\n"
         << "set xlabel '" << (axis == "size" ? "packet size (bytes)" : axis) << "'\nset ylabel 'packets'\n"
         << "set logscale y\nset yrange [0.5:*]\n"
         << "plot 'signature.dat' using 1:3 with impulses lw 2 title 'sent'\n"
         << "unset logscale y\nset yrange [0:*]\nset ylabel 'average latency (us)'\nset key left top\nplot ";
    const char* separator = "";
    constexpr const char* kTitles[] = {"Source", "LANai", "Net", "Dest"};
    for (int i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i) {
      plot << separator << "'signature.dat' using 1:" << 5 + i << " with linespoints lc " << i + 1
           << " title '" << kTitles[i] << "'";
      separator = ", ";
      if (!baseline.empty())
        plot << ", 'baseline.dat' using 1:" << 5 + i << " with lines dt 2 lc " << i + 1 << " title '"
             << kTitles[i] << ", idle'";
    }
    plot << "\nunset multiplot\n";
  });
}

void print_points(const std::string& by, substrata_myrinet_axis axis, const model_runs::Signature& points) {
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
}

// An MPI program's messages, carried on one cluster: the whole as a table, then what each phase sent.
void carry_and_print(const std::string& folder, const std::string& parameters, const std::string& by,
                     substrata_myrinet_axis axis, unsigned node, const std::string& out) {
  const model_runs::OfflineReplay run = model_runs::replay_folder(folder, parameters);
  print_points(by, axis, run.signature(node, SUBSTRATA_MYRINET_ALL, axis));
  if (!run.phases().empty())
    std::printf("\n%-28s %10s %14s %10s %12s %12s %12s %12s\n", "phase", "packets", "bytes", "received",
                "Source us", "LANai us", "Net us", "Dest us");
  for (unsigned phase = 0; phase < run.phases().size(); ++phase) {
    const substrata_myrinet_counts counts = run.counts(node, phase);
    std::printf("%-28s %10llu %14llu %10llu", run.phases()[phase].c_str(),
                static_cast<unsigned long long>(counts.packets_sent),
                static_cast<unsigned long long>(counts.bytes_sent),
                static_cast<unsigned long long>(counts.packets_received));
    for (int i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i) {
      // The first two are the sender's, the others the receiver's.
      const std::uint64_t packets = i < SUBSTRATA_MYRINET_NET ? counts.packets_sent : counts.packets_received;
      std::printf(" %12.2f", packets == 0 ? 0.0
                                          : static_cast<double>(counts.latency_sum_ns[i]) / 1000 /
                                                static_cast<double>(packets));
    }
    std::printf("\n");
  }
  model_runs::write_replay(run, out.empty() ? folder : out);
}

}  // namespace

int signature(int argc, char** argv) {
  std::string trace, workload, parameters, by = "size", node, out;
  std::uint64_t nodes = 8;
  Arguments arguments(
      "substrata signature",
      "Prints the performance signature of the Myrinet monitor: average latencies and packet counts, of "
      "a recorded trace (of the machine myrinet, or of an MPI rank) or of a workload; below them the "
      "operations of the layer above, page fetches, locks, barriers, messages, with their packets. Of a "
      "folder with the messages of an MPI program: they are replayed on one cluster, and cluster.json "
      "and each rank's signature are written there. All values are modelled.\n\n"
      "  substrata signature -w fft:points=65536 -n 8\n"
      "  substrata signature -w radix --by sender --out plots    tables for gnuplot, and the idle cluster's "
      "beside them\n"
      "  substrata signature figures --parameters drop_ppm=1000    the messages in figures again, on a "
      "cluster that loses packets");
  arguments.word("TRACE", trace, "recorded trace, or the folder of an MPI program's cluster",
                 Arguments::Value::kFile);
  arguments.word("-w,--workload", workload, "run this workload instead of reading a trace",
                 Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "number of nodes (default 8)");
  arguments.word(
      "--parameters", parameters,
      "parameters of the machine: name=value:...; for an MPI program's folder, instead of those it ran with");
  arguments.word("--by", by, "size (default), sender, receiver or type");
  arguments.word("--node", node, "only this interface (default: all)");
  arguments.word("--out", out,
                 "folder for signature.dat, baseline.dat (an idle cluster), operations.dat and signature.gp "
                 "(gnuplot); for an MPI program's folder, another output folder",
                 Arguments::Value::kFolder);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (trace.empty() == workload.empty()) throw std::runtime_error("give a trace or --workload");
  const substrata_myrinet_axis axis = axis_of(by);
  unsigned one = SUBSTRATA_MYRINET_ALL;
  if (!node.empty()) {
    if (node.size() > 3 || !parse_number(node, &one))
      throw std::runtime_error("--node takes a number, not '" + node + "'");
  }
  if (workload.empty() && std::filesystem::is_directory(trace)) {
    carry_and_print(trace, parameters, by, axis, one, out);
    return 0;
  }
  std::unique_ptr<model_runs::PacketLengths> lengths;
  if (!out.empty() && axis != SUBSTRATA_MYRINET_BY_SIZE)
    lengths = std::make_unique<model_runs::PacketLengths>(axis);
  model_runs::myrinet_begin(1);
  if (workload.empty()) {
    replay_into_monitor(trace);
  } else {
    model_runs::myrinet_run(workload, static_cast<unsigned>(nodes), parameters);
  }
  model_runs::myrinet_end();
  const model_runs::Signature points = model_runs::myrinet_signature(axis, SUBSTRATA_MYRINET_ALL, one);
  print_points(by, axis, points);
  const std::vector<substrata_myrinet_operation_point> operations = model_runs::myrinet_operations(one);
  print_operations(operations);
  std::uint64_t left_out = 0;
  if (substrata_myrinet_recorded(nullptr, &left_out) == 0 && left_out != 0)
    std::printf("%llu stages of packets left out: node or program beyond the monitor's shape\n",
                static_cast<unsigned long long>(left_out));
  if (!out.empty()) {
    model_runs::Signature idle =
        baseline_of(std::max(2u, workload.empty() ? 8u : static_cast<unsigned>(nodes)), parameters);
    // Along another axis: of the same packets' lengths.
    if (lengths != nullptr) idle = lengths->idle(points, idle, one);
    write_files(out, workload.empty() ? trace : workload, by, points, idle);
    write_operations(out, operations);
  }
  return 0;
}

}  // namespace substrata::tool
