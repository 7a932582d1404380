// What the processes of an observed program counted, joined and shown.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace substrata::tool {

// The tables of a query, from the lines of JSON that substrata_owl_query_write writes. Thread-compatible.
class OwlTables {
 public:
  explicit OwlTables(std::string query) : query_(std::move(query)) {}
  // The lines of one process, whole or the part of them that is there so far; what is no line of a query is passed
  // over.
  void take(const std::string& lines);
  // Instructions become lines and functions, by addr2line. Before the others.
  void resolve();
  void print(std::size_t most_rows) const;
  // docs/reference/owl.md has its form. At most so many rows of each table.
  nlohmann::json as_json(std::size_t most_rows = SIZE_MAX) const;
  // The same as text.
  std::string as_text(std::size_t most_rows = SIZE_MAX, int indent = -1) const;
  // "12,034 transactions, write(...): 3 rows": for a line that shows progress.
  std::string progress() const;
  const std::vector<std::string>& messages() const { return messages_; }
  std::uint64_t seen() const { return seen_; }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t processes() const { return processes_; }

 private:
  // A value of a row; which of the fields is in use depends on how it is computed.
  struct Cell {
    std::uint64_t value = 0;
    std::uint64_t count = 0;
    std::map<unsigned, std::uint64_t> buckets;
  };
  struct Column {
    std::string name;
    std::string how;  // "count", "avg", ...; of a key "value", "line" or "function"
  };
  using Keys = std::vector<nlohmann::json>;
  struct Table {
    std::vector<Column> keys;
    std::vector<Column> values;
    std::map<Keys, std::vector<Cell>> rows;
  };
  using Row = std::pair<const Keys, std::vector<Cell>>;

  void take_row(const nlohmann::json& row);
  void print(const Table& table, std::size_t most_rows) const;
  static void add(Table& table, const Keys& keys, const std::vector<Cell>& cells);
  // Are the rows parts of a whole?
  static bool has_shares(const Table& table);
  static std::vector<const Row*> sorted(const Table& table);
  static double rank_of(const Column& column, const Cell& cell);
  static nlohmann::json value_of(const Column& column, const Cell& cell);
  static std::string text_of(const Column& column, const Cell& cell);

  std::string query_;
  std::map<unsigned, Table> tables_;
  std::vector<std::string> messages_;
  std::uint64_t seen_ = 0;
  std::uint64_t dropped_ = 0;
  std::size_t processes_ = 0;
};

}  // namespace substrata::tool
