// The ring buffer in shared memory: one producer, readers in this process or another that never stop it.
// docs/reference/owl_ring.md has the protocol.
#pragma once

#include <substrata/owl.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "owl/ring_memory.hpp"

namespace substrata::owl {

// A record is a word (payload bytes, stage << 32), a word with its sequence number, and the payload's words. It
// goes on at the ring's beginning where the ring ends.
constexpr uint64_t record_words(uint32_t bytes) noexcept { return 2 + (uint64_t{bytes} + 7) / 8; }

// The producer's side. Thread-compatible. Everything it goes by is in its own memory; of what others write it
// uses the consumer's place alone, as far as that lies between what it knows of it and what it wrote.
//
// The ring is cut into kParts parts. As long as a record ends inside the part it begins in, below the
// near-full mark, a packet costs the stores of its words and nothing else; what has to be looked at now and
// then (the consumer's place, what may be overwritten, the ring's end, the mark) is looked at where a part
// ends.
class RingProducer {
 public:
  // Removes the ring's link. Those who have it open keep what lies in it.
  ~RingProducer();
  int create(const char* path, uint64_t bytes, uint32_t policy, uint32_t near_full_percent);
  // Lets readers open it: after the registers have been set.
  void publish() noexcept;
  // Writes a packet that readers see with the next commit(), or before. True: written. False: dropped, as is
  // everything in a forked child: the ring is its parent's.
  // *near_full becomes true where the mark was passed from below by this packet, and readers see all packets; else it
  // is left alone.
  bool put(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
    return put_inside(data, bytes, stage) || put_at_limit(data, bytes, stage, near_full);
  }
  // Shows readers what was put.
  void commit() noexcept {
    if (own_.here()) show();
  }
  bool push(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
    if (put_inside(data, bytes, stage)) [[likely]] {
      show();  // nothing is inside the limit in a forked child
      return true;
    }
    const bool written = put_at_limit(data, bytes, stage, near_full);
    commit();
    return written;
  }
  RingMemory& memory() noexcept { return memory_; }
  // Packets that were overwritten before a consumer was given them.
  uint64_t lost() const noexcept { return lost_; }

 private:
  static constexpr uint64_t kParts = 16;
  struct Place {
    uint64_t position = 0;
    uint64_t sequence = 0;
  };
  void show() noexcept { header_->head.store(head_, std::memory_order_release); }
  // False: the record does not end before the limit.
  bool put_inside(const void* data, uint32_t bytes, uint32_t stage) noexcept {
    const uint64_t end = head_ + record_words(bytes);
    if (end >= own_.word()) [[unlikely]]
      return false;
    Shared<uint64_t>* out = ring_ + (head_ & mask_);
    head_ = end;
    write_with([&out](uint64_t word) { out++->store(word, std::memory_order_release); }, data, bytes, stage,
               sequence_++);
    return true;
  }
  void write_around_end(const void* data, uint32_t bytes, uint32_t stage) noexcept;
  // Release stores: a reader that sees one of these words sees `reserve` as well, and so knows that it was
  // overrun.
  template <typename Store>
  static void write_with(const Store& store, const void* data, uint32_t bytes, uint32_t stage,
                         uint64_t sequence) noexcept {
    store(uint64_t{stage} << 32 | bytes);
    store(sequence);
    const auto* from = static_cast<const unsigned char*>(data);
    uint32_t left = bytes;
    for (; left >= 8; left -= 8, from += 8) {
      uint64_t word;
      std::memcpy(&word, from, 8);
      store(word);
    }
    if (left != 0) store(last_word(from, left));
  }
  static uint64_t last_word(const unsigned char* from, uint32_t bytes) noexcept;
  bool put_at_limit(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept;
  void refresh_tail() noexcept;
  // Moves the oldest record on so that all before `boundary` may be overwritten.
  void pass_oldest(uint64_t boundary) noexcept;
  // Takes the packets [from, oldest) away that no consumer was given, and counts them.
  void take_away(uint64_t from) noexcept;
  RingMemory memory_;
  ForkMark own_;  // its word: a record that ends here or later is looked at closely; 0 in a forked child
  RingHeader* header_ = nullptr;
  Shared<uint64_t>* ring_ = nullptr;
  uint64_t words_ = 0;
  uint64_t mask_ = 0;
  uint64_t head_ = 0;
  uint64_t sequence_ = 0;
  uint64_t tail_ = 0;  // as last seen
  Place oldest_;
  uint64_t lost_ = 0;
  uint64_t mark_ = 0;         // in words
  uint64_t part_ = 0;         // words of a part
  Place starts_[2 * kParts];  // of the first record of each part that still lies in the ring
  uint64_t parts_begun_ = 1;  // parts whose first record is known, since the ring's beginning
  uint32_t near_full_ = 0;    // signals
  bool armed_ = true;
  bool overwrite_ = false;
};

}  // namespace substrata::owl

// One reader. Thread-compatible. It believes nothing that it reads here before it has checked it.
struct substrata_owl_reader {
 public:
  int open(const char* path, uint32_t flags);
  int peek(substrata_owl_packet* packet, void* data, size_t capacity) noexcept;
  void consume() noexcept;
  uint64_t lost() const noexcept { return lost_; }
  int wait(uint32_t milliseconds) noexcept;
  int write_register(const char* name, uint64_t value) noexcept;
  // "NAME=NUMBER:NAME=NUMBER", all at once.
  int write_registers(const char* assignments);

 private:
  void copy(void* to, uint64_t from, uint32_t bytes) const noexcept;
  // The producer has overwritten what lies here, or may be about to.
  bool overrun() const noexcept;
  // Goes to the oldest record that is still there. False: this is where it stands.
  bool skip_to_oldest() noexcept;
  void free_up_to_here() noexcept;
  // False: the producer has taken the packet away.
  bool claim(uint64_t sequence) noexcept;
  int damaged() const noexcept;
  // 0 where the register may have that value.
  int check_register(const char* name, uint64_t value, substrata::owl::RegisterValue* out) const noexcept;
  substrata::owl::RingMemory memory_;
  uint64_t mask_ = 0;
  uint64_t position_ = 0;
  uint64_t head_ = 0;      // as last seen
  uint64_t sequence_ = 0;  // of the next packet
  uint64_t lost_ = 0;
  uint64_t peeked_words_ = 0;
  uint32_t signals_seen_ = 0;
  bool watching_ = false;
  bool overwritten_ = false;  // the producer overwrites what was not consumed
};
