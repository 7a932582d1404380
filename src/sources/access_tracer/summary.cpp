// Sums the tallies of all threads up, and writes them in the order of their accesses.
#include "summary.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "report.hpp"

namespace substrata::access_tracer {
namespace {

using Json = nlohmann::ordered_json;

struct Sum {
  uint64_t reads = 0, writes = 0, atomics = 0, calls = 0, read_bytes = 0, written_bytes = 0;
  void add(uint32_t kind, const Tally& tally) {
    if (kind == SUBSTRATA_MEMORY_READ) {
      reads += tally.accesses;
      read_bytes += tally.bytes;
    } else if (kind == SUBSTRATA_MEMORY_WRITE) {
      writes += tally.accesses;
      written_bytes += tally.bytes;
    } else if (kind == SUBSTRATA_MEMORY_ATOMIC) {
      atomics += tally.accesses;
    } else {
      calls += tally.accesses;
    }
  }
  uint64_t accesses() const { return reads + writes + atomics; }
};

Json functions_as_json(const std::map<std::string, Sum>& functions) {
  std::vector<std::pair<std::string, Sum>> sorted(functions.begin(), functions.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.accesses() > b.second.accesses(); });
  Json out = Json::array();
  for (const auto& [name, sum] : sorted)
    out.push_back({{"name", name},
                   {"calls", sum.calls},
                   {"reads", sum.reads},
                   {"writes", sum.writes},
                   {"atomics", sum.atomics}});
  return out;
}

Json objects_as_json(Objects& objects, const std::vector<Sum>& sums) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < sums.size(); ++i)
    if (sums[i].accesses() != 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return sums[a].accesses() > sums[b].accesses(); });
  Json out = Json::array();
  for (const uint32_t i : order) {
    out.push_back({{"name", objects[i].name},
                   {"kind", objects[i].kind},
                   {"bytes", objects[i].bytes},
                   {"allocations", objects[i].allocations},
                   {"reads", sums[i].reads},
                   {"writes", sums[i].writes},
                   {"atomics", sums[i].atomics}});
    if (const Symbols::Origin site = objects.site_of(i); !site.path.empty())
      out.back()["site"] = {{"file", site.path}, {"address", site.address}};
  }
  return out;
}

}  // namespace

void write_summary(const std::string& path, const SummaryOf& of, Objects& objects) {
  Sum all;
  std::map<std::string, Sum> by_function;
  std::vector<Sum> by_object(objects.count());
  const auto add = [&](const Tallies& tallies) {
    for (const auto& [key, tally] : tallies) {
      all.add(key.kind, tally);
      by_function[objects.function_name(key.pc)].add(key.kind, tally);
      by_object[key.object].add(key.kind, tally);
    }
  };
  add(of.ended);
  for (const ThreadState* state : of.threads) add(counts_of(state->moved, state->table));
  const Json summary = {{"reads", all.reads},
                        {"writes", all.writes},
                        {"atomics", all.atomics},
                        {"bytes_read", all.read_bytes},
                        {"bytes_written", all.written_bytes},
                        {"threads", of.all_threads},
                        {"skipped", of.skipped},
                        {"by_function", functions_as_json(by_function)},
                        {"by_object", objects_as_json(objects, by_object)}};
  const std::string temporary = path + ".part";
  std::ofstream file(temporary);
  file << summary.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    report("the summary cannot be written to " + path + ": " + std::strerror(errno));
    std::remove(temporary.c_str());
  }
}

}  // namespace substrata::access_tracer
