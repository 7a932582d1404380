// Adds the source "mpi" and the probe points mpi.rank<N>.send and .receive, and records them where asked.
#include "publishing.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "shim.hpp"

namespace substrata::mpi {
namespace {

substrata_publisher* open_publisher(const std::string& name, const char* text) {
  substrata_probe_info probe{};
  probe.struct_size = sizeof probe;
  probe.name = name.c_str();
  probe.text = text;
  probe.source = "mpi";
  uint32_t number = 0;
  substrata_publisher* publisher = nullptr;
  if (substrata_probe_add(&probe, &number) != 0) return nullptr;
  return substrata_publisher_open(number, 1024, &publisher) == 0 ? publisher : nullptr;
}

// SUBSTRATA_MPI_TRACE: a file for each rank.
substrata_recorder* begin_trace(int rank) {
  const char* const trace = std::getenv("SUBSTRATA_MPI_TRACE");
  if (trace == nullptr || trace[0] == '\0') return nullptr;
  std::string file = trace;
  if (const size_t at = file.find("%r"); at != std::string::npos)
    file.replace(at, 2, std::to_string(rank));
  else
    file += "." + std::to_string(rank);
  substrata_recorder* recorder = nullptr;
  if (substrata_record_start(file.c_str(), "mpi.*", nullptr, &recorder) == 0) return recorder;
  std::fprintf(stderr, "substrata MPI shim: no trace: %s\n", substrata_feed_error());
  return nullptr;
}

}  // namespace

void open_publishing(Shim& self) {
  const std::string virtual_summary =
      "Messages of an MPI program, seen by a preloaded shim; times are the ranks' virtual clocks (" +
      describe(self.network) + ", modelled)";
  substrata_source_info source{};
  source.struct_size = sizeof source;
  source.kind = SUBSTRATA_SOURCE_LIVE;
  source.name = "mpi";
  source.summary = self.virtual_time ? virtual_summary.c_str()
                                     : "Messages of an MPI program, seen by a preloaded shim; times are real";
  source.time_base = self.virtual_time ? SUBSTRATA_TIME_VIRTUAL : SUBSTRATA_TIME_REAL;
  source.ticks_per_second = 1'000'000'000;
  if (substrata_source_add(&source) != 0) return;
  const std::string prefix = "mpi.rank" + std::to_string(self.rank);
  self.publishing.sends =
      open_publisher(prefix + ".send",
                     "Messages this rank sends; initiator and target are ranks of the world, detail is "
                     "the message's number between them");
  self.publishing.arrivals =
      open_publisher(prefix + ".receive",
                     "Messages this rank has received; initiator the sender, start its time stamp, "
                     "detail the message's number between the two");
  self.publishing.recorder = begin_trace(self.rank);
}

void close_publishing(Publishing& publishing) {
  if (publishing.recorder != nullptr) substrata_record_stop(publishing.recorder, nullptr);
  substrata_publisher_close(publishing.sends);
  substrata_publisher_close(publishing.arrivals);
  publishing = {};
}

}  // namespace substrata::mpi
