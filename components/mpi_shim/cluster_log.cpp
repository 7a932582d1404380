// The log's blocks, the setting's text, and the forms in which a rank's signatures are written.
#include "cluster_log.hpp"

#include <cstdio>

#include "ledger.hpp"

namespace substrata::mpi_shim {
namespace {

constexpr const char* kLatencyNames[] = {"source", "lanai", "net", "dest"};

std::string decimal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

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

}  // namespace

std::string parse_cluster_choice(std::string_view text, ClusterChoice* out) {
  constexpr std::string_view kMachine = "myrinet";
  const size_t end = text.find(':');
  const std::string_view machine = text.substr(0, end);
  if (machine != kMachine)
    return "'" + std::string(machine) + "' carries no messages at a program's end; myrinet does";
  out->wanted = true;
  out->parameters = end == std::string_view::npos ? "" : std::string(text.substr(end + 1));
  return {};
}

void ClusterLog::keep(substrata_myrinet_operation operation) {
  if (blocks_.empty() || blocks_.back().size() == kBlock) {
    blocks_.emplace_back();
    blocks_.back().reserve(kBlock);
  }
  operation.compute_ns = static_cast<uint64_t>(computed_);
  computed_ = 0;
  blocks_.back().push_back(operation);
  ++kept_;
}

void ClusterLog::sent(int to, uint64_t bytes, uint32_t phase, bool collective) {
  ++totals_.messages;
  totals_.bytes += bytes;
  if (to >= 0 && static_cast<uint32_t>(to) == rank_) {
    ++totals_.to_itself;
    totals_.to_itself_bytes += bytes;
    return;
  }
  if (to < 0 || kept_ >= kMost) {
    ++totals_.left_out;
    totals_.left_out_bytes += bytes;
    return;
  }
  substrata_myrinet_operation operation{};
  operation.bytes = bytes;
  operation.peer = static_cast<uint32_t>(to);
  operation.phase = static_cast<uint16_t>(phase < UINT16_MAX ? phase : UINT16_MAX);
  operation.type = collective ? SUBSTRATA_MYRINET_COLLECTIVE : SUBSTRATA_MYRINET_MESSAGE;
  keep(operation);
}

void ClusterLog::received(int from, uint64_t number) {
  if (from < 0 || static_cast<uint32_t>(from) == rank_ || kept_ >= kMost) return;
  substrata_myrinet_operation operation{};
  operation.peer = static_cast<uint32_t>(from);
  operation.number = static_cast<uint32_t>(number);
  operation.receives = 1;
  keep(operation);
}

std::vector<substrata_myrinet_operation> ClusterLog::take() {
  std::vector<substrata_myrinet_operation> all;
  all.reserve(kept_);
  for (const auto& block : blocks_) all.insert(all.end(), block.begin(), block.end());
  blocks_.clear();
  kept_ = 0;
  return all;
}

std::string counts_as_json(const substrata_myrinet_counts& counts) {
  std::string out = "\"packets_sent\":" + std::to_string(counts.packets_sent) +
                    ",\"packets_received\":" + std::to_string(counts.packets_received) +
                    ",\"bytes_sent\":" + std::to_string(counts.bytes_sent) +
                    ",\"bytes_received\":" + std::to_string(counts.bytes_received) +
                    ",\"checksum_errors\":" + std::to_string(counts.checksum_errors) +
                    ",\"dropped\":" + std::to_string(counts.dropped) +
                    ",\"misrouted\":" + std::to_string(counts.misrouted) +
                    ",\"bytes_lost\":" + std::to_string(counts.bytes_lost);
  for (size_t i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i)
    out += ",\"" + std::string(kLatencyNames[i]) +
           "_latency_sum_ns\":" + std::to_string(counts.latency_sum_ns[i]);
  return out;
}

std::string carried_as_json(int rank, const std::vector<CarriedPart>& parts) {
  std::string out = "{\"rank\":" + std::to_string(rank);
  const auto add = [&out](const CarriedPart& part) {
    out += counts_as_json(part.counts) + ",\"signature\":[";
    const char* separator = "";
    for (const substrata_myrinet_point& point : part.points) {
      out += separator;
      out += "{\"bytes\":[" + std::to_string(point.x) + "," + std::to_string(point.x_end - 1) +
             "],\"sent\":" + std::to_string(point.sent) + ",\"received\":" + std::to_string(point.received);
      for (size_t i = 0; i < SUBSTRATA_MYRINET_LATENCIES; ++i)
        out += ",\"" + std::string(kLatencyNames[i]) + "_ns\":{\"average\":" + decimal(point.average_ns[i]) +
               ",\"deviation\":" + decimal(point.deviation_ns[i]) + ",\"p99\":" + decimal(point.p99_ns[i]) +
               "}";
      out += "}";
      separator = ",";
    }
    out += "]";
  };
  const char* before = ",";
  for (const CarriedPart& part : parts) {
    if (&part == &parts.front()) {
      out += before;
      add(part);
      before = ",\"phases\":[";
      continue;
    }
    out += before;
    out += "\n {\"name\":" + quoted(part.name) + ",";
    add(part);
    out += "}";
    before = ",";
  }
  return out + (parts.size() > 1 ? "]}" : "}");
}

std::string carried_as_table(const std::vector<CarriedPart>& parts) {
  std::string out =
      "# modelled; x x_end sent received source_us lanai_us net_us dest_us; a block for each phase\n";
  constexpr double kNanosecondsPerMicrosecond = 1000;
  for (const CarriedPart& part : parts) {
    if (part.points.empty()) continue;
    out += "# " + (part.name.empty() ? "all phases" : quoted(part.name)) + "\n";
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

std::string carried_as_plot(int rank, const std::vector<CarriedPart>& parts) {
  const std::string name = "signature.rank" + std::to_string(rank);
  size_t rows = 0;
  for (const CarriedPart& part : parts) rows += part.points.empty() ? 0 : 1;
  constexpr size_t kRowPixels = 340;
  std::string out = "# gnuplot " + name + ".gp draws " + name + ".png\nset terminal pngcairo size 1200," +
                    std::to_string(kRowPixels * (rows == 0 ? 1 : rows)) + "\nset output '" + name +
                    ".png'\nset multiplot layout " + std::to_string(rows == 0 ? 1 : rows) +
                    ",2\nset xlabel 'packet size (bytes)'\nset xrange [0:4200]\nset key left top\n";
  if (rows == 0) out += "set label 'no packets' at graph 0.5,0.5 center\nplot [0:1] NaN notitle\n";
  size_t blocks = 0;
  for (const CarriedPart& part : parts) {
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
    for (size_t latency = 0; latency < SUBSTRATA_MYRINET_LATENCIES; ++latency) {
      out += separator;
      out +=
          block + "1:" + std::to_string(5 + latency) + " with linespoints title '" + kTitles[latency] + "'";
      separator = ", ''";
    }
    out += "\n";
  }
  return out + "unset multiplot\n";
}

}  // namespace substrata::mpi_shim
