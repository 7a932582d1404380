// substrata report, export, correlate: what is in a recording.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "recording/exports.hpp"
#include "recording/html_report.hpp"
#include "recording/reader.hpp"
#include "recording/reduction.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/output.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::tool {
namespace {

std::string title_of(const std::vector<std::string>& files) {
  return files.size() == 1 ? files.front()
                           : files.front() + " and " + std::to_string(files.size() - 1) + " more";
}

// Reads records; the progress line stays until the caller's ProgressLine goes.
recording::Recording read_records(const std::vector<std::string>& files,
                                  std::size_t most_samples = recording::kAllSamples) {
  show_progress("reading " + title_of(files));
  return recording::read_files(files, most_samples);
}

// The one series of that name: whole, else the only one in which it occurs. Of several writers, the first.
const recording::Trace& find_trace(const recording::Timeline& timeline, const std::string& name) {
  std::vector<const recording::Trace*> within;
  for (const recording::Trace& trace : timeline.traces) {
    if (trace.series->name == name) return trace;
    if (trace.series->name.find(name) != std::string::npos) within.push_back(&trace);
  }
  if (within.size() == 1) return *within.front();
  std::string known;
  for (const recording::Group& group : recording::group_traces(timeline)) known += "\n  " + group.about->name;
  throw std::runtime_error((within.empty() ? "there is no series '" : "more than one series has '") + name +
                           "' in its name; the recording has:" + known);
}

std::string described(const recording::Trace& trace) {
  const recording::Series& about = *trace.series;
  const bool rate = about.kind != recording::Kind::kGauge;
  return about.name + " [" + (about.unit.empty() ? "1" : about.unit) + (rate ? "/s" : "") + "], " +
         recording::origin_name(about) + ", per " + about.scope;
}

double seconds_of(const std::string& text, const char* option) {
  double seconds = 0;
  if (!parse_number(text, &seconds) || !(seconds >= 0))
    throw std::runtime_error(std::string(option) + " '" + text + "' is not a number of seconds");
  return seconds;
}

std::string names_of_regions(const recording::Timeline& timeline) {
  std::set<std::string> names;
  for (const recording::Region& region : timeline.regions) names.insert(region.name);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// The part of a recording that was asked for; --from and --to narrow that of the region.
std::pair<double, double> stretch(const recording::Timeline& timeline, const std::string& name,
                                  const std::string& from, const std::string& to) {
  double begin = 0, end = timeline.seconds;
  if (!name.empty()) {
    bool found = false;
    for (const recording::Region& region : timeline.regions) {
      if (region.name != name) continue;
      begin = found ? std::min(begin, region.begin) : region.begin;
      end = found ? std::max(end, region.end) : region.end;
      found = true;
    }
    if (!found)
      throw std::runtime_error("there is no region '" + name + "' in the recording; it has " +
                               names_of_regions(timeline));
  }
  if (!from.empty()) begin = std::max(begin, seconds_of(from, "--from"));
  if (!to.empty()) end = std::min(end, seconds_of(to, "--to"));
  if (!(begin < end)) {
    char whole[64];
    std::snprintf(whole, sizeof whole, "%.3f", timeline.seconds);
    throw std::runtime_error(
        std::string("nothing of the recording lies in that interval; it goes from 0 to ") + whole + " s" +
        (name.empty() ? "" : ", and the region is a part of that"));
  }
  return {begin, end};
}

}  // namespace

int report(int argc, char** argv) {
  std::vector<std::string> files, histograms;
  std::string out, page, from, until, region, roofline;
  Arguments arguments(
      "substrata report",
      "Shows records made by `substrata record`: where each comes from, every series with its totals, "
      "levels and rates, and the regions. Several files, such as those of several nodes, are shown as one."
      "\n\n  substrata report run.sub\n"
      "  substrata report --html run.html record.*.sub\n"
      "  substrata report --region solve run.sub");
  arguments.words("FILE", files, "recordings", Arguments::Value::kFile);
  arguments.word("--html", page, "write one self-contained HTML file instead of text",
                 Arguments::Value::kFile);
  arguments.word("--roofline", roofline,
                 "with --html: a file that `substrata roofline --json` wrote, as a panel",
                 Arguments::Value::kFile);
  arguments.words("--histograms", histograms,
                  "with --html: histograms.json files of modelled monitors, as panels",
                  Arguments::Value::kFile);
  arguments.word("-o,--output", out, "file to write instead of standard output", Arguments::Value::kFile);
  arguments.word("--from", from, "start this many seconds after the begin of the recording");
  arguments.word("--to", until, "end this many seconds after the begin of the recording");
  arguments.word("--region", region, "from the first begin to the last end of the region of this name");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (files.empty()) {
    std::fprintf(stderr, "substrata report: no recording is named\n");
    return 2;
  }
  if (!roofline.empty() && page.empty()) {
    std::fprintf(stderr, "substrata report: --roofline is a panel of the page; name one with --html FILE\n");
    return 2;
  }
  const ProgressLine line;
  const bool whole = from.empty() && until.empty() && region.empty();
  recording::Recording recording =
      read_records(files, whole ? recording::kSamplesOfAReport : recording::kAllSamples);
  recording::Timeline timeline = recording::lay_out(recording);
  const auto attach = [&](const char* name, const std::string& content) {
    recording.writers.front().attachments.push_back({name, "application/json", content});
  };
  if (!roofline.empty()) {
    const std::string content = contents_of(roofline);
    const nlohmann::json all = nlohmann::json::parse(content, nullptr, false);
    if (!all.is_object() || !all.contains("flops_per_second"))
      throw std::runtime_error("'" + roofline +
                               (content.empty() ? "' cannot be read, or is empty" : "' is no roofline") +
                               "; write one with `substrata roofline --json -- COMMAND 2> FILE`");
    attach("roofline", content);
  }
  for (const std::string& one : histograms) {
    const std::string content = contents_of(one);
    if (content.empty()) throw std::runtime_error("'" + one + "' cannot be read, or is empty");
    attach("histograms", content);
  }
  if (!whole) {
    const auto [begin, end] = stretch(timeline, region, from, until);
    timeline = recording::cut_out(timeline, begin, end);
  }
  if (!page.empty()) {
    show_progress("writing " + page);
    write_to(page, [&](std::ostream& to) { recording::write_html_report(to, timeline, title_of(files)); });
    return 0;
  }
  line.clear();
  write_to(out, [&](std::ostream& to) { recording::write_text_report(to, timeline, title_of(files)); });
  return 0;
}

int export_record(int argc, char** argv) {
  std::vector<std::string> files;
  std::string form, out;
  Arguments arguments("substrata export",
                      "Writes recordings in the format of another program."
                      "\n\n  substrata export run.sub --to perfetto -o run.json\n"
                      "  substrata export run.sub --to csv | head\n"
                      "  substrata export run.sub --to otf2 -o archive");
  arguments.words("FILE", files, "recordings; several are joined", Arguments::Value::kFile);
  arguments.choice(
      "--to", form, {"csv", "json", "perfetto", "openmetrics", "otf2", "reduced"},
      "perfetto opens in ui.perfetto.dev and chrome://tracing, openmetrics is for backfilling, "
      "otf2 a folder for Vampir, reduced one recording of constant size for any number of files and ranks");
  arguments.word("-o,--output", out, "file to write instead of standard output; of OTF2 a new folder",
                 Arguments::Value::kFile);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (form == "reduced" && !files.empty()) {
    if (out.empty()) {
      std::fprintf(stderr, "substrata export: --to reduced writes a file; name it with -o\n");
      return 2;
    }
    recording::Reduction sum;
    const ProgressLine line;
    for (const std::string& file : files) {  // one at a time: the memory is that of the largest
      show_progress("reading " + file);
      const recording::Recording one = recording::read_file(file);
      sum.add(recording::lay_out(one));
    }
    sum.write(out);
    return 0;
  }
  void (*write)(std::ostream&, const recording::Timeline&) = form == "csv"        ? recording::export_csv
                                                             : form == "json"     ? recording::export_json
                                                             : form == "perfetto" ? recording::export_perfetto
                                                             : form == "openmetrics"
                                                                 ? recording::export_openmetrics
                                                                 : nullptr;
  const bool archive = form == "otf2";
  if ((write == nullptr && !archive) || files.empty()) {
    std::fprintf(stderr, "substrata export: %s\n",
                 files.empty() ? "no recording is named" : "name the output format with --to");
    return 2;
  }
  if (archive && (out.empty() || out == "-")) {
    std::fprintf(stderr, "substrata export: an OTF2 archive is a folder; name a new one with --output\n");
    return 2;
  }
  const ProgressLine line;
  const recording::Recording recording = read_records(files);
  const recording::Timeline timeline = recording::lay_out(recording);
  show_progress("writing " + form);
  if (archive) {
    recording::export_otf2(out, timeline);
    return 0;
  }
  // On standard output the lines of the export would run into it.
  if (out.empty() || out == "-") line.clear();
  write_to(out, [&](std::ostream& to) { write(to, timeline); });
  return 0;
}

int correlate(int argc, char** argv) {
  std::string file, a, b, most_lag;
  bool json = false;
  Arguments arguments(
      "substrata correlate",
      "Correlates two series of a recording: the correlation over lags, the lag at which it is "
      "strongest, and the probability of such a correlation by chance. Counts are compared as rates."
      "\n\n  substrata correlate run.sub TASK-CLOCK temperature\n"
      "  substrata correlate run.sub TASK-CLOCK temperature --json --most-lag 10");
  arguments.required("FILE", file, "record", Arguments::Value::kFile);
  arguments.required("A", a, "series, or a unique part of its name", Arguments::Value::kSeries);
  arguments.required("B", b, "series that may follow A", Arguments::Value::kSeries);
  arguments.word("--most-lag", most_lag, "longest lag in seconds (default: a quarter of the duration)");
  arguments.flag("--json", json, "print JSON, with the correlation at every lag");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  double most = 0;
  if (!most_lag.empty()) {
    if (!parse_number(most_lag, &most) || !(most > 0))
      throw std::runtime_error("--most-lag '" + most_lag + "' is not a number of seconds");
  }
  show_progress("reading " + file);
  const recording::Recording recording = recording::read_file(file);
  ProgressLine::clear();
  const recording::Timeline timeline = recording::lay_out(recording);
  const recording::Trace& first = find_trace(timeline, a);
  const recording::Trace& second = find_trace(timeline, b);
  if (const std::string why = recording::shared_origin(*first.series, *second.series); !why.empty())
    throw std::runtime_error(why);
  const recording::Correlation found =
      recording::correlate(recording::curve_of(first), recording::curve_of(second), most);
  if (json) {
    std::cout << "{\"a\":" << recording::json_text(first.series->name)
              << ",\"b\":" << recording::json_text(second.series->name) << ",\"a_origin\":\""
              << recording::origin_name(*first.series) << "\",\"b_origin\":\""
              << recording::origin_name(*second.series) << "\",\"points\":" << found.points
              << ",\"step_s\":" << recording::json_number(found.step)
              << ",\"r_without_lag\":" << recording::json_number(found.at_zero)
              << ",\"r\":" << recording::json_number(found.best)
              << ",\"lag_s\":" << recording::json_number(found.lag)
              << ",\"gain\":" << recording::json_number(found.gain)
              << ",\"effective_points\":" << recording::json_number(found.effective_points)
              << ",\"lags_tried\":" << recording::json_number(found.lags_tried)
              << ",\"p\":" << recording::json_number(found.p_value) << ",\"lags_s\":[";
    for (std::size_t i = 0; i < found.lags.size(); ++i)
      std::cout << (i != 0 ? "," : "") << recording::json_number(found.lags[i]);
    std::cout << "],\"r_at\":[";
    for (std::size_t i = 0; i < found.coefficients.size(); ++i)
      std::cout << (i != 0 ? "," : "") << recording::json_number(found.coefficients[i]);
    std::cout << "]}\n";
    return 0;
  }
  std::printf("A: %s\nB: %s\n", described(first).c_str(), described(second).c_str());
  std::printf("%zu points of %.4g s\n\n", found.points, found.step);
  std::printf("r without lag   %+.3f\n", found.at_zero);
  std::printf("strongest r     %+.3f with B %.4g s %s A\n", found.best,
              found.lag < 0 ? -found.lag : found.lag, found.lag < 0 ? "before" : "after");
  std::printf("gain there      %.4g of B's unit a unit of A\n", found.gain);
  std::printf("significance    p = %.2g: %s (as good as %.1f independent points, %.1f independent lags)\n",
              found.p_value,
              found.p_value < 0.01   ? "not by chance"
              : found.p_value < 0.05 ? "hardly by chance"
                                     : "may well be chance",
              found.effective_points, found.lags_tried);
  return 0;
}

}  // namespace substrata::tool
