// papi_hl_output_writer: the high-level interface's reports of all ranks, joined in one file or summed up by
// region.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments/arguments.hpp"
#include "base/whole_file.hpp"

namespace {

using Json = nlohmann::ordered_json;

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
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw std::runtime_error("\"" + text + "\" is not a number");
  return result;
}

// Numbers that several events make (metric:::IPC) cannot be added up over passes and ranks.
bool is_metric(const std::string& key) {
  return key != "name" && key != "parent_region_id" && !key.starts_with("metric:::");
}

struct Rank {
  unsigned long number = 0;
  Json report;
};

std::vector<Rank> read_reports(const std::string& folder) {
  std::vector<Rank> ranks;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kStart = "rank_", kEnd = ".json";
    if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
    const std::string digits =
        name.substr(kStart.size(), name.size() - std::min(name.size(), kStart.size() + kEnd.size()));
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 18)
      continue;
    std::ifstream file(entry.path());
    Rank rank;
    rank.number = std::stoul(digits);
    try {
      rank.report = Json::parse(file);
      if (!rank.report.is_object() || !rank.report.at("threads").is_object())
        throw std::runtime_error("it has no threads");
    } catch (const std::exception& error) {
      throw std::runtime_error(entry.path().string() +
                               " is not a report of the high-level interface: " + error.what());
    }
    ranks.push_back(std::move(rank));
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return a.number < b.number; });
  return ranks;
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

Json detail(const std::vector<Rank>& ranks, bool derived) {
  Json all = Json::object();
  for (const Rank& rank : ranks) {
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

Json summary(const std::vector<Rank>& ranks, bool derived) {
  std::vector<std::string> order;
  std::map<std::string, Region> regions;
  for (const Rank& rank : ranks) {
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

int fail(int status, const std::string& why) {
  std::fprintf(stderr, "papi_hl_output_writer: %s\n", why.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::string source = "papi_hl_output", format = "json", type = "summary", notation = "derived";
  substrata::Arguments arguments("papi_hl_output_writer",
                                 "Joins the reports of the high-level interface, or sums them up by region.");
  arguments.word("--source", source, "folder of the reports (default papi_hl_output)");
  arguments.word("--format", format, "format of the output: json");
  arguments.word("--type", type, "detail: every passage, to papi.json; summary: by region, to papi_sum.json");
  arguments.word("--notation", notation, "derived: seconds, rates, IPC; raw: the numbers as counted");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (format != "json") return fail(2, "the output format '" + format + "' is not known; json is");
  if (type != "detail" && type != "summary")
    return fail(2, "the output type '" + type + "' is not known; detail and summary are");
  if (notation != "derived" && notation != "raw")
    return fail(2, "the notation '" + notation + "' is not known; derived and raw are");
  try {
    if (!std::filesystem::is_directory(source))
      return fail(1, "there is no measurement folder '" + source + "'");
    const std::vector<Rank> ranks = read_reports(source);
    if (ranks.empty()) return fail(1, "'" + source + "' holds no rank_*.json");
    const bool derived = notation == "derived";
    const std::string text = (type == "detail" ? detail(ranks, derived) : summary(ranks, derived)).dump(4);
    const char* const name = type == "detail" ? "papi.json" : "papi_sum.json";
    substrata::write_whole(name, [&](std::ostream& to) { to << text << '\n'; });
    std::printf("%s\n", text.c_str());
    return 0;
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
