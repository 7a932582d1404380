// Pages of made-up recordings, and what a browser shows of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "browser.hpp"
#include "recording/html_report.hpp"
#include "recording/page/page.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace substrata::tests {

using namespace substrata::recording;

#define NEEDS_CHARTS()    \
  if (!page_has_charts()) \
  GTEST_SKIP()            \
      << "this build has no library of charts: npm or a network was missing (docs/decisions/charts.md)"

inline SeriesInfo in_component(SeriesInfo info, const std::string& component, const std::string& scope) {
  info.component = component;
  info.scope = scope;
  return info;
}

// Ten seconds of an MPI program of three ranks: a busy half and an idle one.
inline std::string page_of_a_job() {
  MemorySink sink([] {
    Properties properties = machine("node1", "boot");
    for (auto& [name, value] : properties)
      if (name == "command") value = "mpirun -n 3 solver";
    properties.emplace_back("machine.processors", "4");
    return properties;
  }());
  std::vector<SeriesInfo> series = {
      in_component(count_series("perf::TASK-CLOCK", "ns"), "perf_event", "process tree"),
      in_component(count_series("perf::PAGE-FAULTS", "faults"), "perf_event", "process tree"),
      in_component(count_series("net:::eth0:rx:bytes", "bytes"), "net", "node"),
      in_component(count_series("net:::eth0:tx:bytes", "bytes"), "net", "node"),
      in_component(count_series("mpi:::messages", "messages"), "mpi", "ranks of the node"),
      in_component(count_series("mpi:::bytes", "bytes"), "mpi", "ranks of the node"),
      in_component(gauge_series("mpi:::ranks", "ranks"), "mpi", "ranks of the node"),
      in_component(gauge_series("thermal_model:::package0:temperature", "mdegC"), "thermal_model", "package"),
      in_component(count_series("recorder:cpu", "ns"), "recorder", "recorder")};
  series[6].modelled = false;
  // As ranks come: not in their order.
  for (const char* rank : {"rank 2", "rank 0", "rank 1"})
    series.push_back(in_component(count_series("mpi:::rank:bytes", "bytes"), "mpi", rank));
  const std::uint32_t set = sink.declare(series);
  for (int i = 0; i <= 100; ++i) {
    const int busy = std::min(i, 50);
    const std::vector<std::int64_t> values = {
        300'000'000LL * busy, 40 * busy,       1000 * busy, 500 * i,     10 * busy,  2'000'000LL * busy, 3,
        50'000 + 50 * i,      1'000'000LL * i, 3000 * busy, 1000 * busy, 2000 * busy};
    std::vector<std::uint8_t> flags(values.size(), 0);
    flags[7] = kModelled;
    sink.sample(set, kSecond + i * kSecond / 10, 1000, values.data(), flags.data());
  }
  sink.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
  sink.mark({MarkKind::kEnd, 6 * kSecond, -1, "solve"});
  sink.mark({MarkKind::kBegin, 7 * kSecond, -1, "blink"});
  sink.mark({MarkKind::kEnd, 7 * kSecond + 1'000'000, -1, "blink"});
  sink.end(11 * kSecond, {{"exit", "exit status 0"},
                          {"command.user_s", "12"},
                          {"command.system_s", "3"},
                          {"command.max_resident_kib", "2048000"},
                          {"command.max_resident_floor_kib", "8000"}});
  std::ostringstream out;
  write_html_report(out, lay_out(sink.recording()), "run.sub");
  return out.str();
}

inline Browsed browse_job(int width, const std::string& script, const std::string& options = "") {
  return browse(page_of_a_job(), width, script, options);
}

// A page of rows every tenth of a second, from the first second on.
using Row = std::vector<std::int64_t>;
inline std::string page_of(const std::vector<SeriesInfo>& series, int rows, Row (*values)(int row)) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare(series);
  const std::vector<std::uint8_t> flags(series.size(), 0);
  for (int i = 0; i < rows; ++i)
    sink.sample(set, kSecond + i * kSecond / 10, 0, values(i).data(), flags.data());
  sink.end(kSecond + rows * kSecond / 10, {});
  std::ostringstream page;
  write_html_report(page, lay_out(sink.recording()), "node");
  return page.str();
}

}  // namespace substrata::tests
