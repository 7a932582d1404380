// Writes a record of an instrumented run as CSV and as a table of means per region.
#include "record.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <set>
#include <sstream>
#include <utility>

namespace measured {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// A header line must stay one line, whatever an event or a reason is called.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::vector<const Row*> rows_by_time(const Record& record) {
  std::vector<const Row*> rows;
  rows.reserve(record.rows.size());
  for (const Row& row : record.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return std::pair(a->time_ns, a->rank) < std::pair(b->time_ns, b->rank);
  });
  return rows;
}

struct Mean {
  double sum = 0;
  std::int64_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  std::string text() const {
    if (count == 0) return "-";
    const double mean = sum / static_cast<double>(count);
    std::ostringstream out;
    out << std::fixed << std::setprecision(mean < 100 && mean > -100 ? 2 : 0) << mean;
    return out.str();
  }
};

struct TableLine {
  std::string event, unit, origin;
  std::vector<Mean> means;
};

}  // namespace

const char* origin_name(Origin origin) noexcept {
  switch (origin) {
    case Origin::kMeasured:
      return "measured";
    case Origin::kModelled:
      return "modelled";
    case Origin::kSoftwareDefined:
      return "software-defined";
    case Origin::kAbsent:
      break;
  }
  return "absent";
}

const char* scope_name(Scope scope) noexcept { return scope == Scope::kProcess ? "process" : "node"; }

void write_csv(std::ostream& out, const Record& record) {
  out << "# " << one_line(record.program) << "\n";
  out << "# a row is one region passed by one rank; empty cells were not read\n";
  out << "# column time_ns: unit ns; measured; when the region ended, since the start of the run\n";
  out << "# column rank: process number in MPI_COMM_WORLD\n";
  out << "# column region: what the process did\n";
  out << "# column iteration: pass of the loop\n";
  for (const Column& column : record.columns) {
    out << "# column " << one_line(column.event) << ": unit " << one_line(column.unit) << "; "
        << origin_name(column.origin) << "; ";
    if (column.origin == Origin::kAbsent) {
      out << one_line(column.reason) << "\n";
      continue;
    }
    out << "domain " << column.domain << "; per " << scope_name(column.scope) << "; "
        << (column.gauge ? "level at the end of the region" : "amount within the region") << "\n";
  }
  out << "time_ns,rank,region,iteration";
  for (const Column& column : record.columns) out << ',' << csv_field(column.event);
  out << "\n";
  for (const Row* row : rows_by_time(record)) {
    out << row->time_ns << ',' << row->rank << ','
        << csv_field(record.regions.at(static_cast<std::size_t>(row->region))) << ',' << row->iteration;
    for (std::size_t i = 0; i < record.columns.size(); ++i) {
      out << ',';
      if (row->present.at(i)) out << row->values.at(i);
    }
    out << "\n";
  }
}

bool save_csv(const std::string& path, const Record& record) {
  if (path.empty()) return true;
  std::ofstream file(path);
  write_csv(file, record);
  file.close();
  if (file) return true;
  std::cerr << record.program << ": cannot write '" << path << "'\n";
  return false;
}

void write_phase_table(std::ostream& out, const Record& record) {
  const std::size_t regions = record.regions.size();
  std::vector<TableLine> lines;
  lines.push_back({"elapsed time", "us", origin_name(Origin::kMeasured), std::vector<Mean>(regions)});
  for (const Column& column : record.columns) {
    std::string origin = origin_name(column.origin);
    if (column.origin != Origin::kAbsent && column.scope == Scope::kNode) origin += ", whole node";
    if (column.gauge) origin += ", level";
    lines.push_back({column.event, column.unit, origin, std::vector<Mean>(regions)});
  }
  std::vector<std::set<std::int32_t>> iterations(regions);
  std::set<std::int32_t> ranks;
  std::vector<std::int64_t> last_time;  // by rank: a region begins where the one before it ended
  for (const Row* row : rows_by_time(record)) {
    const auto region = static_cast<std::size_t>(row->region);
    const auto rank = static_cast<std::size_t>(row->rank);
    ranks.insert(row->rank);
    iterations.at(region).insert(row->iteration);
    if (last_time.size() <= rank) last_time.resize(rank + 1, 0);
    lines[0].means.at(region).add(static_cast<double>(row->time_ns - last_time[rank]) / 1e3);
    last_time[rank] = row->time_ns;
    for (std::size_t i = 0; i < record.columns.size(); ++i) {
      if (row->present.at(i)) lines[i + 1].means.at(region).add(static_cast<double>(row->values.at(i)));
    }
  }

  std::size_t event_width = 5, unit_width = 4, origin_width = 6;
  for (const TableLine& line : lines) {
    event_width = std::max(event_width, line.event.size());
    unit_width = std::max(unit_width, line.unit.size());
    origin_width = std::max(origin_width, line.origin.size());
  }
  constexpr int kValueWidth = 16;
  const auto print = [&](const std::string& event, const std::string& unit, const std::string& origin) {
    out << "  " << std::left << std::setw(static_cast<int>(event_width)) << event << "  "
        << std::setw(static_cast<int>(unit_width)) << unit << "  "
        << std::setw(static_cast<int>(origin_width)) << origin << std::right;
  };
  out << one_line(record.program) << ": mean of one pass, " << ranks.size() << " ranks\n";
  print("region", "", "");
  for (const std::string& region : record.regions) out << std::setw(kValueWidth) << region;
  out << "\n";
  print("iterations", "", "");
  for (const auto& seen : iterations) out << std::setw(kValueWidth) << seen.size();
  out << "\n";
  for (const TableLine& line : lines) {
    print(line.event, line.unit, line.origin);
    for (const Mean& mean : line.means) out << std::setw(kValueWidth) << mean.text();
    out << "\n";
  }
  for (const Column& column : record.columns) {
    if (column.origin == Origin::kAbsent) {
      out << "  absent: " << one_line(column.event) << ": " << one_line(column.reason) << "\n";
    }
  }
}

}  // namespace measured
