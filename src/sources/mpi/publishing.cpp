// Adds the source "mpi" and its probe points (mpi.rank<N>.send and .receive, mpi-contents.rank<N>), and records
// messages where asked.
#include "sources/mpi/publishing.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include "sources/mpi/outputs.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {
namespace {

// SUBSTRATA_MPI_TRACE: a file for each rank.
void begin_trace(Shim& self) {
  std::string file = output_path(self, "SUBSTRATA_MPI_TRACE");
  if (file.empty()) return;
  const std::string rank = std::to_string(self.rank);
  if (const size_t at = file.find("%r"); at != std::string::npos)
    file.replace(at, 2, rank);
  else
    file += "." + rank;
  auto recorder = client::feed::Recorder::start(file.c_str(), "mpi.*");
  if (recorder)
    self.publishing.recorder = std::move(recorder).value();
  else
    std::fprintf(stderr, "substrata MPI shim: no trace: %s\n", substrata_feed_error());
}

}  // namespace

void open_publishing(Shim& self) {
  constexpr uint32_t kSlots = 1024;
  const std::string virtual_summary =
      "Messages of an MPI program, seen by a preloaded shim; times are the ranks' virtual clocks (" +
      describe(self.network) + ", modelled)";
  const client::feed::Source source{
      .name = "mpi",
      .summary = self.virtual_time ? virtual_summary.c_str()
                                   : "Messages of an MPI program, seen by a preloaded shim; times are real",
      .time_base = self.virtual_time ? SUBSTRATA_TIME_VIRTUAL : SUBSTRATA_TIME_REAL};
  if (source.try_add() != 0) return;
  const std::string prefix = "mpi.rank" + std::to_string(self.rank);
  source.try_publisher((prefix + ".send").c_str(),
                       "Messages this rank sends; initiator and target are ranks of the world, detail is "
                       "the message's number between them",
                       kSlots, &self.publishing.sends);
  source.try_publisher((prefix + ".receive").c_str(),
                       "Messages this rank has received; initiator the sender, start its time stamp, "
                       "detail the message's number between the two",
                       kSlots, &self.publishing.arrivals);
  source.try_publisher(
      ("mpi-contents.rank" + std::to_string(self.rank)).c_str(),
      "Messages this rank sends to another one, with their first bytes as value; initiator and "
      "target are ranks of the world, address is the buffer",
      kSlots, &self.publishing.contents);
  begin_trace(self);
}

void close_publishing(Publishing& publishing) {
  if (publishing.recorder) static_cast<void>(publishing.recorder.stop());
  publishing.sends.close();
  publishing.arrivals.close();
  publishing.contents.close();
}

}  // namespace substrata::mpi
