// What the cluster carried, as cluster.json and as tables and commands for gnuplot.
#include "tools/model_runs/replay_files.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "tools/model_runs/offline_replay.hpp"

namespace substrata::model_runs {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLatencyNames[] = {"source", "lanai", "net", "dest"};
constexpr double kNanosecondsPerMicrosecond = 1000;

// Within a quoted string of gnuplot.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '_') out += '\\';  // no subscript
    out += c;
  }
  return out;
}

std::string decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

// To a thousandth, in which the cluster's nanoseconds have no more meaning.
double rounded(double value) {
  parse_number(decimal(value), &value);
  return value;
}

void write(const std::string& path, const std::string& text) {
  write_whole(path, [&](std::ostream& to) { to << text; });
}

ReplayPart part_of(const OfflineReplay& run, std::uint32_t rank, std::uint32_t phase,
                   const std::string& name) {
  return {name, run.counts(rank, phase), run.signature(rank, phase, SUBSTRATA_MYRINET_BY_SIZE)};
}

Json part_as_json(const ReplayPart& part) {
  Json out = counts_as_json(part.counts);
  out["signature"] = Json::array();
  for (const substrata_myrinet_point& point : part.points) {
    Json one = {{"bytes", {point.x, point.x_end - 1}}, {"sent", point.sent}, {"received", point.received}};
    for (std::size_t i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i)
      one[std::string(kLatencyNames[i]) + "_ns"] = {{"average", rounded(point.average_ns[i])},
                                                    {"deviation", rounded(point.deviation_ns[i])},
                                                    {"p99", rounded(point.p99_ns[i])}};
    out["signature"].push_back(std::move(one));
  }
  return out;
}

// What began in a phase, or in all.
Json operations_as_json(const OfflineReplay& run, std::uint32_t phase) {
  Json out = Json::array();
  for (const substrata_myrinet_operation_point& point : run.operations(SUBSTRATA_MYRINET_ALL, phase))
    out.push_back({{"kind", substrata_myrinet_operation_name(point.kind)},
                   {"number", point.count},
                   {"packets", point.packets},
                   {"bytes", point.bytes},
                   {"average_ns", rounded(point.average_ns)},
                   {"deviation_ns", rounded(point.deviation_ns)},
                   {"median_ns", rounded(point.median_ns)},
                   {"p99_ns", rounded(point.p99_ns)},
                   {"longest_ns", rounded(point.longest_ns)}});
  return out;
}

// Each latency by the packets' length, for `substrata report --histograms`: lengths by 256 bytes, so that the page's
// rows can be read, without those that no packet has.
Json histograms_as_json(const OfflineReplay& run) {
  constexpr std::size_t kBinBytes = 32, kTogether = 8;
  constexpr const char* kTitles[] = {"SourceLatency", "LANaiLatency", "NetLatency", "DestLatency"};
  Json out = Json::array();
  for (std::uint32_t latency = 0; latency < SUBSTRATA_MYRINET_LATENCIES; ++latency) {
    const auto lengths = run.lengths_by(static_cast<substrata_myrinet_latency>(latency));
    const std::size_t step_us = latency == SUBSTRATA_MYRINET_NET ? 2 : 1, bins = lengths.front().size();
    Json one = {
        {"title", std::string("Myrinet: packets by length (bytes) and ") + kTitles[latency] + " (us)"},
        {"modelled", true},
        {"columns", Json::array()},
        {"rows", Json::array()},
        {"counts", Json::array()}};
    for (std::size_t bin = 0; bin < bins; ++bin)
      one["columns"].push_back((bin + 1 == bins ? "from " : "") + std::to_string(bin * step_us));
    for (std::size_t first = 0; first < lengths.size(); first += kTogether) {
      std::vector<std::uint64_t> row(bins);
      for (std::size_t length = first; length < std::min(first + kTogether, lengths.size()); ++length)
        for (std::size_t bin = 0; bin < bins; ++bin) row[bin] += lengths[length][bin];
      if (std::ranges::count(row, 0U) == static_cast<std::ptrdiff_t>(bins)) continue;
      // A bin ends with its multiple of 32 bytes, so that 4096 is in the last.
      one["rows"].push_back(std::to_string(first == 0 ? 0 : first * kBinBytes + 1) + " to " +
                            std::to_string((first + kTogether) * kBinBytes));
      one["counts"].push_back(row);
    }
    out.push_back(std::move(one));
  }
  return {{"histograms", out}};
}

}  // namespace

Json counts_as_json(const substrata_myrinet_counts& counts) {
  Json out = {{"packets_sent", counts.packets_sent},
              {"packets_received", counts.packets_received},
              {"bytes_sent", counts.bytes_sent},
              {"bytes_received", counts.bytes_received},
              {"checksum_errors", counts.checksum_errors},
              {"dropped", counts.dropped},
              {"misrouted", counts.misrouted},
              {"bytes_lost", counts.bytes_lost}};
  for (std::size_t i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i)
    out[std::string(kLatencyNames[i]) + "_latency_sum_ns"] = counts.latency_sum_ns[i];
  return out;
}

Json rank_as_json(unsigned rank, const std::vector<ReplayPart>& parts) {
  Json out = {{"rank", rank}};
  out.update(part_as_json(parts.front()));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Json one = {{"name", parts[i].name}};
    one.update(part_as_json(parts[i]));
    out["phases"].push_back(std::move(one));
  }
  return out;
}

std::string rank_as_table(const std::vector<ReplayPart>& parts) {
  std::string out =
      "# modelled; x x_end sent received source_us lanai_us net_us dest_us; a block for each phase\n";
  for (const ReplayPart& part : parts) {
    if (part.points.empty()) continue;
    out += "# " + (part.name.empty() ? "all phases" : Json(part.name).dump()) + "\n";
    for (const substrata_myrinet_point& point : part.points) {
      out += std::to_string(point.x) + " " + std::to_string(point.x_end) + " " + std::to_string(point.sent) +
             " " + std::to_string(point.received);
      for (const double ns : point.average_ns) out += " " + decimal(ns / kNanosecondsPerMicrosecond);
      out += "\n";
    }
    out += "\n\n";  // the block's end
  }
  return out;
}

std::string rank_as_plot(unsigned rank, const std::vector<ReplayPart>& parts) {
  const std::string name = "signature.rank" + std::to_string(rank);
  std::size_t rows = 0;
  for (const ReplayPart& part : parts) rows += part.points.empty() ? 0 : 1;
  constexpr std::size_t kRowPixels = 340;
  std::string out = "# gnuplot " + name + ".gp draws " + name + ".png\nset terminal pngcairo size 1200," +
                    std::to_string(kRowPixels * (rows == 0 ? 1 : rows)) + "\nset output '" + name +
                    ".png'\nset multiplot layout " + std::to_string(rows == 0 ? 1 : rows) +
                    ",2\nset xlabel 'packet size (bytes)'\nset xrange [0:4200]\nset key left top\n";
  if (rows == 0) out += "set label 'no packets' at graph 0.5,0.5 center\nplot [0:1] NaN notitle\n";
  std::size_t blocks = 0;
  for (const ReplayPart& part : parts) {
    if (part.points.empty()) continue;
    const std::string title =
        "rank " + std::to_string(rank) + ", " + (part.name.empty() ? "all phases" : plain(part.name));
    const std::string block = " index " + std::to_string(blocks++) + " using ";
    out += "set title '" + title +
           " (modelled)'\nset logscale y\nset yrange [0.5:*]\nset ylabel 'packets'\nplot '" + name + ".dat'" +
           block + "1:3 with impulses lw 2 title 'sent', ''" + block +
           "($1+16):4 with impulses lw 2 title 'received'\nset yrange [1:*]\n"
           "set ylabel 'average latency (us)'\nplot '" +
           name + ".dat'";
    const char* separator = "";
    constexpr const char* kTitles[] = {"Source", "LANai", "Net", "Dest"};
    for (std::size_t latency = 0; latency < SUBSTRATA_MYRINET_LATENCIES; ++latency) {
      out += separator;
      out +=
          block + "1:" + std::to_string(5 + latency) + " with linespoints title '" + kTitles[latency] + "'";
      separator = ", ''";
    }
    out += "\n";
  }
  return out + "unset multiplot\n";
}

void write_replay(const OfflineReplay& run, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw std::runtime_error("the folder " + folder + " cannot be made: " + failed.message());
  const mpi::MessageLogHeader& header = run.log().header;
  const substrata_myrinet_outcome outcome = run.outcome();
  Json json = {{"machine", "myrinet"},
               {"modelled", true},
               {"parameters", header.parameters},
               {"nodes", run.nodes()},
               {"factor", header.factor},
               {"simulated_ns", outcome.simulated_ns},
               {"run_s", rounded(run.run_s())},
               {"messages",
                {{"all", header.totals.messages},
                 {"bytes", header.totals.bytes},
                 {"to_itself", header.totals.to_itself},
                 {"to_itself_bytes", header.totals.to_itself_bytes},
                 {"left_out", header.totals.left_out},
                 {"left_out_bytes", header.totals.left_out_bytes},
                 {"carried", outcome.messages},
                 {"unmatched_receives", outcome.unmatched}}},
               {"carried", counts_as_json(run.counts(SUBSTRATA_MYRINET_ALL, SUBSTRATA_MYRINET_ALL))},
               {"operations", operations_as_json(run, SUBSTRATA_MYRINET_ALL)},
               {"ranks", Json::array()}};
  for (std::uint32_t i = 0; i < run.phases().size(); ++i)
    json["operations_by_phase"].push_back(
        {{"name", run.phases()[i]}, {"operations", operations_as_json(run, i)}});
  for (std::uint32_t rank = 0; rank < header.operations.size(); ++rank) {
    std::vector<ReplayPart> parts = {part_of(run, rank, SUBSTRATA_MYRINET_ALL, "")};
    for (std::uint32_t i = 0; i < run.phases().size(); ++i)
      parts.push_back(part_of(run, rank, i, run.phases()[i]));
    const std::string base = folder + "/signature.rank" + std::to_string(rank);
    write(base + ".dat", rank_as_table(parts));
    write(base + ".gp", rank_as_plot(rank, parts));
    json["ranks"].push_back(rank_as_json(rank, parts));
  }
  write(folder + "/histograms.json", histograms_as_json(run).dump() + "\n");
  write(folder + "/" + mpi::kReplayName, json.dump() + "\n");
}

}  // namespace substrata::model_runs
