// Processes, one a node, that send and receive messages on the cluster one operation after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "myrinet/cluster.hpp"

namespace substrata::myrinet {

// What a process does next: it sends a message to `peer`, or waits until one from there has come.
struct ProcessOperation {
  Time compute = 0;              // since its operation before has ended
  Time called = 0;               // when the program began it, if that is known: then instead of that
  std::uint64_t bytes = 0;       // of the message it sends
  std::uint64_t awaited = 0;     // where it receives: so many messages of the peer must have come
  std::uint64_t collective = 0;  // number of the collective operation whose message it sends, 0: of none
  std::uint64_t collective_messages = 0;  // that operation has; 0: it has been counted already
  std::uint32_t peer = 0;
  std::uint16_t program = 0;
  std::uint16_t phase = 0;
  std::uint16_t flags = 0;  // enum substrata_transaction_flags
  std::uint8_t type = 0;    // enum substrata_myrinet_type
  bool receives = false;
};

// Gives out each process's operations in their order: a batch of the feed, or a log.
class OperationSource {
 public:
  // False: the node's process has no more. May throw std::bad_alloc.
  virtual bool next(std::uint32_t node, ProcessOperation* out) = 0;

 protected:
  ~OperationSource() = default;
};

// A host waits where its interface's queue is full, and for the messages that it receives. A message by itself
// is an operation of the communication layer (operations.hpp), and so are the messages of a collective operation
// together: one of the node that sends the first, until the last is delivered.
// Thread-compatible.
class Driver final : private Delivery {
 public:
  // As Cluster.
  Driver(const ClusterParameters& parameters, bool publishing);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  Cluster& cluster() noexcept { return cluster_; }
  const Cluster& cluster() const noexcept { return cluster_; }
  // From the present to the last delivery. A receive whose message nobody sends is given up when nothing else
  // goes on. Other ends of operations are other nodes of the cluster. May throw std::bad_alloc; messages that
  // were to come are lost then.
  void run(OperationSource& source);

  // Messages of that pair so far: whole in the receiver's memory. They keep their order.
  std::uint64_t delivered(std::uint32_t from, std::uint32_t to) const noexcept {
    return delivered_[std::size_t{from} * processes_.size() + to];
  }
  std::uint64_t messages() const noexcept { return messages_; }    // delivered, of all pairs
  std::uint64_t unmatched() const noexcept { return unmatched_; }  // receives given up

 private:
  struct Process {
    ProcessOperation operation;  // it is at, or is to begin
    bool waits = false;          // for the messages that the operation receives
    Time since = 0;
  };
  void proceed(std::uint32_t node, Time now);
  void resume(std::uint32_t node, Time now);
  void perform(std::uint32_t node, Time now);
  void send(std::uint32_t node, Time now);
  bool give_up_one();
  std::uint64_t begin_in_collective(const ProcessOperation& operation, std::uint32_t node, Time begin);
  void end_in_collective(const Message& message, Time now);
  void end_message(const Message& message, Time now);
  void delivered(const Message& message, Time posted, Time now) override;

  Cluster cluster_;
  OperationSource* source_ = nullptr;
  std::vector<Process> processes_;
  std::vector<std::uint64_t> delivered_;
  using Due = std::pair<Time, std::uint32_t>;
  // The next operation of each process that does not wait.
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  Time first_due_ = kNever;
  // A collective operation that is under way.
  struct Collective {
    Time begin = 0;
    std::uint64_t left = 0;  // messages to be delivered
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint32_t node = 0;  // that sent the first
    std::uint16_t program = 0;
    std::uint16_t phase = 0;
    std::uint16_t flags = 0;
  };
  std::unordered_map<std::uint64_t, Collective> collectives_;
  std::uint64_t sent_ = 0;  // messages by themselves
  std::uint64_t messages_ = 0;
  std::uint64_t unmatched_ = 0;
};

}  // namespace substrata::myrinet
