// papi_hl_output_writer: the high-level interface's reports of all ranks, joined in one file or summed up by
// region.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parse.hpp"
#include "base/whole_file.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/joined_reports.hpp"

namespace {

using substrata::utilities::join_reports;
using substrata::utilities::Joining;
using substrata::utilities::RankReport;
using substrata::utilities::read_report;

std::vector<RankReport> read_reports(const std::string& folder) {
  std::vector<RankReport> ranks;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kStart = "rank_", kEnd = ".json";
    if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
    const std::string digits =
        name.substr(kStart.size(), name.size() - std::min(name.size(), kStart.size() + kEnd.size()));
    RankReport rank;
    if (!substrata::parse_number(digits, &rank.number)) continue;
    std::ifstream file(entry.path());
    try {
      rank.report = read_report(file);
    } catch (const std::exception& error) {
      throw std::runtime_error(entry.path().string() +
                               " is not a report of the high-level interface: " + error.what());
    }
    ranks.push_back(std::move(rank));
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const RankReport& a, const RankReport& b) { return a.number < b.number; });
  return ranks;
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
    const std::vector<RankReport> ranks = read_reports(source);
    if (ranks.empty()) return fail(1, "'" + source + "' holds no rank_*.json");
    const std::string text =
        join_reports(ranks, type == "detail" ? Joining::kDetail : Joining::kSummary, notation == "derived");
    const char* const name = type == "detail" ? "papi.json" : "papi_sum.json";
    substrata::write_whole(name, [&](std::ostream& to) { to << text << '\n'; });
    std::printf("%s\n", text.c_str());
    return 0;
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}
