// What an instrumented run leaves behind: columns with their origin, rows of values, the CSV file and the
// table.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace measured {

// Where the numbers of a column come from.
enum class Origin {
  kMeasured,         // by hardware or the operating system
  kModelled,         // by a model of the library
  kSoftwareDefined,  // counted by the program itself
  kAbsent,           // not at all: every cell is empty, the reason says why
};

// Whose activity a value covers.
enum class Scope { kProcess, kNode };

// One event of the record.
struct Column {
  std::string domain;  // "processor", "temperature", ...
  std::string event;   // the name given to PAPI_add_named_event
  std::string unit;
  Origin origin = Origin::kAbsent;
  Scope scope = Scope::kProcess;
  bool gauge = false;  // a level at the end of the region, not an amount within it
  std::string reason;  // with kAbsent
};

// One region passed by one rank.
struct Row {
  std::int64_t time_ns = 0;  // when the region ended, since the start of the run
  std::int32_t rank = 0;
  std::int32_t region = 0;  // index into Record::regions
  std::int32_t iteration = 0;
  std::vector<std::int64_t> values;  // one per column
  std::vector<bool> present;         // whether that value was read
};

struct Record {
  std::string program;
  std::vector<std::string> regions;
  std::vector<Column> columns;
  std::vector<Row> rows;  // in any order
};

const char* origin_name(Origin origin) noexcept;
const char* scope_name(Scope scope) noexcept;

// Header lines that begin with '#' (one per column: unit, origin, scope), a line of column names, then a line
// per row ordered by time; a value that was not read is an empty cell. Fields are quoted as RFC 4180 asks.
void write_csv(std::ostream& out, const Record& record);

// write_csv to a file; an empty path writes nothing. False, with a message on stderr, when the file cannot
// be written.
bool save_csv(const std::string& path, const Record& record);

// For each region how often it was passed and, per event, the mean of a pass, with unit and origin.
void write_phase_table(std::ostream& out, const Record& record);

}  // namespace measured
