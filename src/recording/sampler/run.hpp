// A command run under a sampler: what `substrata record` and `substrata stat` have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recording/sampler/sampler.hpp"
#include "recording/writer.hpp"

namespace substrata::sampler {

// What to run and to sample.
struct Plan {
  std::vector<std::string> command;
  std::vector<std::string> shown;        // what the recording calls the command; empty: `command`
  std::vector<std::string> event_specs;  // events; empty: the usual ones
  bool usual = true;                     // false: no usual ones either
  std::vector<std::string> also;         // events of which those that refuse are left out, and reported
  std::int64_t interval_ns = 100'000'000;
  std::int64_t flush_ns = 1'000'000'000;
  bool node = true;  // events of the node are taken too
  std::int32_t rank = -1;
  // The shim is preloaded into the ranks, by the launcher that the command is or by `preload`: their messages
  // are sampled, and the summary that rank 0 writes is kept.
  bool mpi = false;
  std::string preload;  // into the command: the shim, where the command is one rank
  std::vector<std::pair<std::string, std::string>> environment;  // of the command, beside its own
  bool silent = false;     // the command's output is thrown away, its input is empty
  bool placement = false;  // where its tasks run is watched
};

struct Outcome {
  int status = 0;                // of the command, as a shell gives it
  std::string how;               // it ended
  bool end_requested = false;    // a signal to end came, which means this process as well
  std::int64_t begin = 0;        // CLOCK_MONOTONIC_RAW, when it was let go
  std::int64_t end = 0;          // and when its end was seen
  double user_and_system_s = 0;  // processor time of the command
  std::uint64_t rows = 0;
  std::uint64_t missed = 0;  // ticks that came while a row was still being read
  std::size_t events = 0;
  std::string mpi_summary;         // JSON, where an MPI program came to MPI_Finalize
  std::string placement;           // JSON of what was watched
  std::vector<Refused> refused;    // of the events that were named, else of the usual ones
  std::vector<Counting> counting;  // of the first series, at the end
  std::string failure;             // why the recording stopped before the command did; else empty
};

// Where the samples go. `open` is called once it is known what stands at a recording's beginning, `flush` from
// time to time, `end` when the command has ended; the sink lives until then.
struct Destination {
  std::function<std::unique_ptr<recording::Sink>(const recording::Properties&)> open;
  std::function<void()> begun = [] {};  // the command runs
  std::function<void()> flush;
  std::function<void(const Outcome&, const recording::Properties&)> end;
};

// Starts the library. Throws std::runtime_error when an event that was named cannot be counted or nothing
// at all can be sampled, CommandError when the command cannot be executed.
Outcome run_sampled(const Plan& plan, const Destination& destination);

// "mpirun", "/usr/bin/mpiexec.hydra", ...
bool is_mpi_launcher(const std::string& word);

// The command as `substrata mpirun` starts it, with the shim of its MPI library. Throws std::runtime_error
// with the reason when it is not a launcher or there is no shim for it.
std::vector<std::string> with_shim(const std::vector<std::string>& command);

// What recording costs the command: it is run alternately without and with sampling, its output discarded, and
// the medians of the ratios of processor time and of elapsed time are reported. `pairs` of runs, after one that
// warms up.
recording::Properties measure_overhead(const Plan& plan, std::uint64_t pairs);

// "50ms", "1s", "200us"; a number alone is milliseconds. Throws std::runtime_error with the reason.
std::int64_t parse_duration(const std::string& text);

// The words of a command line before and after "--". Nothing: there is no "--" or nothing after it.
struct SplitLine {
  std::vector<char*> before;
  std::vector<std::string> command;
};
std::optional<SplitLine> split_at_dashes(int argc, char** argv);

}  // namespace substrata::sampler
