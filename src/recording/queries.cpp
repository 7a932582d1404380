// Reads the attachments "owl".
#include "recording/queries.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "recording/text_report.hpp"

#ifdef SUBSTRATA_JSON
#include <nlohmann/json.hpp>
#endif

namespace substrata::recording {

#ifdef SUBSTRATA_JSON
namespace {

using nlohmann::json;

constexpr std::size_t kMostRows = 10;

json member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : json();
}
json list(const json& object, const char* name) {
  json found = member(object, name);
  return found.is_array() ? found : json::array();
}

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return compact(value.get<double>());
  if (value.is_array()) return std::to_string(value.size()) + " powers of two";
  std::string out;  // quantiles
  for (const char* name : {"p50", "p90", "p99"}) {
    const json part = member(value, name);
    if (part.is_number()) out += (out.empty() ? "" : " / ") + compact(part.get<double>());
  }
  return out;
}

// Columns of one width; the first `numbers` of them to the right.
void write_columns(std::ostream& out, const std::vector<std::vector<std::string>>& lines,
                   std::size_t numbers) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string blanks(widths[i] - line[i].size(), ' ');
      out << "  " << (i < numbers ? blanks + line[i] : i + 1 == line.size() ? line[i] : line[i] + blanks);
    }
    out << '\n';
  }
}

void write_table(std::ostream& out, const json& table) {
  const json keys = list(table, "keys"), values = list(table, "values"), rows = list(table, "rows");
  const json all = member(table, "all");
  const bool shares = !values.empty() && all.is_number() && all.get<double>() > 0;
  std::vector<std::vector<std::string>> lines(1);
  for (const json& value : values) lines[0].push_back(text_of(value));
  if (shares) lines[0].push_back("share");
  for (const json& key : keys) lines[0].push_back(text_of(key));
  for (const json& row : rows) {
    if (lines.size() > kMostRows) break;
    const json own_keys = list(row, "keys"), own_values = list(row, "values");
    if (own_keys.size() != keys.size() || own_values.size() != values.size()) return;
    std::vector<std::string> line;
    for (const json& value : own_values) line.push_back(text_of(value));
    if (shares) {
      const double part = own_values[0].is_number() ? own_values[0].get<double>() : 0;
      char share[16];
      std::snprintf(share, sizeof share, "%.1f %%", 100 * part / all.get<double>());
      line.push_back(share);
    }
    for (const json& key : own_keys) line.push_back(text_of(key));
    lines.push_back(std::move(line));
  }
  write_columns(out, lines, values.size() + (shares ? 1 : 0));
  const json left_out = member(table, "left_out");
  const std::size_t more =
      rows.size() - (lines.size() - 1) + (left_out.is_number_unsigned() ? left_out.get<std::size_t>() : 0);
  if (more != 0) out << "  and " << more << " more rows\n";
}

}  // namespace

void write_queries(std::ostream& out, const Recording& recording) {
  for (const Writer& writer : recording.writers) {
    for (const Attachment& attachment : writer.attachments) {
      if (attachment.name != kQueryName) continue;
      const json query = json::parse(attachment.content, nullptr, false);
      if (!member(query, "query").is_string()) continue;
      out << "\nquery: " << text_of(member(query, "query")) << '\n';
      for (const json& table : list(query, "tables")) write_table(out, table);
      for (const json& message : list(query, "messages")) out << "  " << text_of(message) << '\n';
      const json dropped = member(query, "dropped");
      if (dropped.is_number_unsigned() && dropped != 0) out << "  " << dropped.dump() << " rows were lost\n";
    }
  }
}
#else
void write_queries(std::ostream&, const Recording&) {}
#endif

}  // namespace substrata::recording
