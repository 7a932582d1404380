// The high-level report: its text, and where it is put.
#include "papi/high_level/report.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/json.hpp"
#include "base/parse.hpp"
#include "base/pause.hpp"
#include "papi/high_level/job_start.hpp"
#include "papi/high_level/metric_columns.hpp"

namespace substrata::high_level {
namespace {

// Writes JSON with PAPI's indentation: two spaces a level, no space after a colon.
class Json {
 public:
  explicit Json(const TextSink& sink) : sink_(sink) {}
  void open(std::string_view key = {}) {
    begin_item(key);
    text_ += '{';
    ++depth_;
    first_ = true;
  }
  void close() {
    --depth_;
    if (!first_) new_line();
    text_ += '}';
    first_ = false;
  }
  void put(std::string_view key, std::string_view value) {
    begin_item(key);
    text_ += json_quoted(value);
    first_ = false;
  }
  void put(std::string_view key, int64_t value) { put(key, std::string_view(std::to_string(value))); }
  void finish() {
    text_ += '\n';
    sink_(text_);
    text_.clear();
  }

 private:
  static constexpr size_t kPiece = 1 << 16;

  void begin_item(std::string_view key) {
    if (text_.size() > kPiece) {
      sink_(text_);
      text_.clear();
    }
    if (!first_) text_ += ',';
    if (depth_ > 0) new_line();
    if (key.data() != nullptr) {
      text_ += json_quoted(key);
      text_ += ':';
    }
  }
  void new_line() {
    text_ += '\n';
    text_.append(2 * depth_, ' ');
  }
  const TextSink& sink_;
  std::string text_;
  size_t depth_ = 0;
  bool first_ = true;
};

// One quantity of a pass: a plain number, or an object where the region was read in between.
void put_quantity(Json* json, std::string_view name, int64_t value, const std::vector<const int64_t*>& reads,
                  size_t quantity) {
  if (reads.empty()) {
    json->put(name, value);
    return;
  }
  json->open(name);
  json->put("region_value", value);
  for (size_t i = 0; i < reads.size(); ++i) json->put("read_" + std::to_string(i + 1), reads[i][quantity]);
  json->close();
}

const std::vector<MetricColumn>& metrics_of(const ProcessReport& report) {
  static const std::vector<MetricColumn> none;
  return report.metrics != nullptr ? report.metrics->metrics : none;
}

void put_head(Json* json, const ProcessReport& report) {
  json->put("papi_version", report.interface_version);
  json->put("cpu_info", report.processor);
  json->put("max_cpu_rate_mhz", report.max_mhz);
  json->put("min_cpu_rate_mhz", report.min_mhz);
  json->open("event_definitions");
  for (const Column& column : report.columns) {
    json->open(column.name);
    json->put("component", column.component);
    json->put("type", column.instant ? "instant" : "delta");
    json->close();
  }
  for (const MetricColumn& metric : metrics_of(report)) {
    json->open(metric.name());
    json->put("component", std::string_view("metric"));
    json->put("type", std::string_view("instant"));
    json->close();
  }
  json->close();
}

void put_metric(Json* json, const MetricColumn& metric, const int64_t* values,
                const std::vector<const int64_t*>& reads) {
  const auto number = [&](const int64_t* of) { return metric.number(of + Passes::kClocks, of[1]); };
  if (reads.empty()) return json->put(metric.name(), number(values));
  json->open(metric.name());
  json->put("region_value", number(values));
  for (size_t i = 0; i < reads.size(); ++i) json->put("read_" + std::to_string(i + 1), number(reads[i]));
  json->close();
}

// The ended passes of a thread, numbered without gaps from `first`. How many.
int64_t put_passes(Json* json, const ProcessReport& report, const Passes& passes, int64_t first) {
  std::vector<int64_t> open;  // passes without an end
  for (int64_t pass = 0; pass < passes.size(); ++pass)
    if (!passes.ended(pass)) open.push_back(pass);
  const auto number = [&](int64_t pass) {
    return first + pass - (std::lower_bound(open.begin(), open.end(), pass) - open.begin());
  };
  for (int64_t pass = 0; pass < passes.size(); ++pass) {
    if (!passes.ended(pass)) continue;
    const int64_t parent = passes.parent_of(pass);
    const int64_t* const values = passes.values_of(pass);
    const std::vector<const int64_t*> reads = passes.reads_of(pass);
    json->open(std::to_string(number(pass)));
    json->put("name", passes.name(passes.region_of(pass)));
    json->put("parent_region_id", parent >= 0 && passes.ended(parent) ? number(parent) : int64_t{-1});
    put_quantity(json, "cycles", values[0], reads, 0);
    put_quantity(json, "real_time_nsec", values[1], reads, 1);
    for (size_t c = 0; c < report.columns.size(); ++c)
      put_quantity(json, report.columns[c].name, values[Passes::kClocks + c], reads, Passes::kClocks + c);
    for (const MetricColumn& metric : metrics_of(report)) put_metric(json, metric, values, reads);
    json->close();
  }
  return passes.size() - static_cast<int64_t>(open.size());
}

void put_spread(Json* json, std::string_view name, const Spread& spread, bool instant) {
  json->open(name);
  if (instant)
    json->put("last", spread.last);
  else
    json->put("sum", spread.sum);
  json->put("min", spread.least);
  json->put("max", spread.greatest);
  json->close();
}

Status refuse_errno(const char* what, const std::string& path) {
  const int error = errno;
  return refuse_system(error, "%s %s: %s", what, path.c_str(), std::strerror(error));
}

// A new file of an unpredictable name that begins with `stem`; -1 with errno when it cannot be made.
int make_new_file(const std::string& stem, std::string* name) {
  for (int tries = 0; tries < 100; ++tries) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != static_cast<ssize_t>(sizeof(random)))
      random = static_cast<uint64_t>(clock_now_ns()) * 0x9E3779B97F4A7C15u;
    *name = stem + std::to_string(random);
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

// Writes a text piece by piece, without the signal that the kernel sends to a program whose file grows beyond its
// limit. After the first failure nothing more is written.
class FileText {
 public:
  explicit FileText(int file) noexcept : file_(file) {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0) left_ = limit.rlim_cur;
  }
  int error() const noexcept { return error_; }
  void put(std::string_view text) noexcept {
    if (error_ == 0 && left_ < text.size()) error_ = EFBIG;
    if (left_ != RLIM_INFINITY) left_ -= text.size();
    while (error_ == 0 && !text.empty()) {
      const ssize_t wrote = write(file_, text.data(), text.size());
      if (wrote > 0)
        text.remove_prefix(static_cast<size_t>(wrote));
      else if (wrote == 0 || errno != EINTR)
        error_ = wrote == 0 ? EIO : errno;
    }
  }

 private:
  int file_;
  int error_ = 0;
  rlim_t left_ = RLIM_INFINITY;
};

// An open folder, locked against other processes until the end of the scope. The processes of a job hold it for a
// moment each; anyone who may read the folder can hold it for ever, so it is not waited for longer than a second.
class LockedFolder {
 public:
  explicit LockedFolder(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) return;
    constexpr int64_t kLongestWaitNs = 1'000'000'000;
    const int64_t end = clock_now_ns() + kLongestWaitNs;
    Pause pause;
    while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      if (clock_now_ns() >= end) return;
      pause.once();
    }
    locked_ = true;
  }
  ~LockedFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;
  bool locked() const noexcept { return locked_; }

 private:
  int descriptor_;
  bool locked_ = false;
};

}  // namespace

void write_detailed_json(const ProcessReport& report, const TextSink& sink) {
  Json json(sink);
  json.open();
  put_head(&json, report);
  json.open("threads");
  int64_t number = 0;
  for (size_t t = 0; t < report.threads.size(); ++t) {
    if (t == 0 || !report.as_one_thread) {
      json.open(std::to_string(t));
      json.open("regions");
      number = 0;
    }
    number += put_passes(&json, report, report.threads[t], number);
    if (t + 1 == report.threads.size() || !report.as_one_thread) {
      json.close();
      json.close();
    }
  }
  json.close();
  json.close();
  json.finish();
}

void write_summary_json(const ProcessReport& report, const TextSink& sink) {
  struct Total {
    int64_t passes = 0;
    int64_t threads = 0;
    std::vector<Spread> spreads;
  };
  std::map<std::string, Total> regions;
  std::vector<std::string> order;
  for (size_t t = 0; t < report.threads.size(); ++t) {
    const std::vector<RegionSum> sums = report.threads[t].sums();
    for (uint32_t region = 0; region < sums.size(); ++region) {
      if (sums[region].passes == 0) continue;
      const std::string& name = report.threads[t].name(region);
      Total& total = regions[name];
      if (total.passes == 0) {
        total.spreads.resize(sums[region].spreads.size());
        order.push_back(name);
      }
      total.passes += sums[region].passes;
      if (total.threads == 0 || !report.as_one_thread) ++total.threads;
      for (size_t i = 0; i < total.spreads.size(); ++i) total.spreads[i].add(sums[region].spreads[i]);
    }
  }
  Json json(sink);
  json.open();
  put_head(&json, report);
  json.open("regions");
  for (const std::string& name : order) {
    const Total& total = regions[name];
    json.open(name);
    json.put("passages", total.passes);
    json.put("threads", total.threads);
    put_spread(&json, "cycles", total.spreads[0], false);
    put_spread(&json, "real_time_nsec", total.spreads[1], false);
    for (size_t c = 0; c < report.columns.size(); ++c)
      put_spread(&json, report.columns[c].name, total.spreads[Passes::kClocks + c],
                 report.columns[c].instant);
    json.close();
  }
  json.close();
  json.close();
  json.finish();
}

long rank_of_process() noexcept {
  for (const char* variable : kRankVariables) {
    const char* const text = environment(variable);
    if (text == nullptr) continue;
    long rank = -1;
    if (parse_number(text, &rank) && rank >= 0) return rank;
  }
  return -1;
}

Destination destination() {
  Destination to;
  const char* const folder = environment("PAPI_OUTPUT_DIRECTORY");
  to.parent = folder != nullptr && *folder != '\0' ? folder : ".";
  char name[64];
  if (const long rank = rank_of_process(); rank >= 0)
    std::snprintf(name, sizeof(name), "rank_%04ld.json", rank);
  else
    std::snprintf(name, sizeof(name), "rank_%06ld.json", static_cast<long>(getpid()));
  to.file = name;
  return to;
}

Status put_old_reports_aside(const std::string& parent) {
  const LockedFolder guard(parent);
  if (!guard.locked()) return kSuccess;  // no such folder yet: nothing old in it
  const std::string folder = parent + "/papi_hl_output";
  struct stat now {};
  if (stat(folder.c_str(), &now) != 0) return kSuccess;
  const int64_t changed = int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
  if (changed >= job_start_ns()) return kSuccess;
  tm when{};
  localtime_r(&now.st_mtime, &when);
  char date[32];
  std::strftime(date, sizeof(date), "-%Y%m%d-%H%M%S", &when);
  std::string aside = folder + date;
  for (int i = 1; access(aside.c_str(), F_OK) == 0; ++i) aside = folder + date + "-" + std::to_string(i);
  if (rename(folder.c_str(), aside.c_str()) != 0) return refuse_errno("cannot move aside", folder);
  return kSuccess;
}

Status write_report(const std::string& parent, const std::string& folder, const std::string& file,
                    const std::function<void(const TextSink&)>& text) {
  const std::string place = parent + "/" + folder;
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error)
    return refuse_system(error.value(), "cannot make %s: %s", place.c_str(), error.message().c_str());
  // Readers take every file of the folder for a report, so the unfinished one stays beside it.
  std::string unfinished;
  const int out = make_new_file(parent + "/." + folder + ".unfinished-", &unfinished);
  if (out < 0) return refuse_errno("cannot write", unfinished);
  FileText to(out);
  try {
    text([&to](std::string_view piece) { to.put(piece); });
  } catch (...) {
    close(out);
    unlink(unfinished.c_str());
    throw;
  }
  const int closed = close(out) == 0 ? 0 : errno;
  if (to.error() != 0 || closed != 0) {
    errno = to.error() != 0 ? to.error() : closed;
    const Status status = refuse_errno("cannot write", unfinished);
    unlink(unfinished.c_str());
    return status;
  }
  const std::string path = place + "/" + file;
  if (rename(unfinished.c_str(), path.c_str()) != 0) {
    const Status status = refuse_errno("cannot put in place", path);
    unlink(unfinished.c_str());
    return status;
  }
  return kSuccess;
}

}  // namespace substrata::high_level
