// What the regions of one process have measured, written as the high-level report.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "papi/high_level/passes.hpp"

namespace substrata::high_level {

// One event of every region.
struct Column {
  std::string name;
  std::string component;
  bool instant = false;  // the value itself is reported, not the difference to the region's begin
};

struct MetricPlan;
struct ProcessReport {
  std::string interface_version;  // "7.3.0.0"
  std::string processor;
  int max_mhz = 0, min_mhz = 0;
  std::vector<Column> columns;
  std::vector<Passes> threads;                          // in the order in which they began their first region
  bool as_one_thread = false;                           // all of them are shown as one
  std::shared_ptr<const MetricPlan> metrics = nullptr;  // over the columns; null: none
};

// Takes a report's text, piece by piece.
using TextSink = std::function<void(std::string_view)>;

// JSON of the shape of PAPI's own report: one entry a pass, numbers as strings, reads as "read_1", "read_2".
// Passes that have not ended are left out, with what hangs below them attached to -1.
void write_detailed_json(const ProcessReport& report, const TextSink& sink);
// JSON with one entry a region: passes, threads, and sum, least and greatest of each column's passes (an
// instant column has no sum that means something: its last value is reported).
void write_summary_json(const ProcessReport& report, const TextSink& sink);

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

// Writes what `text` gives to <parent>/<folder>/<file>, whole or not at all. kSystem with the reason.
Status write_report(const std::string& parent, const std::string& folder, const std::string& file,
                    const std::function<void(const TextSink&)>& text);

}  // namespace substrata::high_level
