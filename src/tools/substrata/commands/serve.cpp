// substrata serve: events as they stand, as OpenMetrics and as a page, over HTTP.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "recording/exports.hpp"
#include "recording/openmetrics.hpp"
#include "recording/reader.hpp"
#include "recording/sampler/machine.hpp"
#include "recording/sampler/run.hpp"
#include "recording/sampler/target.hpp"
#include "recording/timeline.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/serving/http_server.hpp"
#include "tools/substrata/serving/live_page.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr const char* kUsage =
    "Serves current event values over HTTP: a page for a browser at /, and for Prometheus and other readers "
    "of "
    "OpenMetrics at /metrics.\n\n"
    "  substrata serve                              the whole machine, at 127.0.0.1:9748\n"
    "  substrata serve -e 'coretemp:::*,net:::*' --listen 127.0.0.1:0\n"
    "  substrata serve -p 1234                      a running process, its threads and descendants\n"
    "  substrata serve -- make -j4                  a command and its children, until it ends\n"
    "  substrata serve run.sub                      the newest values of a recording, while it is being "
    "written\n"
    "  curl http://127.0.0.1:9748/metrics\n\n"
    "Values are read on request, at most once per interval. Counts start at 0. A value that cannot be read "
    "is "
    "left out, and substrata_event_readable is 0; modelled values carry origin=\"modelled\"; "
    "substrata_event_scaled marks extrapolated ones. The address is printed on standard error. SIGTERM and "
    "SIGINT end the server and its command. A request has ten seconds and 16 KiB; where there are 200 "
    "clients, "
    "a new one takes the place of the oldest; at a loopback address requests for other hosts are refused. "
    "There is neither encryption nor a password: use addresses other "
    "than loopback only in networks where everyone may see the values.";

// One event of one writer.
struct Point {
  const recording::Series* series;
  std::size_t row;  // of its value
  bool readable;
  recording::MetricLabels labels;
  std::string seconds;  // time of day; empty: now
};

bool is_number(const recording::Series& series, std::size_t row) {
  return series.present_at(row) && recording::exact_value(series, row) != "null";
}

// Families in the order of the points; those of one family must stand together.
std::string metrics_of(const std::vector<std::vector<Point>>& families, recording::Exposition exposition,
                       const recording::MetricLabels& exporter) {
  std::ostringstream out;
  recording::MetricText text(out, exposition);
  text.family("substrata_exporter", "info", "", "what serves these values, and of what");
  text.sample(exporter, "1");
  for (const std::vector<Point>& family : families) {
    text.family(*family.front().series);
    for (const Point& point : family)
      if (point.readable)
        text.sample(point.labels, recording::metric_value(*point.series, point.row), point.seconds);
  }
  const auto flags = [&](const char* name, const char* help, auto&& of) {
    text.family(name, "gauge", "", help);
    for (const std::vector<Point>& family : families)
      for (const Point& point : family) text.sample(point.labels, of(point) ? "1" : "0", point.seconds);
  };
  flags("substrata_event_readable", "1 if the event has a value, 0 if it could not be read",
        [](const Point& point) { return point.readable; });
  flags("substrata_event_scaled",
        "1 if the value is extrapolated, because the counter of the event ran part of the time",
        [](const Point& point) { return (point.series->flags[point.row] & recording::kScaled) != 0; });
  text.end();
  return out.str();
}

// Where the values come from.
class Source {
 public:
  virtual ~Source() = default;
  // Throws std::runtime_error with the reason.
  virtual std::string metrics(recording::Exposition exposition) = 0;
  virtual std::string live() = 0;
  virtual std::string page() = 0;
};

recording::MetricLabels exporter_labels(const std::string& target, const std::string& host) {
  return {{"version", SUBSTRATA_VERSION}, {"target", target}, {"host", host}};
}

class LiveSource : public Source {
 public:
  LiveSource(Target& target, std::int64_t interval_ns)
      : target_(target), interval_ns_(interval_ns), host_(host_name()) {
    for (const recording::Series& series : target.events().series())
      families_.push_back({Point{&series, 0, false, recording::event_labels(series, host_), {}}});
  }
  std::string metrics(recording::Exposition exposition) override {
    refresh();
    return metrics_of(families_, exposition, exporter_labels(target_.name(), host_));
  }
  std::string live() override {
    refresh();
    LiveValues out(1e-9 * static_cast<double>(target_.events().time()), final_);
    for (const std::vector<Point>& family : families_) {
      const recording::Series& series = *family[0].series;
      out.add(series, series.scope, family[0].readable ? series.value_at(0) : NAN);
    }
    return out.text();
  }
  std::string page() override { return live_page(target_.name(), host_, interval_ns_); }
  // The target has ended: its last values stay.
  void freeze() {
    target_.events().sample();
    final_ = true;
  }

 private:
  void refresh() {
    if (!final_ && raw_now_ns() - target_.events().time() >= interval_ns_) target_.events().sample();
    for (std::vector<Point>& family : families_) family[0].readable = is_number(*family[0].series, 0);
  }
  Target& target_;
  std::int64_t interval_ns_;
  std::string host_;
  std::vector<std::vector<Point>> families_;
  bool final_ = false;
};

// The newest value of each series of records, which may still grow.
class FileSource : public Source {
 public:
  FileSource(std::vector<std::string> files, std::int64_t interval_ns)
      : files_(std::move(files)), interval_ns_(interval_ns) {
    reread();
  }
  std::string metrics(recording::Exposition exposition) override {
    reread();
    std::vector<std::vector<Point>> families;
    for (const recording::Group& group : recording::group_traces(timeline_)) {
      std::vector<Point> family;
      for (const recording::Trace* trace : group.traces) {
        const recording::Series& series = *trace->series;
        if (series.values.empty()) continue;
        const std::size_t row = series.values.size() - 1;
        const recording::Writer& writer = recording_.writers[trace->writer];
        char seconds[48] = "";
        if (series.present_at(row)) {
          // Milliseconds are what Prometheus keeps, and what its older format counts in.
          const double at = 1e-9 * static_cast<double>(timeline_.real_ns) + trace->seconds.back();
          const bool open = exposition == recording::Exposition::kOpenMetrics;
          std::snprintf(seconds, sizeof seconds, open ? "%.3f" : "%.0f", open ? at : at * 1000);
        }
        Point point{&series, row, is_number(series, row),
                    recording::event_labels(series, recording::property(writer.properties, "host"),
                                            recording::property(writer.properties, "mpi.rank")),
                    seconds};
        // Of writers with the same labels the last one counts.
        std::erase_if(family, [&](const Point& other) { return other.labels == point.labels; });
        family.push_back(std::move(point));
      }
      if (!family.empty()) families.push_back(std::move(family));
    }
    recording::MetricLabels exporter = exporter_labels(name(), host_name());
    exporter.emplace_back("complete", recording_.complete() ? "yes" : "no");
    return metrics_of(families, exposition, exporter);
  }
  // Of all writers or ranks: the sum of counts, the mean of levels.
  std::string live() override {
    reread();
    LiveValues out(timeline_.seconds, recording_.complete());
    for (const recording::Group& group : recording::group_traces(timeline_)) {
      double sum = NAN;
      for (const recording::Trace* trace : group.traces)
        if (!trace->values.empty()) sum = (std::isnan(sum) ? 0 : sum) + trace->values.back();
      const bool gauge = group.about->kind == recording::Kind::kGauge;
      out.add(*group.about, group.scope, gauge ? sum / static_cast<double>(group.traces.size()) : sum);
    }
    return out.text();
  }
  std::string page() override { return live_page(name(), host_name(), interval_ns_); }

 private:
  std::string name() const {
    std::string out;
    for (const std::string& file : files_) out += (out.empty() ? "" : " ") + file;
    return out;
  }
  using Stamp = std::vector<std::int64_t>;
  void reread() {
    Stamp stamp;
    for (const std::string& file : files_) {
      struct stat about {};
      if (::stat(file.c_str(), &about) == 0)
        stamp.insert(stamp.end(), {about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec});
    }
    if (!stamp.empty() && stamp == stamp_) return;
    recording_ = recording::read_files(files_);
    timeline_ = recording::lay_out(recording_);
    stamp_ = std::move(stamp);
  }
  std::vector<std::string> files_;
  std::int64_t interval_ns_;
  Stamp stamp_;
  recording::Recording recording_;
  recording::Timeline timeline_;
};

HttpReply reply_to(const HttpRequest& request, Source& source) {
  const bool page = request.path == "/", live = request.path == "/live.json";
  if (!page && !live && request.path != "/metrics")
    return {404, "text/plain; charset=utf-8", "the values are at /metrics, a page is at /\n"};
  const bool older = request.accept.find("application/openmetrics-text") == std::string::npos &&
                     request.accept.find("text/plain") != std::string::npos;
  const recording::Exposition exposition =
      older ? recording::Exposition::kPrometheus : recording::Exposition::kOpenMetrics;
  try {
    if (page) return {200, "text/html; charset=utf-8", source.page()};
    if (live) return {200, "application/json", source.live()};
    return {200, recording::media_type(exposition), source.metrics(exposition)};
  } catch (const std::exception& error) {
    return {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n"};
  }
}

}  // namespace

int serve(int argc, char** argv) {
  std::string interval = "1s", listen = "127.0.0.1:9748";
  std::vector<std::string> files;
  Target::What what;
  bool stay = false;
  Arguments arguments("substrata serve", kUsage);
  arguments.words("FILE", files, "recordings whose newest values are served, instead of live ones",
                  Arguments::Value::kFile);
  arguments.words("-e,--events", what.event_specs,
                  "events, separated by commas; '*' and '?' are wildcards (default: a standard set)",
                  Arguments::Value::kEvents);
  arguments.word("-i,--interval", interval, "shortest time between two readings (default 1s)",
                 Arguments::Value::kDuration);
  arguments.word("-l,--listen", listen, "address and port, port 0 for a free one (default 127.0.0.1:9748)");
  arguments.word("-p,--pid", what.process, "a running process, its threads and descendants",
                 Arguments::Value::kProcess);
  arguments.flag("--stay", stay,
                 "when the command or process has ended by itself, keep serving its last values");
  std::vector<char*> before(argv, argv + argc);
  if (std::optional<SplitLine> line = split_at_dashes(argc, argv)) {
    before = line->before;
    what.command = line->command;
  }
  if (const auto status = arguments.parse(static_cast<int>(before.size()), before.data())) return *status;
  if (!what.command.empty() + !what.process.empty() + !files.empty() > 1) {
    std::fprintf(stderr, "substrata serve: name only one of a command, a process and recordings\n");
    return 2;
  }

  HttpServer server(listen);
  std::unique_ptr<Target> target;
  std::unique_ptr<Source> source;
  LiveSource* live = nullptr;
  const std::int64_t interval_ns = parse_duration(interval);
  if (files.empty()) {
    target = std::make_unique<Target>(what);
    auto made = std::make_unique<LiveSource>(*target, interval_ns);
    live = made.get();
    source = std::move(made);
  } else {
    source = std::make_unique<FileSource>(files, interval_ns);
  }
  Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  if (target != nullptr) {
    for (const std::string& note : target->events().notes())
      std::fprintf(stderr, "substrata serve: %s\n", note.c_str());
    target->go();
  }
  if (!server.loopback())
    std::fprintf(stderr, "substrata serve: anyone who can reach %s can read the values\n",
                 server.address().c_str());
  std::fprintf(stderr, "substrata serve: http://%s/ in a browser\n", server.address().c_str());
  std::fprintf(stderr, "substrata serve: http://%s/metrics\n", server.address().c_str());

  const auto answer = [&](const HttpRequest& request) { return reply_to(request, *source); };
  int status = 0;
  bool running = target != nullptr && target->descriptor() >= 0;
  for (;;) {
    // While a command runs, signals are its own: it ends, and then this does.
    const bool passed_on = running && target->is_command();
    std::vector<pollfd> others = {{passed_on ? -1 : signals.descriptor(), POLLIN, 0},
                                  {running ? target->descriptor() : -1, POLLIN, 0}};
    server.serve_until(&others, answer);
    if (others[0].revents != 0 && signals.take() != 0) return status;
    if (others[1].revents == 0 || !target->ended()) continue;
    live->freeze();
    status = target->status();
    running = false;
    if (!stay || target->passed_on()) return status;
  }
}

}  // namespace substrata::tool
