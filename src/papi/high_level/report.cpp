// The high-level report: its text, and where it is put.
#include "high_level/report.hpp"

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
#include <limits>
#include <map>
#include <string_view>
#include <system_error>

#include "base/clock.hpp"
#include "base/environment.hpp"
#include "base/json.hpp"
#include "high_level/job_start.hpp"
#include "high_level/metric_columns.hpp"

namespace substrata::high_level {
namespace {

// Writes JSON with PAPI's indentation: two spaces a level, no space after a colon.
class Json {
 public:
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
  std::string take() {
    text_ += '\n';
    return std::move(text_);
  }

 private:
  void begin_item(std::string_view key) {
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
  std::string text_;
  size_t depth_ = 0;
  bool first_ = true;
};

int64_t value_at(const Moment& moment, size_t column) {
  return column < moment.values.size() ? moment.values[column] : 0;
}

// The number a passage gives for a column at a later moment of it.
int64_t reported(const Column& column, size_t index, const Passage& passage, const Moment& later) {
  const int64_t now = value_at(later, index);
  return column.instant ? now : now - value_at(passage.begin, index);
}

// One quantity of a passage: a plain number, or an object where the region was read in between.
template <class Quantity>
void put_quantity(Json* json, std::string_view name, const Passage& passage, Quantity quantity) {
  if (passage.reads.empty()) {
    json->put(name, quantity(passage.end));
    return;
  }
  json->open(name);
  json->put("region_value", quantity(passage.end));
  for (size_t i = 0; i < passage.reads.size(); ++i)
    json->put("read_" + std::to_string(i + 1), quantity(passage.reads[i]));
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

void put_thread(Json* json, const ProcessReport& report, const std::vector<Passage>& passages) {
  json->open("regions");
  // Ended passages are numbered without gaps.
  std::vector<int> number(passages.size(), -1);
  int next = 0;
  for (size_t i = 0; i < passages.size(); ++i)
    if (passages[i].ended) number[i] = next++;
  for (size_t i = 0; i < passages.size(); ++i) {
    const Passage& passage = passages[i];
    if (!passage.ended) continue;
    const int parent = passage.parent >= 0 ? number[static_cast<size_t>(passage.parent)] : -1;
    json->open(std::to_string(number[i]));
    json->put("name", passage.region);
    json->put("parent_region_id", parent);
    put_quantity(json, "cycles", passage, [&](const Moment& m) { return m.cycles - passage.begin.cycles; });
    put_quantity(json, "real_time_nsec", passage, [&](const Moment& m) { return m.ns - passage.begin.ns; });
    for (size_t c = 0; c < report.columns.size(); ++c)
      put_quantity(json, report.columns[c].name, passage,
                   [&](const Moment& m) { return reported(report.columns[c], c, passage, m); });
    for (const MetricColumn& metric : metrics_of(report))
      put_quantity(json, metric.name(), passage, [&](const Moment& m) {
        std::vector<int64_t> values;
        for (size_t c = 0; c < report.columns.size(); ++c)
          values.push_back(reported(report.columns[c], c, passage, m));
        return metric.number(values, m.ns - passage.begin.ns);
      });
    json->close();
  }
  json->close();
}

// Sum, extremes and last value of one column over the passages of a region.
struct Spread {
  int64_t sum = 0, least = std::numeric_limits<int64_t>::max(),
          greatest = std::numeric_limits<int64_t>::min(), last = 0;
  void add(int64_t value) {
    sum += value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
    last = value;
  }
};

struct RegionSum {
  int64_t passages = 0;
  int64_t threads = 0;
  std::vector<Spread> spreads;  // cycles, ns, then the columns
};

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

// Writes the whole text. False with errno; without the signal that the kernel sends to a program whose file grows
// beyond its limit.
bool write_all(int file, std::string_view text) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < text.size()) {
    errno = EFBIG;
    return false;
  }
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<size_t>(wrote));
    } else if (wrote == 0 || errno != EINTR) {
      if (wrote == 0) errno = EIO;
      return false;
    }
  }
  return true;
}

// An open folder, locked against other processes until the end of the scope.
class LockedFolder {
 public:
  explicit LockedFolder(const std::string& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) locked_ = flock(descriptor_, LOCK_EX) == 0;
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

std::string detailed_json(const ProcessReport& report) {
  Json json;
  json.open();
  put_head(&json, report);
  json.open("threads");
  for (size_t t = 0; t < report.threads.size(); ++t) {
    json.open(std::to_string(t));
    put_thread(&json, report, report.threads[t]);
    json.close();
  }
  json.close();
  json.close();
  return json.take();
}

std::string summary_json(const ProcessReport& report) {
  std::map<std::string, RegionSum> regions;
  std::vector<std::string> order;
  for (const std::vector<Passage>& thread : report.threads) {
    std::map<std::string, bool> seen;
    for (const Passage& passage : thread) {
      if (!passage.ended) continue;
      RegionSum& sum = regions[passage.region];
      if (sum.passages == 0) {
        sum.spreads.resize(report.columns.size() + 2);
        order.push_back(passage.region);
      }
      ++sum.passages;
      if (!seen[passage.region]) ++sum.threads;
      seen[passage.region] = true;
      sum.spreads[0].add(passage.end.cycles - passage.begin.cycles);
      sum.spreads[1].add(passage.end.ns - passage.begin.ns);
      for (size_t c = 0; c < report.columns.size(); ++c)
        sum.spreads[c + 2].add(reported(report.columns[c], c, passage, passage.end));
    }
  }
  Json json;
  json.open();
  put_head(&json, report);
  json.open("regions");
  for (const std::string& name : order) {
    const RegionSum& sum = regions[name];
    json.open(name);
    json.put("passages", sum.passages);
    json.put("threads", sum.threads);
    put_spread(&json, "cycles", sum.spreads[0], false);
    put_spread(&json, "real_time_nsec", sum.spreads[1], false);
    for (size_t c = 0; c < report.columns.size(); ++c)
      put_spread(&json, report.columns[c].name, sum.spreads[c + 2], report.columns[c].instant);
    json.close();
  }
  json.close();
  json.close();
  return json.take();
}

long rank_of_process() noexcept {
  for (const char* variable : kRankVariables) {
    const char* const text = environment(variable);
    if (text == nullptr) continue;
    char* end = nullptr;
    const long rank = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && rank >= 0) return rank;
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
                    const std::string& text) {
  const std::string place = parent + "/" + folder;
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error)
    return refuse_system(error.value(), "cannot make %s: %s", place.c_str(), error.message().c_str());
  // Readers take every file of the folder for a report, so the unfinished one stays beside it.
  std::string unfinished;
  const int out = make_new_file(parent + "/." + folder + ".unfinished-", &unfinished);
  if (out < 0) return refuse_errno("cannot write", unfinished);
  bool written = write_all(out, text);
  int why = errno;
  if (close(out) != 0 && written) {
    why = errno;
    written = false;
  }
  if (!written) {
    errno = why;
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
