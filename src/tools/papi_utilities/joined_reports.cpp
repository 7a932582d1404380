// Numbers of regions, made times, rates and statistics.
#include "tools/papi_utilities/joined_reports.hpp"
#include "base/parse.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace substrata::utilities {
namespace {

constexpr const char* kRealTime = "real_time_nsec";
constexpr const char* kProcessorTime = "perf::TASK-CLOCK";
constexpr const char* kInstructions = "PAPI_TOT_INS";
constexpr const char* kCycles = "PAPI_TOT_CYC";

// Operations that are reported as a rate: millions per second of real time.
struct Rate {
  const char* event;
  const char* text;
};
constexpr Rate kRates[] = {
    {"PAPI_FP_INS", "MFLIPS/s"},
    {"PAPI_VEC_SP", "Single precision vector/SIMD instructions rate in M/s"},
    {"PAPI_VEC_DP", "Double precision vector/SIMD instructions rate in M/s"},
    {"PAPI_FP_OPS", "MFLOPS/s"},
    {"PAPI_SP_OPS", "Single precision MFLOPS/s"},
    {"PAPI_DP_OPS", "Double precision MFLOPS/s"},
};
const char* rate_name(const std::string& event) {
  for (const Rate& rate : kRates)
    if (event == rate.event) return rate.text;
  return nullptr;
}

// Times and rates to a millionth, so that short regions do not become 0.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }
double quotient(double a, double b) { return b == 0 ? 0 : rounded(a / b); }

// Reports hold numbers as text.
long long number(const Json& value) {
  if (value.is_number()) return value.get<long long>();
  const std::string& text = value.get_ref<const std::string&>();
  long long result = 0;
  if (!parse_number(text, &result)) throw std::runtime_error("\"" + text + "\" is not a number");
  return result;
}

// Numbers that several events make (metric:::IPC) cannot be added up over passes and ranks.
bool is_metric(const std::string& key) {
  return key != "name" && key != "parent_region_id" && !key.starts_with("metric:::");
}

// One metric of a region, or each of its reads, made a number by `make`.
template <class Make>
Json each_read(const Json& region, const std::string& metric, Make make) {
  const Json& value = region.at(metric);
  if (!value.is_object()) return make([&](const char* other) { return number(region.at(other)); });
  Json all = Json::object();
  for (const auto& [moment, ignored] : value.items())
    all[moment] = make([&region, moment = moment](const char* other) {
      const Json& reads = region.at(other);
      return number(reads.is_object() ? reads.at(moment) : reads);
    });
  return all;
}

Json derived_region(const Json& region) {
  Json out = Json::object();
  out["name"] = region.at("name");
  const bool ipc = region.contains(kInstructions) && region.contains(kCycles);
  for (const auto& [key, value] : region.items()) {
    if (!is_metric(key) || key == "cycles" || (ipc && key == kCycles)) continue;
    const char* const metric = key.c_str();
    if (key == kRealTime || key == kProcessorTime) {
      out[key == kRealTime ? "Real time in s" : "CPU time in s"] = each_read(
          region, key, [&](auto of) { return Json(rounded(static_cast<double>(of(metric)) / 1e9)); });
    } else if (ipc && key == kInstructions) {
      out["IPC"] = each_read(region, key, [&](auto of) {
        return Json(quotient(static_cast<double>(of(kInstructions)), static_cast<double>(of(kCycles))));
      });
    } else if (const char* rate = rate_name(key); rate != nullptr && region.contains(kRealTime)) {
      out[rate] = each_read(region, key, [&](auto of) {
        return Json(quotient(static_cast<double>(of(metric)) * 1e3, static_cast<double>(of(kRealTime))));
      });
    } else {
      out[key] = each_read(region, key, [&](auto of) { return Json(static_cast<double>(of(metric))); });
    }
  }
  return out;
}

Json detail(const std::vector<RankReport>& ranks, bool derived) {
  Json all = Json::object();
  for (const RankReport& rank : ranks) {
    Json threads = rank.report.at("threads");
    if (derived)
      for (auto& [number, thread] : threads.items())
        for (auto& [id, region] : thread.at("regions").items()) region = derived_region(region);
    all[std::to_string(rank.number)]["threads"] = std::move(threads);
  }
  return Json{{"ranks", all}};
}

struct Metric {
  bool instant = false;
  std::vector<long long> values;
  double total() const {
    double sum = 0;
    for (const long long value : values) sum += static_cast<double>(value);
    return sum;
  }
};

struct Region {
  std::size_t passages = 0;
  std::set<unsigned long> ranks;
  std::set<std::pair<unsigned long, std::string>> threads;
  std::vector<std::string> order;
  std::map<std::string, Metric> metrics;
};

// The value of one passage is reported as it is; of several the sum (not of levels), least, middle and greatest.
Json statistics(const Metric& metric) {
  std::vector<long long> sorted = metric.values;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() == 1) return sorted.front();
  Json out = Json::object();
  if (!metric.instant) {
    long long total = 0;
    bool too_large = false;
    for (const long long value : sorted)
      too_large = __builtin_add_overflow(total, value, &total) || too_large;
    out["total"] = too_large ? Json(metric.total()) : Json(total);
  }
  out["min"] = sorted.front();
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1)
    out["median"] = sorted[middle];
  else
    out["median"] = (static_cast<double>(sorted[middle - 1]) + static_cast<double>(sorted[middle])) / 2;
  out["max"] = sorted.back();
  return out;
}

Json summary(const std::vector<RankReport>& ranks, bool derived) {
  std::vector<std::string> order;
  std::map<std::string, Region> regions;
  for (const RankReport& rank : ranks) {
    const Json definitions = rank.report.value("event_definitions", Json::object());
    for (const auto& [thread_number, thread] : rank.report.at("threads").items()) {
      for (const auto& [id, passage] : thread.at("regions").items()) {
        const std::string name = passage.at("name");
        if (!regions.contains(name)) order.push_back(name);
        Region& region = regions[name];
        ++region.passages;
        region.ranks.insert(rank.number);
        region.threads.insert({rank.number, thread_number});
        for (const auto& [key, value] : passage.items()) {
          if (!is_metric(key)) continue;
          if (!region.metrics.contains(key)) region.order.push_back(key);
          Metric& metric = region.metrics[key];
          if (definitions.contains(key)) metric.instant = definitions.at(key).value("type", "") == "instant";
          metric.values.push_back(number(value.is_object() ? value.at("region_value") : value));
        }
      }
    }
  }
  Json out = Json::object();
  for (const std::string& name : order) {
    const Region& region = regions.at(name);
    Json& entry = out[name] = Json::object();
    entry[derived ? "Region count" : "region_count"] = region.passages;
    const bool ipc = region.metrics.contains(kInstructions) && region.metrics.contains(kCycles);
    for (const std::string& key : region.order) {
      const Metric& metric = region.metrics.at(key);
      if (!derived) {
        entry[key] = statistics(metric);
      } else if (key == kRealTime) {  // passages of several threads overlap: the longest
        entry["Real time in s"] =
            rounded(static_cast<double>(*std::max_element(metric.values.begin(), metric.values.end())) / 1e9);
      } else if (key == kProcessorTime) {
        entry["CPU time in s"] = rounded(metric.total() / 1e9);
      } else if (ipc && key == kInstructions) {
        entry["IPC"] = quotient(metric.total(), region.metrics.at(kCycles).total());
      } else if (key == "cycles" || (ipc && key == kCycles)) {
        continue;
      } else if (const char* rate = rate_name(key); rate != nullptr && region.metrics.contains(kRealTime)) {
        entry[rate] = quotient(metric.total() * 1e3, region.metrics.at(kRealTime).total());
      } else {
        entry[key] = statistics(metric);
      }
    }
    if (region.threads.size() > 1) {
      entry["Number of ranks"] = region.ranks.size();
      entry["Number of threads per rank"] = region.threads.size() / region.ranks.size();
    }
  }
  return out;
}

constexpr int kDeepest = 16;  // a report's numbers of reads lie at 6

// How deeply lists lie in lists: what is copied and written list by list goes down so far. The library's own way to
// look at it, a function called for each value, takes quadratic time.
int depth_of(const std::string& json) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      deepest = std::max(deepest, ++depth);
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
  }
  return deepest;
}

}  // namespace

Json read_report(std::istream& text) {
  const std::string whole{std::istreambuf_iterator<char>(text), {}};
  if (depth_of(whole) > kDeepest) throw std::runtime_error("lists lie in lists too deeply");
  Json report = Json::parse(whole);
  if (!report.is_object() || !report.at("threads").is_object()) throw std::runtime_error("it has no threads");
  return report;
}

std::string join_reports(const std::vector<RankReport>& ranks, Joining how, bool derived) {
  return (how == Joining::kDetail ? detail(ranks, derived) : summary(ranks, derived)).dump(4);
}

}  // namespace substrata::utilities
