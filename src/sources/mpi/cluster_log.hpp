// What a rank sends, kept for the modelled cluster that carries the messages of all ranks when the program
// has ended, and the file in which they wait for it.
#pragma once

#include <substrata/myrinet.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::mpi {

// Which cluster SUBSTRATA_MPI_CLUSTER asks for: "myrinet" or "myrinet:name=value:...".
struct ClusterChoice {
  bool wanted = false;
  std::string parameters;  // of the machine, "" or "name=value:..."
};
// On an error the message, and `out` unchanged; else "".
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
  // `phase`: its place in the rank's counts. Messages to the rank itself and to other jobs pass no interface
  // and are counted only. `operation`: number of the collective operation, the same in all its messages; 0: not known.
  void sent(int to, uint64_t bytes, uint32_t phase, bool collective, uint64_t operation = 0);
  // `number`: of the message between the two, from 1.
  void received(int from, uint64_t number);

  // What was kept, in its order and in parts.
  size_t size() const { return kept_; }
  const std::vector<std::vector<substrata_myrinet_operation>>& parts() const { return blocks_; }
  struct Totals {
    uint64_t messages = 0;  // all of them
    uint64_t bytes = 0;
    uint64_t to_itself = 0;
    uint64_t to_itself_bytes = 0;
    uint64_t left_out = 0;  // to other jobs, and what was beyond kMost or found no memory
    uint64_t left_out_bytes = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  static constexpr size_t kBlock = 4096;
  bool keep(substrata_myrinet_operation operation);
  bool open_ = false;
  uint32_t rank_ = 0;
  double computed_ = 0;  // nanoseconds since the last operation kept
  size_t kept_ = 0;
  std::vector<std::vector<substrata_myrinet_operation>> blocks_;
  Totals totals_;
};

// A program's messages as rank 0 leaves them in the cluster's folder: one line of JSON, then each rank's
// operations, in the order of the ranks, as they lie in the memory of a little-endian host.
inline constexpr const char* kMessageLogName = "messages.log";
// What the cluster makes of them, beside it.
inline constexpr const char* kReplayName = "cluster.json";
struct MessageLogHeader {
  static constexpr int kVersion = 1;
  std::string parameters;  // of the machine, without nodes; "" or "name=value:..."
  double factor = 1;       // by which the computing between messages was made longer
  ClusterLog::Totals totals;
  std::vector<std::string> phases;  // an operation's `phase` is a place here
  std::vector<size_t> operations;   // of each rank
};
// With its line end.
std::string header_line(const MessageLogHeader& header);

}  // namespace substrata::mpi
