// What the regions of one process have measured, written as the high-level report.
#ifndef SUBSTRATA_HIGH_LEVEL_REPORT_HPP
#define SUBSTRATA_HIGH_LEVEL_REPORT_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace substrata::high_level {

// One event of every region.
struct Column {
  std::string name;
  std::string component;
  bool instant = false;  // the value itself is reported, not the difference to the region's begin
};

// Clock and events at one moment; values in the order of the columns.
struct Moment {
  int64_t cycles = 0;
  int64_t ns = 0;
  std::vector<int64_t> values;
};

// One passage through a region.
struct Passage {
  std::string region;
  int parent = -1;  // index of the passage around this one in the same thread
  Moment begin, end;
  std::vector<Moment> reads;
  bool ended = false;
};

struct MetricPlan;
struct ProcessReport {
  std::string interface_version;  // "7.3.0.0"
  std::string processor;
  int max_mhz = 0, min_mhz = 0;
  std::vector<Column> columns;
  std::vector<std::vector<Passage>> threads;            // in the order in which they began their first region
  std::shared_ptr<const MetricPlan> metrics = nullptr;  // over the columns; null: none
};

// JSON of the shape of PAPI's own report: one entry a passage, numbers as strings, reads as "read_1",
// "read_2". Passages that have not ended are left out, with what hangs below them attached to -1.
std::string detailed_json(const ProcessReport& report);
// JSON with one entry a region: passages, threads, and sum, least and greatest of each column's passages (an
// instant column has no sum that means something: its last value is reported).
std::string summary_json(const ProcessReport& report);

// Where reports go: <parent>/papi_hl_output/rank_<rank>.json, the rank with four digits, or the process id
// with six where the environment names no rank.
struct Destination {
  std::string parent;
  std::string file;
};
// From PAPI_OUTPUT_DIRECTORY, else the working directory, and the rank variables of the common launchers.
Destination destination();

// Where launchers of MPI write the rank of a process.
inline constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "ALPS_APP_PE", "PMI_RANK",
                                                 "SLURM_PROCID"};
// The rank that a launcher of MPI gave this process; -1 outside of one.
long rank_of_process() noexcept;

// Moves a papi_hl_output that was finished before this job began (job_start.hpp) aside, its date appended. Safe against
// other processes doing the same. kSystem when it cannot be moved.
Status put_old_reports_aside(const std::string& parent);

// Writes text to <parent>/<folder>/<file>, whole or not at all. kSystem with the reason.
Status write_report(const std::string& parent, const std::string& folder, const std::string& file,
                    const std::string& text);

}  // namespace substrata::high_level

#endif
