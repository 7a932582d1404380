// The inboxes of stamps: a few neighbouring places are tried for each.
#include "timestamp_board.hpp"

namespace substrata::mpi {
namespace {
constexpr size_t kTries = 8;
constexpr size_t kSlots = 2048;  // 128 KiB an inbox

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

// Where a message's stamp is looked for first: those of one channel one after the other, each channel of each
// sender elsewhere.
uint64_t first_slot(int from, uint64_t channel, uint64_t ordinal) {
  const uint64_t mixed = (channel ^ static_cast<uint64_t>(from)) * 0x9e3779b97f4a7c15u;
  return (mixed >> 32) + ordinal;
}
}  // namespace

size_t TimestampBoard::directory_bytes(int ranks) { return static_cast<size_t>(ranks) * sizeof(Entry); }
size_t TimestampBoard::inbox_bytes() { return kSlots * sizeof(Slot); }

TimestampBoard::TimestampBoard(void* memory, int ranks)
    : directory_(static_cast<Entry*>(memory)),
      slots_(memory == nullptr ? nullptr : reinterpret_cast<Slot*>(directory_ + ranks)) {}

TimestampBoard::Slot& TimestampBoard::slot(int to, uint64_t index) {
  return slots_[static_cast<size_t>(to) * kSlots + (index & (kSlots - 1))];
}

void TimestampBoard::open_inbox(int rank) { directory_[rank].open.store(1, std::memory_order_release); }

bool TimestampBoard::put(int from, int to, uint64_t channel, uint64_t ordinal, const Stamp& stamp) {
  if (slots_ == nullptr || directory_[to].open.load(std::memory_order_acquire) == 0) return false;
  const uint64_t first = first_slot(from, channel, ordinal);
  for (size_t i = 0; i < kTries; ++i) {
    Slot& place = slot(to, first + i);
    uint32_t empty = kEmpty;
    if (place.state.load(std::memory_order_relaxed) != kEmpty ||
        !place.state.compare_exchange_strong(empty, kBeingWritten, std::memory_order_acquire))
      continue;
    place.from = static_cast<uint32_t>(from);
    place.channel = channel;
    place.ordinal = ordinal;
    place.stamp = stamp;
    place.state.store(kFull, std::memory_order_release);
    fetch_to_write(&slot(to, first + i + 1));  // from the receiver's: it has emptied it long ago
    return true;
  }
  return false;
}

bool TimestampBoard::take(int from, int to, uint64_t channel, uint64_t ordinal, Stamp* out) {
  if (slots_ == nullptr) return false;
  const uint64_t first = first_slot(from, channel, ordinal);
  for (size_t i = 0; i < kTries; ++i) {
    Slot& place = slot(to, first + i);
    fetch_to_write(&place);  // from the sender's cache
    if (place.state.load(std::memory_order_acquire) != kFull) continue;
    if (place.channel != channel || place.ordinal != ordinal || place.from != static_cast<uint32_t>(from))
      continue;
    *out = place.stamp;
    place.state.store(kEmpty, std::memory_order_release);
    return true;
  }
  return false;
}

}  // namespace substrata::mpi
