// The log's blocks, the setting's text, and the line before the operations in a file.
#include "sources/mpi/cluster_log.hpp"

#include <new>
#include <utility>

#include "base/json.hpp"
#include "sources/mpi/message_counts.hpp"

namespace substrata::mpi {
namespace {

constexpr const char* kMachine = "myrinet";

}  // namespace

std::string parse_cluster_choice(std::string_view text, ClusterChoice* out) {
  const size_t end = text.find(':');
  const std::string_view machine = text.substr(0, end);
  if (machine != kMachine)
    return "'" + std::string(machine) + "' carries no messages at a program's end; myrinet does";
  out->wanted = true;
  out->parameters = end == std::string_view::npos ? "" : std::string(text.substr(end + 1));
  return {};
}

bool ClusterLog::keep(substrata_myrinet_operation operation) {
  if (kept_ >= kMost) return false;
  if (blocks_.empty() || blocks_.back().size() == kBlock) {
    try {
      std::vector<substrata_myrinet_operation> block;
      block.reserve(kBlock);
      blocks_.push_back(std::move(block));
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  operation.compute_ns = static_cast<uint64_t>(computed_);
  computed_ = 0;
  blocks_.back().push_back(operation);
  ++kept_;
  return true;
}

void ClusterLog::sent(int to, uint64_t bytes, uint32_t phase, bool collective, uint64_t operation_number) {
  ++totals_.messages;
  totals_.bytes += bytes;
  if (to >= 0 && static_cast<uint32_t>(to) == rank_) {
    ++totals_.to_itself;
    totals_.to_itself_bytes += bytes;
    return;
  }
  substrata_myrinet_operation operation{};
  operation.bytes = bytes;
  operation.peer = static_cast<uint32_t>(to);
  operation.phase = static_cast<uint16_t>(phase < UINT16_MAX ? phase : UINT16_MAX);
  operation.number = static_cast<uint32_t>(operation_number);
  operation.group = static_cast<uint32_t>(operation_number >> 32);
  operation.type = collective ? SUBSTRATA_MYRINET_COLLECTIVE : SUBSTRATA_MYRINET_MESSAGE;
  if (to >= 0 && keep(operation)) return;
  ++totals_.left_out;
  totals_.left_out_bytes += bytes;
}

void ClusterLog::received(int from, uint64_t number) {
  if (from < 0 || static_cast<uint32_t>(from) == rank_) return;
  substrata_myrinet_operation operation{};
  operation.peer = static_cast<uint32_t>(from);
  operation.number = static_cast<uint32_t>(number);
  operation.receives = 1;
  keep(operation);
}

std::string header_line(const MessageLogHeader& header) {
  std::string out = "{\"substrata_mpi_messages\":" + std::to_string(MessageLogHeader::kVersion) +
                    ",\"machine\":\"" + kMachine + "\",\"parameters\":" + plain_quoted(header.parameters) +
                    ",\"factor\":" + number_text(header.factor, 17) +
                    ",\"operation_bytes\":" + std::to_string(sizeof(substrata_myrinet_operation)) +
                    ",\"messages\":{\"all\":" + std::to_string(header.totals.messages) +
                    ",\"bytes\":" + std::to_string(header.totals.bytes) +
                    ",\"to_itself\":" + std::to_string(header.totals.to_itself) +
                    ",\"to_itself_bytes\":" + std::to_string(header.totals.to_itself_bytes) +
                    ",\"left_out\":" + std::to_string(header.totals.left_out) +
                    ",\"left_out_bytes\":" + std::to_string(header.totals.left_out_bytes) + "},\"phases\":[";
  const char* separator = "";
  for (const std::string& phase : header.phases) {
    out += separator + plain_quoted(phase);
    separator = ",";
  }
  out += "],\"operations\":[";
  separator = "";
  for (const size_t count : header.operations) {
    out += separator + std::to_string(count);
    separator = ",";
  }
  return out + "]}\n";
}

}  // namespace substrata::mpi
