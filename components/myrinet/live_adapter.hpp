// A live MPI program, or its trace, on the modelled cluster: one node a rank.
#ifndef SUBSTRATA_MYRINET_LIVE_ADAPTER_HPP
#define SUBSTRATA_MYRINET_LIVE_ADAPTER_HPP

#include "cluster.hpp"
#include "counting/counting.hpp"

namespace substrata::myrinet {

// Observes mpi.rank*.send and mpi.rank*.receive. What this process's rank sends, and what it receives, passes
// the interfaces; messages that other ranks send each other are not seen here. Each batch of one probe point
// is modelled to its end, with the spacing of its messages' stamps, so that counts are exact whenever they
// are read; messages of different batches do not meet. A host waits where its interface's queue is full.
// While the packets are not observed nothing is modelled.
class LiveAdapter final : public counting::ObservingInstrument, private Delivery {
 public:
  // Throws std::runtime_error with the feed's message.
  explicit LiveAdapter(const ClusterParameters& parameters);
  ~LiveAdapter() override;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  // A message by itself is an operation; those of a collective are not put together here.
  void delivered(const Message& message, Time posted, Time now) override;

  static constexpr int kNoRank = -1;
  static constexpr int kSeveral = -2;
  Cluster cluster_;
  int rank_ = kNoRank;            // whose messages come here
  std::uint64_t operations_ = 0;  // so far
};

}  // namespace substrata::myrinet

#endif
