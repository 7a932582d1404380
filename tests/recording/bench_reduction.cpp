// What it costs to bring many ranks down to one report: time, memory and sizes for 16 to 1024 simulated ranks
// of 600 rows and eight series each, as a minute of `substrata record -i 100ms` gives; and what a report of one long
// recording costs. bench_reduction [--json FILE]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "recording/html_report.hpp"
#include "recording/memory_sink.hpp"
#include "recording/reader.hpp"
#include "recording/reduction.hpp"
#include "recording/text_report.hpp"
#include "support/measured_rows.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace substrata::recording;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kSeries = 8, kRows = 600;

void write_rank(const std::string& path, int rank, int rows = kRows) {
  FileWriter file(path, FileWriter::Mode::kAppend,
                  {{"host", "node"},
                   {"machine.boot_id", "boot"},
                   {"start.raw_ns", std::to_string(kSecond)},
                   {"start.real_ns", "1700000000000000000"},
                   {"mpi.rank", std::to_string(rank)}});
  std::vector<SeriesInfo> series;
  for (int i = 0; i < kSeries; ++i) {
    SeriesInfo one;
    one.name = "series" + std::to_string(i);
    one.unit = i % 4 == 3 ? "mdegC" : "ns";
    one.kind = i % 4 == 3 ? Kind::kGauge : Kind::kCount;
    one.scope = "process tree";
    series.push_back(one);
  }
  const std::uint32_t set = file.declare(series);
  std::uint64_t random = static_cast<std::uint64_t>(rank) + 1;
  std::int64_t values[kSeries] = {};
  const std::uint8_t flags[kSeries] = {};
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < kSeries; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const auto step = static_cast<std::int64_t>(random >> 40);
      values[i] = i % 4 == 3 ? 40'000 + step % 1000 : values[i] + step;
    }
    file.sample(set, kSecond + row * (kSecond / 10), 1000, values, flags);
  }
  file.end(kSecond + rows * (kSecond / 10) + kSecond, {});
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Most memory that this process has used so far, in MB; it only grows, so small runs come first.
double memory_mb() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

// For tests/bench/run.
substrata::tests::MeasuredRows rows(1);

// The report of a recording, as text and as a page; gives the page's bytes.
size_t report(const Recording& read) {
  const Timeline timeline = lay_out(read);
  std::ostringstream text, page;
  write_text_report(text, timeline, "sum");
  write_html_report(page, timeline, "sum");
  return page.str().size();
}

void of_ranks(const substrata::tests::TemporaryFolder& folder) {
  std::printf("one file a rank, reduced one after the other; then the report of the result\n");
  std::printf("%6s %10s %12s %10s %12s %10s %10s %10s\n", "ranks", "files [kB]", "reduce [s]", "a rank [ms]",
              "reports [s]", "memory [MB]", "record [kB]", "page [kB]");
  for (const int ranks : {16, 64, 256, 1024}) {
    double input = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string path = folder.file("r" + std::to_string(rank));
      std::filesystem::remove(path);
      write_rank(path, rank);
      input += static_cast<double>(std::filesystem::file_size(path));
    }
    const double begin = seconds();
    Reduction sum;
    for (int rank = 0; rank < ranks; ++rank) {
      const Recording one = read_file(folder.file("r" + std::to_string(rank)));
      sum.add(lay_out(one));
    }
    sum.write(folder.file("sum"));
    const double reduced = seconds();
    const Recording read = read_file(folder.file("sum"));
    const size_t page = report(read);
    const double reported = seconds();
    std::printf("%6d %10.0f %12.3f %10.2f %12.3f %10.1f %10.1f %10.1f\n", ranks, input / 1e3, reduced - begin,
                1e3 * (reduced - begin) / ranks, reported - reduced, memory_mb(),
                static_cast<double>(read.file_bytes) / 1e3, static_cast<double>(page) / 1e3);
    rows.add("bringing down one of so many ranks", static_cast<double>(ranks),
             1e3 * (reduced - begin) / ranks, "ms");
    rows.add("most memory of bringing ranks down", static_cast<double>(ranks), memory_mb(), "MB");
    rows.add("page of ranks", static_cast<double>(ranks), static_cast<double>(page) / 1e3, "kB");
  }
}

void of_history(const substrata::tests::TemporaryFolder& folder) {
  std::printf("one file of so many samples: read, and its report as text and as a page\n");
  std::printf("%9s %10s %16s %10s %10s\n", "samples", "report [s]", "a sample [ns]", "memory [MB]",
              "page [kB]");
  for (const int count : {1'000, 10'000, 100'000, 1'000'000, 12'500'000}) {
    const std::string path = folder.file("history");
    std::filesystem::remove(path);
    write_rank(path, 0, count);
    const double begin = seconds();
    const size_t page = report(read_file(path, kSamplesOfAReport));
    const double took = seconds() - begin, samples = double{kSeries} * count;
    std::printf("%9.0f %10.3f %16.0f %10.1f %10.1f\n", samples, took, 1e9 * took / samples, memory_mb(),
                static_cast<double>(page) / 1e3);
    rows.add("report of a recording, by its samples, for one of them", samples, 1e9 * took / samples, "ns");
    rows.add("most memory of that report, by its samples", samples, memory_mb(), "MB");
    rows.add("page of that report, by its samples", samples, static_cast<double>(page) / 1e3, "kB");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return rows.run(argc, argv, [] {
    const substrata::tests::TemporaryFolder folder;
    of_ranks(folder);
    of_history(folder);
    return true;
  });
}
