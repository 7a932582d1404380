// An MPI program's messages on one modelled cluster, a node for each rank, and what its interfaces saw.
#pragma once

#include <substrata/myrinet.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/model_runs/message_log.hpp"

namespace substrata::model_runs {

class OfflineReplay {
 public:
  // Runs them, in the calling thread. Where the statistics of all phases would take too much memory, the
  // phases are put into one. Throws std::runtime_error with the reason.
  explicit OfflineReplay(MessageLog log);

  const MessageLog& log() const { return log_; }
  std::uint32_t nodes() const { return nodes_; }
  // The names of the phases kept apart; empty: they are not.
  const std::vector<std::string>& phases() const { return phases_; }
  double run_s() const { return run_s_; }  // how long that took
  substrata_myrinet_outcome outcome() const;
  // Of a node and a phase, or of all (SUBSTRATA_MYRINET_ALL).
  substrata_myrinet_counts counts(std::uint32_t node, std::uint32_t phase) const;
  std::vector<substrata_myrinet_operation_point> operations(std::uint32_t node, std::uint32_t phase) const;
  std::vector<substrata_myrinet_point> signature(std::uint32_t node, std::uint32_t phase,
                                                 substrata_myrinet_axis axis) const;
  // Of all nodes and phases: how many packets of each length (bins of 32 bytes) had each latency.
  std::vector<std::vector<std::uint64_t>> lengths_by(substrata_myrinet_latency latency) const;

 private:
  struct Free {
    void operator()(substrata_myrinet_carried* carried) const { substrata_myrinet_carried_free(carried); }
  };
  MessageLog log_;
  std::uint32_t nodes_ = 2;
  std::vector<std::string> phases_;
  std::unique_ptr<substrata_myrinet_carried, Free> carried_;
  double run_s_ = 0;
};

// The log that a program's ranks left in a folder, with the machine's `parameters` in the place of those the
// program ran with, unless they are empty. Throws std::runtime_error with the reason.
OfflineReplay replay_folder(const std::string& folder, const std::string& parameters);

// cluster.json, histograms.json, and each rank's signature as data and as gnuplot's commands, whole and by phase
// (docs/reference/myrinet.md). cluster.json comes last, whole. Throws std::runtime_error with the reason.
void write_replay(const OfflineReplay& run, const std::string& folder);

}  // namespace substrata::model_runs
