// A live MPI program, or its trace, on the modelled cluster: one node a rank.
#ifndef SUBSTRATA_MYRINET_FOLLOWER_HPP
#define SUBSTRATA_MYRINET_FOLLOWER_HPP

#include "cluster.hpp"
#include "monitor/counting.hpp"

namespace substrata::myrinet {

// Observes mpi.rank*.send and mpi.rank*.receive. What this process's rank sends, and what it receives, passes
// the interfaces; messages that other ranks send each other are not seen here. Times are those of the
// messages' stamps; a host waits where its interface's queue is full. A batch of one probe point is modelled
// after the one before, so that messages to and fro of the same moment may meet less than they would.
class Follower final : public monitor::ObservingInstrument, private Delivery {
 public:
  // Throws std::runtime_error with the feed's sentence.
  explicit Follower(const ClusterParameters& parameters);
  ~Follower() override;
  // Ends the observation, and brings every packet that is under way to its end.
  void finish();

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  void delivered(const Message&, Time, Time) override {}
  Time time_of(uint64_t ns) noexcept;

  static constexpr int kNoRank = -1;
  static constexpr int kSeveral = -2;
  Cluster cluster_;
  uint64_t origin_ns_ = 0;
  bool has_origin_ = false;
  int rank_ = kNoRank;  // whose messages come here
};

}  // namespace substrata::myrinet

#endif
