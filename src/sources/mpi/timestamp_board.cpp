// The table of stamps: a few neighbouring places are tried for each.
#include "timestamp_board.hpp"

#include <algorithm>

namespace substrata::mpi {
namespace {
constexpr size_t kTries = 8;

// Has the processor fetch a cache line that will be written, so that it comes in one way instead of two.
void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  // The built-in function has the instruction only where the compiler may assume a newer processor; older
  // ones do nothing.
  __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}
}  // namespace

size_t TimestampBoard::slots_of_pair(int ranks) {
  // About 16 KiB to 256 KiB for each rank's senders together.
  size_t slots = 512;
  while (slots > 16 && slots * static_cast<size_t>(ranks) > 4096) slots /= 2;
  return slots;
}

size_t TimestampBoard::bytes(int ranks) {
  const auto count = static_cast<size_t>(ranks);
  return count * count * slots_of_pair(ranks) * sizeof(Slot);
}

TimestampBoard::TimestampBoard(void* memory, int ranks)
    : slots_(static_cast<Slot*>(memory)),
      per_pair_(slots_of_pair(ranks)),
      ranks_(static_cast<size_t>(ranks)) {}

TimestampBoard::Slot& TimestampBoard::slot(int from, int to, uint64_t index) {
  const size_t pair = static_cast<size_t>(from) * ranks_ + static_cast<size_t>(to);
  return slots_[pair * per_pair_ + (index & (per_pair_ - 1))];
}

bool TimestampBoard::put(int from, int to, uint64_t channel, uint64_t ordinal, const Stamp& stamp) {
  if (slots_ == nullptr) return false;
  const uint64_t first = (channel >> 32) + ordinal;
  for (size_t i = 0; i < std::min(kTries, per_pair_); ++i) {
    Slot& place = slot(from, to, first + i);
    if (place.full.load(std::memory_order_acquire) != 0) continue;
    place.channel = channel;
    place.ordinal = ordinal;
    place.stamp = stamp;
    place.full.store(1, std::memory_order_release);
    fetch_to_write(&slot(from, to, first + i + 1));  // from the receiver's: it has emptied it long ago
    return true;
  }
  return false;
}

bool TimestampBoard::take(int from, int to, uint64_t channel, uint64_t ordinal, Stamp* out) {
  if (slots_ == nullptr) return false;
  const uint64_t first = (channel >> 32) + ordinal;
  for (size_t i = 0; i < std::min(kTries, per_pair_); ++i) {
    Slot& place = slot(from, to, first + i);
    fetch_to_write(&place);  // from the sender's cache
    if (place.full.load(std::memory_order_acquire) == 0) continue;
    if (place.channel != channel || place.ordinal != ordinal) continue;
    *out = place.stamp;
    place.full.store(0, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace substrata::mpi
