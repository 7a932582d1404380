// A live MPI program, or its trace, on the modelled cluster: one node a rank.
#pragma once

#include <unordered_map>
#include <vector>

#include "models/counting/counting.hpp"
#include "myrinet/driver.hpp"
#include "myrinet/ring.hpp"

namespace substrata::myrinet {

// Gives the driver what mpi.rank*.send and mpi.rank*.receive show: a message that this process's rank sends is an
// operation of its node, one that it has received is an operation of the sender's node, and of its own, which
// waits for it. Messages that other ranks send each other are not seen here. Each batch of one probe point is
// modelled to its end, with the spacing of its messages' stamps, so that counts are exact whenever they are read;
// messages of different batches do not meet. What the rank sends inside a collective operation is one operation of
// its node. While the packets are not observed nothing is modelled.
class LiveAdapter final : public counting::ObservingInstrument, private OperationSource {
 public:
  // Throws std::runtime_error with the feed's message.
  explicit LiveAdapter(const ClusterParameters& parameters);
  ~LiveAdapter() override;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  void take(const substrata_transaction* batch, size_t count);
  void note_rank(int rank) noexcept;
  bool next(std::uint32_t node, ProcessOperation* out) override;
  std::uint64_t collective_of(std::uint64_t number);

  static constexpr int kNoRank = -1;
  static constexpr int kSeveral = -2;
  Driver driver_;
  std::vector<Ring<ProcessOperation>> pending_;                     // of the batch, by node
  std::unordered_map<std::uint64_t, std::uint64_t> sent_in_batch_;  // to be received in it, by pair of nodes
  std::unordered_map<std::uint64_t, std::uint64_t>
      messages_in_batch_;              // of a collective operation, by its number
  std::uint64_t last_collective_ = 0;  // as the program numbers it; a batch may end within it
  std::uint64_t collectives_ = 0;
  std::uint64_t counted_ = 0;  // of them, up to the batch before
  int rank_ = kNoRank;         // whose messages come here
};

}  // namespace substrata::myrinet
