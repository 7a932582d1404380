// Whether every rank of a job has the shim, found out without a message: one that has not would never answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace substrata::mpi {

// This process in its job, as its launcher's environment has it.
struct JobPlace {
  std::string job;     // names the job among all of this node; empty: not known
  int rank = -1;       // -1: not known
  int ranks = 0;       // of the job, 0: not known
  int ranks_here = 0;  // on this node, 0: not known
};
// Open MPI's and MPICH's launchers, and Slurm's. Throws where no memory is left.
JobPlace job_place();

// A board in memory that the ranks of one node share. Ranks of several nodes do not know of each other. Not
// thread-safe; different processes may use one board at the same time.
class Presence {
 public:
  Presence() = default;
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
  ~Presence();
  // This rank has the shim. To be called before MPI_Init, which returns when all ranks have called it.
  void announce(const JobPlace& place);
  // True when all ranks of the job have announced themselves; waits for them no longer than `limit`. Each rank that
  // announced itself has the same answer. `ranks`: as the MPI library says.
  bool all_there(int ranks, std::chrono::nanoseconds limit);
  // Ranks that have announced themselves; this one decided.
  int present() const { return present_; }
  // One rank of those that ask on a node: it may report the answer.
  bool is_speaker() const { return is_speaker_; }

 private:
  enum Answer : uint32_t { kOpen, kYes, kNo };
  struct Board {
    std::atomic<uint32_t> answer;
    std::atomic<uint32_t> present;
  };
  void decide(Answer answer);
  Board* board_ = nullptr;
  size_t bytes_ = 0;
  std::string path_;
  int ranks_ = 0;
  int present_ = 1;
  bool is_speaker_ = false;
};

}  // namespace substrata::mpi
