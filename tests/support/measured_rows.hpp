// The numbers that a benchmark prints, as JSON too, as tests/bench/run reads them.
#pragma once

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace substrata::tests {

class MeasuredRows {
 public:
  // Of so many rounds each.
  explicit MeasuredRows(int rounds) : rounds_(rounds) {}

  // `of`: the number that the value belongs to.
  template <typename Of>
  void add(std::string study, const Of& of, double value, const char* unit) {
    std::ostringstream text;
    text << of;
    rows_.push_back({std::move(study), text.str(), value, unit});
  }

  // The exit status of a benchmark with the command line [--json FILE]; `measure` adds the rows, false if it cannot.
  template <typename Measure>
  int run(int argc, char** argv, Measure measure) const {
    if (argc != 1 && (argc != 3 || std::strcmp(argv[1], "--json") != 0)) {
      std::fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
      return 2;
    }
    if (!measure()) return 1;
    return argc == 3 && !write(argv[2]) ? 1 : 0;
  }

 private:
  struct Row {
    std::string study, of;
    double value;
    std::string unit;
  };

  bool write(const char* path) const {
    std::ofstream file(path);
    file << "{\"rounds\": " << rounds_ << ", \"rows\": [";
    for (const Row& row : rows_)
      file << (&row == rows_.data() ? "\n" : ",\n") << "  {\"study\": \"" << row.study
           << "\", \"of\": " << row.of << ", \"value\": " << row.value << ", \"unit\": \"" << row.unit
           << "\"}";
    file << "\n]}\n";
    return file.good();
  }

  const int rounds_;
  std::vector<Row> rows_;
};

}  // namespace substrata::tests
