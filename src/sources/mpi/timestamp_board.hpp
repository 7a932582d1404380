// The senders' time stamps on their way to the receivers, in memory that the ranks of one node share.
#ifndef SUBSTRATA_MPI_TIMESTAMP_BOARD_HPP
#define SUBSTRATA_MPI_TIMESTAMP_BOARD_HPP

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

// A table for each ordered pair of ranks. MPI keeps the order of messages with one communicator and tag
// between two ranks, so the n-th one sent is the n-th one received: that pair of channel (communicator and
// tag) and ordinal finds a stamp. A table that is full drops a stamp; the ordinals keep the others right.
// Lives zeroed in mapped memory. Thread-safe for one writer (the sender) and one reader (the receiver) of a
// pair.
class TimestampBoard {
 public:
  // Bytes of memory for so many ranks.
  static size_t bytes(int ranks);
  // `memory`: zeroed, of that size, aligned to 64 bytes; null: no stamp is kept or found.
  TimestampBoard(void* memory, int ranks);

  // False when there is no free slot.
  bool put(int from, int to, uint64_t channel, uint64_t ordinal, const Stamp& stamp);
  // False when it is not there (yet). Takes it out.
  bool take(int from, int to, uint64_t channel, uint64_t ordinal, Stamp* out);

 private:
  // A cache line: it goes from the sender's processor to the receiver's in one piece.
  struct alignas(64) Slot {
    std::atomic<uint32_t> full;
    uint32_t reserved;
    uint64_t channel;
    uint64_t ordinal;
    Stamp stamp;
  };
  static size_t slots_of_pair(int ranks);
  Slot& slot(int from, int to, uint64_t index);

  Slot* slots_;
  size_t per_pair_;
  size_t ranks_;
};

// One number for a communicator and a tag.
constexpr uint64_t channel_of(uint64_t communicator, int tag) {
  return communicator ^ (static_cast<uint64_t>(static_cast<uint32_t>(tag)) * 0x9e3779b97f4a7c15u);
}

}  // namespace substrata::mpi

#endif
