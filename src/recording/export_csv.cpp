// A recording as a table.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include "base/parse.hpp"
#include "recording/exports.hpp"

namespace substrata::recording {
namespace {

// Whether a spreadsheet would calculate the cell: it begins like a formula and is not a number.
bool is_formula(const std::string& text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) return false;
  std::string_view digits = text;
  if (digits.front() == '+' && digits.find_first_of("+-", 1) != 1) digits.remove_prefix(1);
  double number = 0;
  return !parse_number(digits, &number);
}

// A text as a cell. A formula is preceded by a single quote, which spreadsheets read as "this is text".
std::string field(std::string_view from) {
  std::string text(from);
  if (is_formula(text)) text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// A header line must stay one line, whatever a text holds.
std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return out;
}

// Series of single ranks share a name.
std::string column_name(const Group& group) {
  return rank_of_scope(group.scope) < 0 ? group.about->name : group.about->name + " (" + group.scope + ")";
}

struct Row {
  double at;
  std::size_t writer, set, row;
};

}  // namespace

void export_csv(std::ostream& out, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  const std::vector<Group> groups = group_traces(timeline, Ranks::kApart);
  out << "# substrata record; times are seconds since the start, counts are since the start of the series\n";
  for (std::size_t w = 0; w < recording.writers.size(); ++w)
    for (const auto& [name, value] : recording.writers[w].properties)
      out << "# " << one_line(writer_name(recording.writers[w])) << ": " << one_line(name) << ": "
          << one_line(value) << "\n";
  for (const Damage& damage : recording.damages)
    out << "# damaged at byte " << damage.offset << ": " << one_line(damage.reason) << "\n";
  for (const Group& group : groups)
    out << "# column " << one_line(column_name(group)) << ": unit "
        << (group.about->unit.empty() ? "none" : one_line(group.about->unit)) << "; "
        << kind_name(group.about->kind) << "; " << origin_name(*group.about) << "; per "
        << one_line(group.about->scope) << "; " << one_line(group.about->text) << "\n";
  for (const Region& region : timeline.regions)
    out << "# region " << one_line(region.name) << ": " << json_number(region.begin) << " s to "
        << json_number(region.end) << " s" << (region.open ? ", its end is not in the recording" : "")
        << "\n";
  out << "time_s,skew_ns,host,rank,region";
  for (const Group& group : groups) out << ',' << field(column_name(group));
  out << "\n";

  // Where each series of a writer stands in the columns.
  std::vector<std::vector<std::size_t>> columns(recording.writers.size());
  for (std::size_t w = 0; w < recording.writers.size(); ++w)
    columns[w].resize(recording.writers[w].series.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const Trace* trace : groups[g].traces) {
      const Writer& writer = recording.writers[trace->writer];
      columns[trace->writer][static_cast<std::size_t>(trace->series - writer.series.data())] = g;
    }
  // The rows' times on the common clock are those of the traces; a row whose values are all absent has none.
  std::vector<Row> rows;
  for (std::size_t w = 0; w < recording.writers.size(); ++w)
    for (std::size_t s = 0; s < recording.writers[w].sets.size(); ++s) {
      const SampleSet& set = recording.writers[w].sets[s];
      if (set.series_count == 0) continue;
      std::vector<double> seconds(set.times.size(), -1);
      for (const Trace& trace : timeline.traces) {
        if (trace.writer != w || trace.series->set != s) continue;
        for (std::size_t row = 0, at = 0; row < set.times.size(); ++row)
          if (trace.series->present_at(row)) seconds[row] = trace.seconds[at++];
      }
      for (std::size_t row = 0; row < set.times.size(); ++row)
        if (seconds[row] >= 0) rows.push_back({seconds[row], w, s, row});
    }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.at < b.at; });

  std::vector<std::string> cells(groups.size());
  for (const Row& row : rows) {
    const Writer& writer = recording.writers[row.writer];
    const SampleSet& set = writer.sets[row.set];
    const Region* inside = nullptr;
    for (const Region& region : timeline.regions) {
      if (region.begin > row.at) break;
      if (region.writer == row.writer && region.end > row.at) inside = &region;
    }
    char time[32];
    std::snprintf(time, sizeof time, "%.9f", row.at);
    out << time << ',' << set.skews[row.row] << ',' << field(property(writer.properties, "host")) << ','
        << field(property(writer.properties, "mpi.rank")) << ','
        << (inside != nullptr ? field(inside->name) : "");
    std::fill(cells.begin(), cells.end(), std::string());
    for (std::size_t i = set.first_series; i < set.first_series + set.series_count; ++i)
      if (writer.series[i].present_at(row.row))
        cells[columns[row.writer][i]] = exact_value(writer.series[i], row.row);
    for (const std::string& cell : cells) out << ',' << cell;
    out << "\n";
  }
}

}  // namespace substrata::recording
