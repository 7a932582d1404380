// What a rank sends, kept for the modelled cluster that carries the messages of all ranks at the program's
// end.
#ifndef SUBSTRATA_MPI_SHIM_CLUSTER_LOG_HPP
#define SUBSTRATA_MPI_SHIM_CLUSTER_LOG_HPP

#include <substrata/myrinet.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::mpi_shim {

// Which cluster SUBSTRATA_MPI_CLUSTER asks for: "myrinet" or "myrinet:name=value:...".
struct ClusterChoice {
  bool wanted = false;
  std::string parameters;  // of the machine, "" or "name=value:..."
};
// On an error the sentence, and `out` unchanged; else "".
std::string parse_cluster_choice(std::string_view text, ClusterChoice* out);

// One rank's operations in their order. Not thread-safe: the shim serialises. Grows by blocks, so that no
// message waits for old ones to be moved.
class ClusterLog {
 public:
  static constexpr size_t kMost = size_t{1} << 22;  // operations, 128 MiB
  // Begins to keep.
  void open(int rank) {
    rank_ = static_cast<uint32_t>(rank);
    open_ = true;
  }
  bool is_open() const { return open_; }
  // The rank has computed.
  void computed(double nanoseconds) {
    if (nanoseconds > 0) computed_ += nanoseconds;
  }
  // `phase`: its place in the rank's ledger. Messages to the rank itself and to other jobs pass no interface
  // and are counted only.
  void sent(int to, uint64_t bytes, uint32_t phase, bool collective);
  // `number`: of the message between the two, from 1.
  void received(int from, uint64_t number);

  // In one piece; the log is empty then.
  std::vector<substrata_myrinet_operation> take();
  struct Totals {
    uint64_t messages = 0;  // all of them
    uint64_t bytes = 0;
    uint64_t to_itself = 0;
    uint64_t to_itself_bytes = 0;
    uint64_t left_out = 0;  // to other jobs, and what had no room
    uint64_t left_out_bytes = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  static constexpr size_t kBlock = 4096;
  void keep(substrata_myrinet_operation operation);
  bool open_ = false;
  uint32_t rank_ = 0;
  double computed_ = 0;  // nanoseconds since the last operation kept
  size_t kept_ = 0;
  std::vector<std::vector<substrata_myrinet_operation>> blocks_;
  Totals totals_;
};

// One signature, with the counts it belongs to, as the files have them.
struct CarriedPart {
  std::string name;  // of the phase; "" of all
  substrata_myrinet_counts counts{};
  std::vector<substrata_myrinet_point> points;
};
// A rank's entry of cluster.json: the whole, then its phases.
std::string carried_as_json(int rank, const std::vector<CarriedPart>& parts);
// The same signatures for gnuplot: one block for each part, and the commands that draw rank `rank`'s.
std::string carried_as_table(const std::vector<CarriedPart>& parts);
std::string carried_as_plot(int rank, const std::vector<CarriedPart>& parts);
// Counts as members of a JSON object, without braces.
std::string counts_as_json(const substrata_myrinet_counts& counts);

}  // namespace substrata::mpi_shim

#endif
