// The senders' time stamps on their way to the receivers, in memory that the ranks of one node share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace substrata::mpi {

// What a receiver learns of a message.
struct Stamp {
  int64_t real = 0;      // when it was sent, CLOCK_MONOTONIC_RAW in nanoseconds
  int64_t modelled = 0;  // when it was sent, on the sender's virtual clock, nanoseconds
  uint64_t number = 0;   // of the message between these two ranks, from 1
  uint64_t bytes = 0;
};

// A table for each rank, its inbox, into which all others of its node write. MPI keeps the order of messages with
// one communicator and tag between two ranks, so the n-th one sent is the n-th one received: sender, channel
// (communicator and tag) and ordinal find a stamp. An inbox that is full drops a stamp; the ordinals keep the
// others right. Lives zeroed in mapped memory: a directory of 64 bytes a rank, then the inboxes, of which only
// those of ranks that opened theirs are touched. Thread-safe for one reader (the receiver) of an inbox and any
// writers.
class TimestampBoard {
 public:
  // Bytes of the directory for so many ranks, and of one inbox.
  static size_t directory_bytes(int ranks);
  static size_t inbox_bytes();
  // `memory`: the directory and the inboxes one after the other, aligned to 64 bytes; null: no stamp is kept or
  // found.
  TimestampBoard(void* memory, int ranks);

  // This rank's inbox is there: others may write into it.
  void open_inbox(int rank);
  // False when the receiver has no inbox here, or no free slot.
  bool put(int from, int to, uint64_t channel, uint64_t ordinal, const Stamp& stamp);
  // False when it is not there (yet). Takes it out. Of an open inbox.
  bool take(int from, int to, uint64_t channel, uint64_t ordinal, Stamp* out);

 private:
  enum SlotState : uint32_t { kEmpty, kFull, kBeingWritten };
  // A cache line: it goes from the sender's processor to the receiver's in one piece.
  struct alignas(64) Slot {
    std::atomic<uint32_t> state;
    uint32_t from;
    uint64_t channel;
    uint64_t ordinal;
    Stamp stamp;
  };
  struct alignas(64) Entry {
    std::atomic<uint32_t> open;
  };
  Slot& slot(int to, uint64_t index);

  Entry* directory_;
  Slot* slots_;
};

// One number for a communicator and a tag.
constexpr uint64_t channel_of(uint64_t communicator, int tag) {
  return communicator ^ (static_cast<uint64_t>(static_cast<uint32_t>(tag)) * 0x9e3779b97f4a7c15u);
}

}  // namespace substrata::mpi
