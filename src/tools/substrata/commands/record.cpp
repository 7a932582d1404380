// substrata record: a command's events over time, into a file.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/parse.hpp"
#include "recording/placement.hpp"
#include "recording/queries.hpp"
#include "recording/reader.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/descriptor.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/mpi_launching.hpp"
#include "recording/sampler/run.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/command_line.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/owl_observing.hpp"
#include "tools/substrata/commands/owl_tables.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr auto kOverwrite = std::filesystem::copy_options::overwrite_existing;

// A recording that is there already, under its name with ".old" while the new one is made. Where the command
// did not begin, everything is as it was before.
class OldRecording {
 public:
  explicit OldRecording(std::string path) : path_(std::move(path)) {}
  // To be called before the new one is opened. Throws std::system_error, and std::runtime_error if another recorder is
  // writing it.
  void set_aside() {
    struct stat about {};
    if (lstat(path_.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0) return;
    // Locked until it is renamed. For writing, because network file systems lock only that exclusively.
    const Descriptor lock(open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (lock.get() >= 0) recording::lock_recording(path_, lock.get());
    if (lock.get() >= 0 && !recording::names_open_file(path_, lock.get())) return set_aside();
    // The one that is older still goes when the command has begun.
    std::filesystem::rename(path_, kept());
    aside_ = true;
  }
  void command_began() {
    if (aside_) std::filesystem::rename(kept(), path_ + ".old");
    aside_ = false;
  }
  ~OldRecording() {
    std::error_code ignored;
    if (aside_) std::filesystem::rename(kept(), path_, ignored);
  }
  OldRecording(const OldRecording&) = delete;
  OldRecording& operator=(const OldRecording&) = delete;

 private:
  std::string kept() const { return path_ + ".old~"; }
  std::string path_;
  bool aside_ = false;
};

// The ranks of a node share one file. The first one empties the file of an earlier job and keeps a copy; an
// empty one is left alone, because another rank may be about to write.
void empty_old_file(const std::string& path, const std::string& job) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  // Other ranks hold the lock for as long as they empty the file, a recorder that is no rank until its command ends.
  constexpr std::chrono::milliseconds kLongestEmptying{60'000}, kPause{10};
  int locked = file < 0 ? -1 : flock(file, LOCK_EX | LOCK_NB);
  for (auto waited = kPause; file >= 0 && locked != 0 && errno == EWOULDBLOCK && waited < kLongestEmptying;
       waited += kPause) {
    std::this_thread::sleep_for(kPause);
    locked = flock(file, LOCK_EX | LOCK_NB);
  }
  if (locked != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    throw std::system_error(error, std::generic_category(), "the recording '" + path + "' cannot be opened");
  }
  int error = 0;
  if (lseek(file, 0, SEEK_END) > 0) {
    bool ours = false;
    try {
      const recording::Recording before = recording::read_file(path);
      ours = recording::property(before.writers.front().properties, "mpi.job") == job;
    } catch (const std::runtime_error&) {
      // Not a recording: what is there is replaced, as by a single process.
    }
    // Copied, not renamed: another rank may wait for the lock of this very file.
    std::error_code failed;
    if (!ours) std::filesystem::copy_file(path, path + ".old", kOverwrite, failed);
    if (failed)
      error = failed.value();
    else if (!ours && ftruncate(file, 0) != 0)
      error = errno;
  }
  close(file);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), "the recording '" + path + "' cannot be emptied");
}

std::string with_host(std::string path) {
  const std::string host = host_name();
  for (std::size_t at = 0; (at = path.find("%h", at)) != std::string::npos; at += host.size())
    path.replace(at, 2, host);
  return path;
}

// Of each table of a query.
constexpr std::size_t kMostRows = 1000;

constexpr const char* kUsage =
    "Runs a command, samples events on one clock and writes them to a file for `substrata report`.\n\n"
    "  substrata record -- make -j4\n"
    "  substrata record -e perf::TASK-CLOCK,'coretemp:::*' -i 50ms -o run.sub -- ./program\n"
    "  substrata record -- mpirun -n 4 hpcc        one recorder for all ranks on this node, with their "
    "messages\n"
    "  mpirun -n 64 substrata record -- ./program  one recorder per rank, one file per node "
    "(record.HOST.sub)\n"
    "  substrata record --owl 'mpi.send: sum(size) by region, size' -- mpirun -n 4 hpcc\n\n"
    "Processor and software events follow the command and its children; all other events (temperature, "
    "energy, network) are those of the whole node. The command may append lines `begin NAME`, `end NAME` and "
    "`mark NAME` to the file named in SUBSTRATA_MARKS. An earlier recording of the same name becomes "
    "NAME.old; one that another recorder is writing is refused. The exit status is the command's, or 1 if "
    "the command succeeded and the recording is incomplete or its file gone.";

}  // namespace

int record(int argc, char** argv) {
  std::string out, interval = "100ms", flush = "1s";
  std::vector<std::string> event_specs;
  OwlRequest request;
  request.origin = "--owl";
  bool quiet = false, mpi = false, no_mpi = false;
  std::uint64_t pairs = 0;
  Arguments arguments("substrata record", kUsage);
  arguments.words("-e,--events", event_specs,
                  "events, separated by commas; '*' and '?' are wildcards (default: a standard set)",
                  Arguments::Value::kEvents);
  arguments.word("-i,--interval", interval, "time between samples: 50ms, 1s (default 100ms)",
                 Arguments::Value::kDuration);
  arguments.word("-o,--output", out, "file to write, %h is the host (default record.sub)",
                 Arguments::Value::kFile);
  arguments.word("--flush", flush, "longest time lost when recording is killed (default 1s)",
                 Arguments::Value::kDuration);
  arguments.flag(
      "--mpi", mpi,
      "preload the MPI shim: sample messages, take sections as regions; the default where "
      "the command begins with mpirun or mpiexec and its MPI library has a shim here; of a script, "
      "those of the ranks on this node");
  arguments.flag("--no-mpi", no_mpi, "do not preload the MPI shim");
  arguments.number("--overhead", pairs,
                   "first run the command N times without and with recording, and store the overhead");
  arguments.word("--owl", request.text,
                 "a line of the Owl language, as of `substrata owl -e`: what it counts meanwhile is kept and "
                 "shown with the recording");
  arguments.flag("-q,--quiet", quiet, "print no summary line on standard error");
  std::vector<std::string> command;
  if (const auto status = parse_before_command(arguments, argc, argv, &command)) return *status;
  if (command.empty()) {
    std::fprintf(stderr, "substrata record: no command is named; for example: substrata record sleep 1\n");
    return 2;
  }

  Plan plan;
  plan.command = command;
  plan.event_specs = event_specs;
  plan.shown = command;
  plan.placement = true;
  recording::Properties extra;
  const std::optional<RankOfJob> rank = rank_of_job();
  if (!no_mpi && (mpi || rank || is_mpi_launcher(command.front()))) {
    try {
      if (rank)
        plan.preload = shim_for_program(command.front());
      else if (!is_mpi_launcher(command.front()))
        plan.preload = shim_for_script();
      else
        plan.command = with_shim(command);
      plan.mpi = true;
    } catch (const std::runtime_error& error) {
      if (mpi) throw;
      extra.emplace_back("note.mpi", std::string("messages are not sampled: ") + error.what());
    }
  }
  plan.interval_ns = parse_duration(interval);
  plan.flush_ns = parse_duration(flush);
  std::optional<OwlObserving> observing;
  if (!request.text.empty()) {
    observing.emplace(request);
    plan.preload += (plan.preload.empty() ? "" : ":") + observing->preload();
    plan.environment = observing->environment();
  }
  if (out.empty()) out = rank ? "record.%h.sub" : "record.sub";
  out = with_host(out);
  if (rank) {
    leading_number(rank->rank, &plan.rank);
    plan.node = rank->local_rank == "0";
    extra.emplace_back("mpi.rank", rank->rank);
    extra.emplace_back("mpi.job", rank->job);
    find_command(command.front());
    empty_old_file(out, rank->job);
  }

  recording::FileWriter* file = nullptr;
  OldRecording old(out);
  Destination destination;
  destination.open = [&](const recording::Properties& properties) {
    recording::Properties all = properties;
    all.insert(all.end(), extra.begin(), extra.end());
    if (!rank) old.set_aside();
    auto made = std::make_unique<recording::FileWriter>(
        out, rank ? recording::FileWriter::Mode::kAppend : recording::FileWriter::Mode::kReplace, all);
    file = made.get();
    return made;
  };
  destination.begun = [&] { old.command_began(); };
  destination.flush = [&] { file->flush(); };
  recording::Properties overhead;
  if (pairs != 0) overhead = measure_overhead(plan, pairs);
  OwlTables counted(request.text);
  if (observing) {
    OwlTables before("");  // of the runs that measured the overhead
    observing->take(&before);
  }
  destination.end = [&](const Outcome& outcome, const recording::Properties& properties) {
    if (!outcome.mpi_summary.empty()) file->attach({"mpi-summary", "application/json", outcome.mpi_summary});
    if (!outcome.placement.empty())
      file->attach({recording::kPlacementName, "application/json", outcome.placement});
    if (observing) {
      observing->take(&counted);
      counted.resolve();
      file->attach({recording::kQueryName, "application/json", counted.as_text(kMostRows)});
    }
    recording::Properties all = properties;
    all.insert(all.end(), overhead.begin(), overhead.end());
    file->end(outcome.end, all);
  };
  const Outcome outcome = run_sampled(plan, destination);
  if (!outcome.failure.empty()) {
    std::fprintf(stderr, "substrata record: the recording is incomplete: %s\n", outcome.failure.c_str());
    return outcome.status != 0 ? outcome.status : 1;
  }
  if (!event_specs.empty() && !quiet && (!rank || rank->rank == "0"))
    for (const Refused& one : outcome.refused)
      std::fprintf(stderr, "substrata record: <not supported> %s: %s\n", one.name.c_str(), one.why.c_str());
  if (observing && counted.seen() == 0)
    std::fprintf(stderr, "substrata record: nothing passed at %s%s\n", observing->probes().c_str(),
                 cure_of_nothing(observing->probes()).c_str());
  if (!quiet && (!rank || rank->rank == "0"))
    std::fprintf(stderr,
                 "substrata record: %llu rows of %zu events in %s; `substrata report %s` shows them\n",
                 static_cast<unsigned long long>(outcome.rows), outcome.events, out.c_str(), out.c_str());
  return outcome.status;
}

}  // namespace substrata::tool
