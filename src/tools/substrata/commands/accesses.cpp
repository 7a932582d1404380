// substrata accesses: what the access tracer counted, by object and function, with places in the source.
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "base/command_output.hpp"
#include "base/parse.hpp"
#include "base/temporary_folder.hpp"
#include "base/whole_file.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/run.hpp"
#include "recording/text_report.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using recording::compact;

constexpr std::size_t kMostLines = 20;

constexpr const char* kUsage =
    "Runs a program that was compiled with substrata-cc, substrata-c++ or substrata-fc, and prints which of "
    "its "
    "objects and functions access memory most. Heap objects are named by the line that allocates them where "
    "the "
    "program was compiled with -g.\n\n"
    "  substrata-cc -g -O2 -o sort sort.c && substrata accesses -- ./sort\n"
    "  substrata accesses summary.json                 of a summary (SUBSTRATA_MEMORY_SUMMARY)\n\n"
    "The exit status is the command's.";

std::uint64_t number(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}
std::string text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
std::uint64_t sum_of(const json& one) {
  return number(one, "reads") + number(one, "writes") + number(one, "atomics");
}

// The line of a file, without blanks around it; empty where the source is not here.
std::string line_of(const std::string& path, long wanted) {
  std::ifstream file(path);
  std::string line;
  for (long at = 0; at < wanted; ++at)
    if (!std::getline(file, line)) return {};
  const std::size_t begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? std::string() : line.substr(begin, end - begin + 1);
}

// "sort.c:12: int* a = malloc(...)", as addr2line finds it; empty without debugging data or that program.
std::string source_of(const json& site) {
  const std::string file = text(site, "file");
  if (file.empty() || file.find('\'') != std::string::npos) return {};
  char address[40];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(number(site, "address")));
  std::string place = command_output("addr2line -e '" + file + "' " + address);
  place = place.substr(0, place.find_first_of(" \n"));  // a discriminator may follow
  const std::size_t colon = place.rfind(':');
  long row = 0;
  if (colon != std::string::npos) leading_number(std::string_view(place).substr(colon + 1), &row);
  if (row <= 0) return {};
  const std::string path = place.substr(0, colon), code = line_of(path, row);
  return fs::path(path).filename().string() + ":" + std::to_string(row) + (code.empty() ? "" : ": " + code);
}

std::string object_name(const json& one) {
  const auto site = one.find("site");
  const std::string source = site != one.end() && site->is_object() ? source_of(*site) : std::string();
  return source.empty() ? text(one, "name") : "heap, " + source;
}

void print_rows(const char* title, const char* list, const json& summary, bool objects) {
  const auto all = summary.find(list);
  if (all == summary.end() || !all->is_array()) return;
  const std::uint64_t sum = std::max<std::uint64_t>(1, sum_of(summary));
  std::printf("\n  %8s %10s %10s %10s  %s\n", "share", "reads", "writes", "atomics", title);
  std::size_t lines = 0;
  for (const json& one : *all) {
    if (!one.is_object() || sum_of(one) == 0) continue;
    if (lines++ == kMostLines) break;
    std::string name = objects ? object_name(one) : text(one, "name");
    if (objects && number(one, "bytes") != 0)
      name += "  (" + compact(static_cast<double>(number(one, "bytes"))) + "B)";
    std::printf("  %6.1f %% %10s %10s %10s  %s\n",
                100 * static_cast<double>(sum_of(one)) / static_cast<double>(sum),
                compact(static_cast<double>(number(one, "reads"))).c_str(),
                compact(static_cast<double>(number(one, "writes"))).c_str(),
                compact(static_cast<double>(number(one, "atomics"))).c_str(), name.c_str());
  }
  if (lines > kMostLines) std::printf("  and %zu more\n", all->size() - kMostLines);
}

void print_summary(const std::string& title, const std::string& content) {
  const json summary = json::parse(content, nullptr, false);
  if (!summary.is_object() || !summary.contains("by_object"))
    throw std::runtime_error("'" + title + "' is not a summary of the access tracer");
  std::printf("Memory accesses of %s: %s read (%sB), %s written (%sB), %s atomic; %llu threads\n",
              title.c_str(), compact(static_cast<double>(number(summary, "reads"))).c_str(),
              compact(static_cast<double>(number(summary, "bytes_read"))).c_str(),
              compact(static_cast<double>(number(summary, "writes"))).c_str(),
              compact(static_cast<double>(number(summary, "bytes_written"))).c_str(),
              compact(static_cast<double>(number(summary, "atomics"))).c_str(),
              static_cast<unsigned long long>(number(summary, "threads")));
  print_rows("object", "by_object", summary, true);
  print_rows("function", "by_function", summary, false);
  if (number(summary, "skipped") != 0)
    std::printf("\n  %llu accesses were not taken (signal handlers, want of memory)\n",
                static_cast<unsigned long long>(number(summary, "skipped")));
}

int run_traced(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  Child child(command, {{"SUBSTRATA_MEMORY_SUMMARY", (folder.path() / "%p").string()}});
  child.go();
  pollfd end{child.signals(), POLLIN, 0};
  while (!child.take_signals()) poll(&end, 1, -1);
  rusage used{};
  const int status = child.reap(&used);
  std::map<long, fs::path> summaries;  // by process
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    long process = 0;
    leading_number(entry.path().filename().string(), &process);
    summaries[process] = entry.path();
  }
  std::fflush(stdout);
  for (const auto& [process, path] : summaries) {
    std::printf("\n");
    print_summary(command.front() + " (process " + std::to_string(process) + ")", contents_of(path));
  }
  if (!summaries.empty()) return status;
  std::fprintf(stderr,
               "substrata accesses: nothing was traced: the program was not compiled with substrata-cc, "
               "substrata-c++ or substrata-fc, or did not come to its end\n");
  return status != 0 ? status : 1;
}

}  // namespace

int accesses(int argc, char** argv) {
  std::string file;
  Arguments arguments("substrata accesses", kUsage);
  arguments.word("FILE", file, "a summary", Arguments::Value::kFile);
  const std::optional<SplitLine> split = split_at_dashes(argc, argv);
  std::vector<char*> before(argv, argv + argc);
  if (split) before = split->before;
  if (const auto status = arguments.parse(static_cast<int>(before.size()), before.data())) return *status;
  const bool runs = split && !split->command.empty();
  if (runs != file.empty()) {
    std::fprintf(stderr, "substrata accesses: name a summary, or a program after '--'\n");
    return 2;
  }
  if (runs) return run_traced(split->command);
  if (!fs::exists(file)) throw std::runtime_error("there is no file '" + file + "'");
  print_summary(file, contents_of(file));
  return 0;
}

}  // namespace substrata::tool
