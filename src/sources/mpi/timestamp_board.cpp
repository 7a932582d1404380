// The inboxes of stamps: a few neighbouring places are tried for each.
#include "sources/mpi/timestamp_board.hpp"

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

// Where a message's stamp is looked for first: each channel of each sender elsewhere, those of one channel on one page
// after the other, but not line after line: there the receiver's processor would fetch the next one from the sender,
// which has it to write into.
uint64_t first_slot(int from, uint64_t channel, uint64_t ordinal) {
  constexpr uint64_t kOnPage = 64, kApart = 37;
  const uint64_t mixed = (channel ^ static_cast<uint64_t>(from)) * 0x9e3779b97f4a7c15u;
  const uint64_t in_order = (mixed >> 32) + ordinal;
  return (in_order & ~(kOnPage - 1)) | (in_order * kApart & (kOnPage - 1));
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
    // The next one's, from the receiver's cache: it has emptied it long ago.
    fetch_to_write(&slot(to, first_slot(from, channel, ordinal + 1)));
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
