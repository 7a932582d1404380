// Joins rows of several processes, names instructions by their lines, and prints.
#include "tools/substrata/commands/owl_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

#include "base/command_output.hpp"
#include "base/parse.hpp"
#include "recording/text_report.hpp"

namespace substrata::tool {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kBar = 40;

// Where the values of a bucket of quantiles begin.
double begin_of_part(unsigned bucket) {
  if (bucket < 16) return bucket;
  const unsigned power = (bucket - 16) / 8 + 4, part = (bucket - 16) % 8;
  return static_cast<double>(std::uint64_t{1} << power) * (1 + part / 8.0);
}
double middle_of_part(unsigned bucket) {
  return bucket < 16 ? bucket : (begin_of_part(bucket) + begin_of_part(bucket + 1)) / 2;
}
std::uint64_t begin_of_power(unsigned bucket) { return bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1); }

std::uint64_t all_of(const std::map<unsigned, std::uint64_t>& buckets) {
  std::uint64_t sum = 0;
  for (const auto& [bucket, count] : buckets) sum += count;
  return sum;
}
double quantile(const std::map<unsigned, std::uint64_t>& buckets, double part) {
  const double wanted = part * static_cast<double>(all_of(buckets));
  double passed = 0;
  for (const auto& [bucket, count] : buckets) {
    passed += static_cast<double>(count);
    if (passed >= wanted) return middle_of_part(bucket);
  }
  return 0;
}

std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}
std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 1000 ? "%.4g" : "%.0f", value);
  return text;
}

std::string text_of_key(const json& key) {
  constexpr std::size_t kLongest = 100;
  std::string text = key.is_string() ? key.get<std::string>() : key.dump();
  if (text.size() > kLongest) text.replace(kLongest - 3, std::string::npos, "...");
  return text;
}

struct Source {
  std::string function;
  std::string line;
};

// What addr2line knows of addresses in a file, in their order.
std::vector<Source> sources_of(const std::string& file, const std::vector<std::uint64_t>& addresses) {
  std::vector<Source> found;
  if (file.find('\'') != std::string::npos) return found;
  constexpr std::size_t kAtOnce = 400;
  for (std::size_t begin = 0; begin < addresses.size(); begin += kAtOnce) {
    std::ostringstream command;
    command << "addr2line -f -C -e '" << file << "'" << std::hex;
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, addresses.size()); ++i)
      command << " 0x" << addresses[i];
    const std::vector<std::string> lines = split(command_output(command.str()), '\n');
    std::size_t at = 0;
    const auto next = [&] { return at < lines.size() ? lines[at++] : std::string(); };
    for (std::size_t i = begin; i < std::min(begin + kAtOnce, addresses.size()); ++i) {
      Source one{next(), next()};
      one.line = fs::path(one.line.substr(0, one.line.find(' '))).filename();  // a discriminator may follow
      if (one.line.starts_with("?") || one.line.find(":?") != std::string::npos || one.line.ends_with(":0"))
        one.line.clear();
      if (one.function.starts_with("?")) one.function.clear();
      found.push_back(std::move(one));
    }
  }
  return found;
}

}  // namespace

void OwlTables::add(Table& table, const Keys& keys, const std::vector<Cell>& cells) {
  const auto [at, is_new] = table.rows.try_emplace(keys, cells);
  if (is_new) return;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Cell& into = at->second[i];
    const std::string& how = table.values[i].how;
    if (how == "min")
      into.value = std::min(into.value, cells[i].value);
    else if (how == "max")
      into.value = std::max(into.value, cells[i].value);
    else
      into.value += cells[i].value;
    into.count += cells[i].count;
    for (const auto& [bucket, count] : cells[i].buckets) into.buckets[bucket] += count;
  }
}

void OwlTables::take_row(const json& row) {
  if (row.size() != 3 || !row[0].is_number_unsigned() || !row[1].is_array() || !row[2].is_array()) return;
  const auto found = tables_.find(row[0].get<unsigned>());
  if (found == tables_.end()) return;
  Table& table = found->second;
  if (row[1].size() != table.keys.size() || row[2].size() != table.values.size()) return;
  std::vector<Cell> cells;
  for (const json& one : row[2]) {
    Cell cell;
    if (one.is_number_unsigned()) {
      cell.value = one.get<std::uint64_t>();
    } else if (one.is_array() && one.size() == 2) {
      cell.value = one[0].get<std::uint64_t>();
      cell.count = one[1].get<std::uint64_t>();
    } else if (one.is_object()) {
      for (const auto& [bucket, count] : one.items()) {
        unsigned number = 0;
        leading_number(bucket, &number);
        cell.buckets[number] += count.get<std::uint64_t>();
      }
    }
    cells.push_back(std::move(cell));
  }
  add(table, Keys(row[1].begin(), row[1].end()), cells);
}

void OwlTables::take(const std::string& lines) {
  std::istringstream input(lines);
  for (std::string line; std::getline(input, line);) {
    const json one = json::parse(line, nullptr, false);
    if (one.is_array()) {
      take_row(one);
    } else if (one.is_object() && one.contains("table")) {
      Table& table = tables_[one["table"].get<unsigned>()];
      if (!table.values.empty()) continue;  // of another process
      for (const json& key : one["keys"]) table.keys.push_back({key["name"], key["as"]});
      for (const json& value : one["values"]) table.values.push_back({value["name"], value["op"]});
    } else if (one.is_object() && one.contains("message")) {
      const std::string message = one["message"];
      if (std::find(messages_.begin(), messages_.end(), message) == messages_.end())  // of another process
        messages_.push_back(message);
    } else if (one.is_object() && one.contains("end")) {
      seen_ += one["seen"].get<std::uint64_t>();
      dropped_ += one["dropped"].get<std::uint64_t>();
      if (one["seen"] != 0) ++processes_;
    }
  }
}

void OwlTables::resolve() {
  std::map<std::string, std::map<std::uint64_t, Source>> known;  // by file and address
  for (const auto& [number, table] : tables_)
    for (const auto& [keys, cells] : table.rows)
      for (const json& key : keys)
        if (key.is_object()) known[key["file"]][key["at"].get<std::uint64_t>()];
  for (auto& [file, sources] : known) {
    std::vector<std::uint64_t> addresses;
    for (const auto& [address, source] : sources) addresses.push_back(address);
    const std::vector<Source> found = sources_of(file, addresses);
    for (std::size_t i = 0; i < found.size(); ++i) sources[addresses[i]] = found[i];
  }
  for (auto& [number, table] : tables_) {
    std::map<Keys, std::vector<Cell>> before;
    before.swap(table.rows);
    for (const auto& [keys, cells] : before) {
      Keys named = keys;
      for (std::size_t k = 0; k < named.size(); ++k) {
        json& key = named[k];
        if (!key.is_object()) continue;
        const std::string file = key["file"], symbol = key["symbol"];
        const Source& source = known[file][key["at"].get<std::uint64_t>()];
        std::string name = table.keys[k].how == "line" ? source.line : source.function;
        if (name.empty()) name = !symbol.empty() ? symbol : fs::path(file).filename().string();
        key = name;
      }
      add(table, named, cells);
    }
  }
}

json OwlTables::value_of(const Column& column, const Cell& cell) {
  if (column.how == "avg")
    return cell.count == 0 ? 0.0 : static_cast<double>(cell.value) / static_cast<double>(cell.count);
  if (column.how == "quantiles")
    return {{"count", all_of(cell.buckets)},
            {"p50", quantile(cell.buckets, 0.5)},
            {"p90", quantile(cell.buckets, 0.9)},
            {"p99", quantile(cell.buckets, 0.99)}};
  if (column.how == "histogram") {
    json bars = json::array();
    for (const auto& [bucket, count] : cell.buckets)
      bars.push_back({{"from", begin_of_power(bucket)}, {"count", count}});
    return bars;
  }
  return cell.value;
}

std::string OwlTables::text_of(const Column& column, const Cell& cell) {
  if (column.how == "avg") return rounded(value_of(column, cell).get<double>());
  if (column.how == "quantiles")
    return rounded(quantile(cell.buckets, 0.5)) + " / " + rounded(quantile(cell.buckets, 0.9)) + " / " +
           rounded(quantile(cell.buckets, 0.99));
  if (column.how == "histogram") return grouped(all_of(cell.buckets));
  return grouped(cell.value);
}

double OwlTables::rank_of(const Column& column, const Cell& cell) {
  if (column.how == "avg") return value_of(column, cell).get<double>();
  if (column.how == "quantiles" || column.how == "histogram")
    return static_cast<double>(all_of(cell.buckets));
  return static_cast<double>(cell.value);
}

// The greatest first value first; periods in their order.
std::vector<const OwlTables::Row*> OwlTables::sorted(const Table& table) {
  std::vector<const Row*> rows;
  for (const Row& row : table.rows) rows.push_back(&row);
  const bool by_period = !table.keys.empty() && table.keys[0].name == "period";
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) {
    if (by_period && a->first[0] != b->first[0]) return a->first[0] < b->first[0];
    return rank_of(table.values[0], a->second[0]) > rank_of(table.values[0], b->second[0]);
  });
  return rows;
}

bool OwlTables::has_shares(const Table& table) {
  return !table.keys.empty() && !table.values.empty() &&
         (table.values[0].how == "count" || table.values[0].how == "sum");
}

void OwlTables::print(const Table& table, std::size_t most_rows) const {
  const std::vector<const Row*> rows = sorted(table);
  const bool shares = has_shares(table);
  double all = 0;
  for (const Row* row : rows) all += rank_of(table.values[0], row->second[0]);
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& value : table.values)
    lines[0].push_back(value.name + (value.how == "quantiles" ? " p50 / p90 / p99" : ""));
  if (shares) lines[0].push_back("share");
  for (const Column& key : table.keys) lines[0].push_back(key.name);
  for (const Row* row : rows) {
    if (lines.size() > most_rows) break;
    std::vector<std::string> line;
    for (std::size_t i = 0; i < table.values.size(); ++i)
      line.push_back(text_of(table.values[i], row->second[i]));
    if (shares) {
      char share[16];
      std::snprintf(share, sizeof share, "%.1f %%",
                    all != 0 ? 100 * rank_of(table.values[0], row->second[0]) / all : 0);
      line.push_back(share);
    }
    for (const json& key : row->first) line.push_back(text_of_key(key));
    lines.push_back(std::move(line));
  }
  const std::size_t numbers = table.values.size() + (shares ? 1 : 0);
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::size_t number = 0;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const int width = i + 1 == line.size() && i >= numbers ? 0 : static_cast<int>(widths[i]);
      std::printf(i < numbers ? "  %*s" : "  %-*s", width, line[i].c_str());
    }
    std::printf("\n");
    if (number++ == 0) continue;
    const Row& row = *rows[number - 2];
    for (std::size_t i = 0; i < table.values.size(); ++i) {
      if (table.values[i].how != "histogram") continue;
      std::uint64_t most = 1;
      for (const auto& [bucket, count] : row.second[i].buckets) most = std::max(most, count);
      for (const auto& [bucket, count] : row.second[i].buckets) {
        const long length = std::lround(static_cast<double>(count) / static_cast<double>(most) * kBar);
        std::printf("    %14s.. %14s |%s\n", grouped(begin_of_power(bucket)).c_str(), grouped(count).c_str(),
                    std::string(static_cast<std::size_t>(length), '#').c_str());
      }
    }
  }
  if (rows.size() > most_rows) std::printf("  and %zu more rows\n", rows.size() - most_rows);
}

void OwlTables::print(std::size_t most_rows) const {
  const char* before = "";
  for (const auto& [number, table] : tables_) {
    std::printf("%s", before);
    before = "\n";
    if (table.rows.empty())
      std::printf("  nothing came to %s\n",
                  table.values.empty() ? "the table" : table.values[0].name.c_str());
    else
      print(table, most_rows);
  }
}

json OwlTables::as_json(std::size_t most_rows) const {
  json tables = json::array();
  for (const auto& [number, table] : tables_) {
    json one = {{"keys", json::array()}, {"values", json::array()}, {"rows", json::array()}};
    for (const Column& key : table.keys) one["keys"].push_back(key.name);
    for (const Column& value : table.values) one["values"].push_back(value.name);
    const std::vector<const Row*> rows = sorted(table);
    double all = 0;
    for (const Row* row : rows) {
      if (!table.values.empty()) all += rank_of(table.values[0], row->second[0]);
      if (one["rows"].size() >= most_rows) continue;
      json values = json::array();
      for (std::size_t i = 0; i < row->second.size(); ++i)
        values.push_back(value_of(table.values[i], row->second[i]));
      one["rows"].push_back({{"keys", row->first}, {"values", values}});
    }
    if (has_shares(table)) one["all"] = all;
    one["left_out"] = rows.size() - one["rows"].size();
    tables.push_back(std::move(one));
  }
  return {{"query", query_},       {"tables", tables},    {"processes", processes_},
          {"transactions", seen_}, {"dropped", dropped_}, {"messages", messages_}};
}

std::string OwlTables::as_text(std::size_t most_rows, int indent) const {
  return as_json(most_rows).dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string OwlTables::progress() const {
  std::string text;
  for (const auto& [number, table] : tables_) {
    const std::vector<const Row*> rows = sorted(table);
    if (rows.empty()) continue;
    text += (text.empty() ? "" : "; ") + table.values[0].name + " " +
            text_of(table.values[0], rows[0]->second[0]);
    for (const json& key : rows[0]->first)
      text += " " + (key.is_object() ? key["symbol"].get<std::string>() : text_of_key(key));
  }
  return text;
}

}  // namespace substrata::tool
