// Sums the tallies of all threads up, and writes them in the order of their accesses.
#include "sources/access_tracer/summary.hpp"

#include <algorithm>
#include <locale>
#include <map>
#include <ostream>
#include <utility>

#include "base/json.hpp"
#include "base/whole_file.hpp"

namespace substrata::access_tracer {
namespace {

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
  Ran ran;
};

void write(std::ostream& to, const Sum& sum) {
  to << ", \"reads\": " << sum.reads << ", \"writes\": " << sum.writes << ", \"atomics\": " << sum.atomics
     << '}';
}

void write(std::ostream& to, const std::map<std::string, Sum>& functions) {
  std::vector<std::pair<std::string, Sum>> sorted(functions.begin(), functions.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.accesses() > b.second.accesses(); });
  const char* separator = "\n";
  for (const auto& [name, sum] : sorted) {
    to << std::exchange(separator, ",\n") << "  {\"name\": " << json_quoted(name)
       << ", \"calls\": " << sum.calls << ", \"bytes_read\": " << sum.read_bytes
       << ", \"bytes_written\": " << sum.written_bytes;
    if (sum.ran.calls != 0) to << ", \"ns\": " << sum.ran.ns << ", \"least_ns\": " << sum.ran.least_ns;
    write(to, sum);
  }
}

void write(std::ostream& to, Objects& objects, const std::vector<Sum>& sums) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < sums.size(); ++i)
    if (sums[i].accesses() != 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return sums[a].accesses() > sums[b].accesses(); });
  const char* separator = "\n";
  for (const uint32_t i : order) {
    to << std::exchange(separator, ",\n") << "  {\"name\": " << json_quoted(objects[i].name)
       << ", \"kind\": " << json_quoted(objects[i].kind) << ", \"bytes\": " << objects[i].bytes
       << ", \"allocations\": " << objects[i].allocations;
    if (const Symbols::Origin site = objects.site_of(i); !site.path.empty())
      to << ", \"site\": {\"file\": " << json_quoted(site.path) << ", \"address\": " << site.address << "}";
    write(to, sums[i]);
  }
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
  for (const auto& [pc, ran] : of.times) by_function[objects.function_name(pc)].ran.add(ran);
  for (const ThreadState* state : of.threads) add(counts_of(state->moved, state->table));
  // As it goes: a tree of it could not be given back without memory.
  write_whole(path, [&](std::ostream& to) {
    to.imbue(std::locale::classic());
    to << "{\"reads\": " << all.reads << ",\n \"writes\": " << all.writes
       << ",\n \"atomics\": " << all.atomics << ",\n \"bytes_read\": " << all.read_bytes
       << ",\n \"bytes_written\": " << all.written_bytes << ",\n \"threads\": " << of.all_threads
       << ",\n \"skipped\": " << of.skipped << ",\n \"by_function\": [";
    write(to, by_function);
    to << "],\n \"by_object\": [";
    write(to, objects, by_object);
    to << "]}\n";
  });
}

}  // namespace substrata::access_tracer
