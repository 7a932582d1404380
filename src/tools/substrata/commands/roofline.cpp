// substrata roofline: the machine's roofs, and the program below them.
#include <papi.h>
#include <stdlib.h>
#include <unistd.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/temporary_folder.hpp"
#include "base/whole_file.hpp"
#include "recording/memory_sink.hpp"
#include "recording/regions.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/measuring.hpp"
#include "recording/sampler/run.hpp"
#include "recording/timeline.hpp"
#include "recording/topology/machine.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/roofline/chart.hpp"
#include "tools/roofline/peaks.hpp"
#include "tools/roofline/points.hpp"
#include "tools/substrata/command_line.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "Measures how fast this machine computes and moves memory, runs the command, and shows where the command "
    "and its "
    "regions are below these roofs: whether memory or operations bound them, and how near they come.\n\n"
    "  substrata roofline -- ./program\n"
    "  substrata roofline --peaks peaks.json --svg roofline.svg -- mpirun -n 4 ./program\n"
    "  substrata roofline                                   the roofs alone\n\n"
    "Operations and bytes come from the processor's counters where they open, else from what the program "
    "publishes "
    "(sde events FLOP and MEM_BYTES, REGION:FLOP and REGION:MEM_BYTES), bytes also from the access tracer "
    "(substrata-cc) or, with it, a model of the caches. Each number says which. The exit status is the "
    "command's.";

// An event that opens here with the factor that makes it the wanted amount.
struct Event {
  std::string name;
  double factor = 1;
  std::string from = {};
};
Event first_available(const std::vector<Event>& candidates, std::string* why) {
  for (const Event& one : candidates) {
    int code = 0;
    if (PAPI_event_name_to_code(one.name.c_str(), &code) != PAPI_OK) continue;
    const substrata_event about = describe(code);
    if (about.available != 0) return one;
    if (why->empty()) *why = one.name + ": " + about.why;
  }
  return {};
}

roofline::Peaks peaks_for(const std::string& file) {
  start_library();
  const PAPI_hw_info_t* hardware = PAPI_get_hardware_info();
  const std::string processor = hardware != nullptr ? hardware->model_string : "";
  std::error_code ignored;
  if (!file.empty() && fs::exists(file, ignored)) {
    try {
      roofline::Peaks peaks = roofline::peaks_from_json(contents_of(file));
      if (peaks.processor != processor)
        std::fprintf(stderr, "note: the peaks of %s are those of another processor (%s)\n", file.c_str(),
                     peaks.processor.c_str());
      return peaks;
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("'" + file + "' holds no roofs (" + error.what() +
                               "); name a file that `substrata roofline --peaks` wrote, or one that is not "
                               "there: the roofs are measured and written to it");
    }
  }
  if (!file.empty()) must_be_writable(file);
  roofline::Peaks peaks;
  {
    const ProgressLine line;
    peaks = roofline::measure_peaks(topology::load({}, topology::Devices::kWithout), show_progress);
  }
  peaks.host = host_name();
  peaks.processor = processor;
  if (!file.empty())
    write_whole(file, [&](std::ostream& to) { to << roofline::peaks_as_json(peaks) << "\n"; });
  return peaks;
}

// Time of all passes; what several ranks spend at the same time counts once.
double seconds_in(const recording::RegionTotals& region) {
  std::vector<std::pair<double, double>> passes;
  for (const recording::Region* one : region.regions) passes.emplace_back(one->begin, one->end);
  std::sort(passes.begin(), passes.end());
  double seconds = 0, reached = 0;
  for (const auto& [begin, end] : passes) {
    seconds += std::max(0.0, end - std::max(begin, reached));
    reached = std::max(reached, end);
  }
  return seconds;
}

// What the run left behind, as points.
class Run {
 public:
  Run(const std::vector<std::string>& command, roofline::Chosen chosen, bool model)
      : chosen_(std::move(chosen)), model_(model) {
    start_library();
    flops_ = first_available({{"PAPI_DP_OPS"}, {"PAPI_FP_OPS"}, {"PAPI_SP_OPS"}}, &why_no_flops_);
    bytes_ = first_available({{"PAPI_L3_TCM", 64, "64 bytes each, without what is written back"},
                              {"PAPI_L2_TCM", 64, "64 bytes each, without what is written back"}},
                             &why_no_flops_);
    std::string ignored;
    const Event clock =
        first_available({{"perf::TASK-CLOCK"}, {"process:::cpu:time"}, {"example:::constant"}}, &ignored);
    Plan plan;
    plan.command = command;
    for (const Event* one : {&std::as_const(flops_), &std::as_const(bytes_), &clock})
      if (!one->name.empty()) plan.event_specs.push_back(one->name);
    std::ofstream(folder_.path() / "totals").close();
    setenv("SUBSTRATA_SDE_TOTALS", (folder_.path() / "totals").c_str(), 1);
    setenv("SUBSTRATA_MEMORY_SUMMARY", (folder_.path() / "accesses.%p").c_str(), 0);
    if (model) setenv("SUBSTRATA_MEMORY_TRACE", (folder_.path() / "trace").c_str(), 1);
    Destination destination;
    destination.open = [&](const recording::Properties& properties) -> std::unique_ptr<recording::Sink> {
      auto made = std::make_unique<recording::MemorySink>(properties);
      sink_ = made.get();
      return made;
    };
    destination.flush = [] {};
    destination.end = [&](const Outcome& outcome, const recording::Properties& properties) {
      sink_->end(outcome.end, properties);
      recorded_ = sink_->recording();
    };
    const Outcome outcome = run_sampled(plan, destination);
    status_ = outcome.status;
    seconds_ = 1e-9 * static_cast<double>(outcome.end - outcome.begin);
    processor_seconds_ = outcome.user_and_system_s;
  }

  int status() const { return status_; }

  std::vector<roofline::Point> points(std::vector<std::string>* notes) const {
    const recording::Timeline timeline = recording::lay_out(recorded_);
    const auto published =
        roofline::published_amounts(roofline::read_totals(contents_of(folder_.path() / "totals")), chosen_);
    std::vector<roofline::Point> out = {{"whole program", seconds_, {}, {}, false}};
    const std::vector<recording::RegionTotals> regions = recording::region_totals(timeline);
    for (const recording::RegionTotals& region : regions)
      out.push_back({region.name, seconds_in(region), {}, {}, false});
    const std::vector<recording::Group> groups = recording::group_traces(timeline);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const recording::RegionTotals* region = i == 0 ? nullptr : &regions[i - 1];
      out[i].flops = measured(flops_, groups, region, timeline);
      out[i].bytes = measured(bytes_, groups, region, timeline);
      const auto found = published.find(i == 0 ? std::string() : out[i].name);
      if (found == published.end()) continue;
      if (out[i].flops.source == roofline::Source::kNone) out[i].flops = found->second.flops;
      if (out[i].bytes.source == roofline::Source::kNone) out[i].bytes = found->second.bytes;
    }
    if (out[0].bytes.source == roofline::Source::kNone) out[0].bytes = modelled();
    if (model_ && out[0].bytes.source != roofline::Source::kModelled)
      notes->push_back(out[0].bytes.source == roofline::Source::kNone
                           ? "--cache-model: the program wrote no trace of its accesses; compile it with "
                             "substrata-cc"
                           : "--cache-model was not needed: " + out[0].bytes.from + " are known");
    if (out[0].bytes.source == roofline::Source::kNone) out[0].bytes = traced();
    // A region of which nothing is known says nothing.
    out.erase(std::remove_if(out.begin() + 1, out.end(),
                             [](const roofline::Point& one) {
                               return one.flops.source == roofline::Source::kNone &&
                                      one.bytes.source == roofline::Source::kNone;
                             }),
              out.end());
    // Less than one and a half processors on the mean: hardly more than one at any time.
    for (roofline::Point& point : out) point.one_core = processor_seconds_ < 1.5 * seconds_;
    const std::string flops = chosen_.flops.empty() ? "FLOP" : chosen_.flops;
    if (out[0].flops.source == roofline::Source::kNone)
      notes->push_back(
          "the operations of this program are not known: the processor's counters of them do not open here "
          "(" +
          (why_no_flops_.empty() ? std::string("no such preset for this processor") : why_no_flops_) +
          "), and the program publishes no event '" + flops +
          "'. Let it count them: papi_sde_register_counter(..., \"" + flops +
          "\", ...) and -lsde of this project; or run where `substrata doctor` finds counters");
    else if (out[0].bytes.source == roofline::Source::kNone)
      notes->push_back(
          "the bytes of this program are not known: let it publish MEM_BYTES beside FLOP, or compile it with "
          "substrata-cc");
    return out;
  }

 private:
  static roofline::Amount measured(const Event& event, const std::vector<recording::Group>& groups,
                                   const recording::RegionTotals* region,
                                   const recording::Timeline& timeline) {
    roofline::Amount out;
    if (event.name.empty()) return out;
    for (const recording::Group& group : groups) {
      if (group.about->name != event.name) continue;
      double total = 0;
      if (region != nullptr)
        total = recording::summarize_within(group, *region, timeline).total;
      else
        for (const recording::Trace* trace : group.traces)
          total += trace->values.empty() ? 0 : trace->values.back() - trace->values.front();
      out.value += event.factor * total;
      out.source = roofline::Source::kMeasured;
      out.from = event.name + (event.from.empty() ? "" : ", " + event.from);
    }
    return out;
  }

  // What passes between the last cache and memory, in a model with this machine's first and last cache.
  roofline::Amount modelled() const {
    const fs::path trace = folder_.path() / "trace";
    std::error_code ignored;
    if (!fs::exists(trace, ignored)) return {};
    const std::vector<std::uint64_t> sizes =
        roofline::cache_sizes(topology::load({}, topology::Devices::kWithout));
    std::string parameters = "line=64";
    std::string from = "L2_MISSES and L2_WRITE_BACKS of the memory model";
    if (sizes.size() > 1) {
      const std::uint64_t first = std::bit_floor(sizes.front()), last = std::bit_floor(sizes.back());
      parameters += ":l1=" + std::to_string(first) + ":l2=" + std::to_string(last);
      from += " with " + topology::size_text(first) + " and " + topology::size_text(last);
    }
    const auto following = client::feed::Following::begin("memory", parameters.c_str()).value();
    Measurement sets;
    for (const char* name : {"memory:::L2_MISSES", "memory:::L2_WRITE_BACKS"}) sets.add(name);
    auto summary = client::sized<substrata_replay_summary>();
    sets.start();
    const int status = substrata_replay(trace.c_str(), nullptr, &summary);
    if (status != 0)
      throw std::runtime_error(std::string("the trace cannot be replayed: ") + substrata_feed_error());
    substrata_flush();
    roofline::Amount out{0, roofline::Source::kModelled, from};
    for (const Counted& one : sets.stop()) out.value += 64 * static_cast<double>(one.value.value);
    return out;
  }

  // Of all processes that were compiled with the access tracer.
  roofline::Amount traced() const {
    roofline::Amount out;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path(), ignored)) {
      if (entry.path().filename().string().rfind("accesses.", 0) != 0) continue;
      const nlohmann::json all = nlohmann::json::parse(contents_of(entry.path()), nullptr, false);
      if (!all.is_object() || !all.contains("bytes_read") || !all.contains("bytes_written")) continue;
      out.value += all["bytes_read"].get<double>() + all["bytes_written"].get<double>();
      out.source = roofline::Source::kTraced;
      out.from = "bytes read and written";
    }
    return out;
  }

  roofline::Chosen chosen_;
  const bool model_;
  TemporaryFolder folder_;
  Event flops_, bytes_;
  std::string why_no_flops_;
  recording::MemorySink* sink_ = nullptr;
  recording::Recording recorded_;
  int status_ = 0;
  double seconds_ = 0;
  double processor_seconds_ = 0;
};

}  // namespace

int roofline(int argc, char** argv) {
  std::string file, svg;
  roofline::Chosen chosen;
  bool json = false, model = false;
  Arguments arguments("substrata roofline", kUsage);
  arguments.word("--peaks", file,
                 "read the roofs from this file; where it is not there, measure and write it",
                 Arguments::Value::kFile);
  arguments.word("--svg", svg, "write a picture to this file", Arguments::Value::kFile);
  arguments.flag("--json", json, "print JSON");
  arguments.word("--flops", chosen.flops,
                 "sde event of the program that counts its operations (default FLOP)");
  arguments.word("--bytes", chosen.bytes,
                 "sde event of the program that counts bytes of memory (default MEM_BYTES)");
  arguments.flag(
      "--cache-model", model,
      "bytes of a program of one process that was compiled with substrata-cc: replay its accesses in a "
      "model of the caches; the trace takes 8 bytes an access in the temporary folder");
  std::vector<std::string> command;
  if (const auto status = parse_before_command(arguments, argc, argv, &command)) return *status;
  if (!svg.empty()) must_be_writable(svg);
  const roofline::Peaks peaks = peaks_for(file);
  std::vector<roofline::Point> points;
  std::vector<std::string> notes;
  int status = 0;
  if (!command.empty()) {
    const Run run(command, chosen, model);
    status = run.status();
    points = run.points(&notes);
  }
  // What a command prints is its own.
  std::ostream& out = command.empty() ? std::cout : std::cerr;
  if (json) {
    roofline::write_json(out, peaks, points, notes);
  } else {
    roofline::write_roofs(out, peaks);
    roofline::write_points(out, peaks, points);
    for (const std::string& note : notes) out << "note: " << note << ".\n";
  }
  if (!svg.empty()) write_whole(svg, [&](std::ostream& to) { roofline::write_svg(to, peaks, points); });
  return status;
}

}  // namespace substrata::tool
