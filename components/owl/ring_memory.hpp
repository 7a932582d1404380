// The memory that a ring's producer and its readers share: what lies where, and how it is made and opened.
// docs/reference/owl_ring.md has the protocol.
#pragma once

#include <substrata/owl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace substrata::owl {

// A word that both sides use. The test of all interleavings has its own, which gives way at each load and store.
#ifndef SUBSTRATA_OWL_SHARED
#define SUBSTRATA_OWL_SHARED std::atomic
#endif
template <typename T>
using Shared = SUBSTRATA_OWL_SHARED<T>;

static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Shared<uint64_t>) == 8);

// What lies at the beginning; the ring's words follow at kRingOffset. Positions count words since the ring's
// beginning, sequence numbers count packets, and neither wraps. Words of different writers lie in different
// lines.
struct RingHeader {
  static constexpr uint64_t kMagic = 0x676e6972'6c776f34;  // "4owlring"
  struct Register {
    char name[40];
    Shared<uint64_t> live;
    Shared<uint64_t> least;
    Shared<uint64_t> most;
  };
  // Written once, by the producer.
  Shared<uint64_t> magic;
  Shared<uint64_t> words;  // a power of two
  Shared<uint32_t> policy;
  Shared<uint32_t> register_count;
  // Written by the producer with each packet or batch: where the next record begins.
  alignas(64) Shared<uint64_t> head;
  // Written by the producer now and then. [oldest, head) holds whole records; what lies before `reserve -
  // words` may be in the course of being overwritten, and `oldest` never does.
  alignas(64) Shared<uint64_t> reserve;
  Shared<uint64_t> oldest;
  Shared<uint32_t> near_full;  // signals so far; a futex word
  // Written by the consumer.
  alignas(64) Shared<uint64_t> tail;  // position of the first record that is not consumed
  Shared<uint64_t> consumed;          // its sequence number
  // Written by both, where old packets are overwritten: twice the sequence number of the first packet that was
  // neither given to a consumer nor taken away by the producer, plus 1 where the one before it was given. Who
  // moves it past a packet first has that packet.
  Shared<uint64_t> next;
  // Written by anyone, one at a time: how often registers were written so far. The lowest bit says which of the two
  // rows of values holds; the other one is written meanwhile.
  alignas(64) Shared<uint64_t> register_changes;
  Shared<uint64_t> values[2][SUBSTRATA_OWL_MOST_REGISTERS];
  Register registers[SUBSTRATA_OWL_MOST_REGISTERS];
};
struct RegisterValue {
  uint32_t number;
  uint64_t value;
};
inline constexpr uint64_t kRingOffset = 4096;
static_assert(sizeof(RingHeader) <= kRingOffset);

// Memory of the system without a file behind it, reserved as a whole and sealed in its size, so that neither a
// full file system nor another process can take a page away. Not movable: lives where it was made.
class RingMemory {
 public:
  RingMemory() = default;
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  // 0, or a negative number with its message. `path`, unless null, becomes a link to the memory, which remove_link()
  // takes away again.
  int create(const char* path, uint64_t words);
  void remove_link() noexcept;
  // consumer: refused while another one has it open.
  int open(const char* path, bool consumer);
  RingHeader& header() const noexcept { return *header_; }
  Shared<uint64_t>* words() const noexcept { return words_; }
  uint64_t register_value(uint32_t number) const noexcept {
    return header_->values[header_->register_changes.load(std::memory_order_acquire) & 1][number].load(
        std::memory_order_relaxed);
  }
  // All of them at once: who reads the registers sees none of these values, or all. A writer that is killed changes
  // none. 0, or a negative number with its message. Thread-safe.
  int write_registers(const RegisterValue* values, size_t count) noexcept;
  // As its header says, checked against the memory's size when it was opened.
  uint64_t word_count() const noexcept { return word_count_; }
  uint32_t register_count() const noexcept { return register_count_; }
  const std::string& path() const noexcept { return path_; }

 private:
  int map(uint64_t bytes, const char* path);
  int link(const char* path);
  RingHeader* header_ = nullptr;
  Shared<uint64_t>* words_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t word_count_ = 0;
  uint32_t register_count_ = 0;
  int file_ = -1;
  std::mutex writing_registers_;
  std::string path_;
  std::string target_;  // of the link; "": there is none
};

// A producer's own memory that a forked child finds zeroed.
class ForkMark {
 public:
  ForkMark() = default;
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;
  int make();
  // In the process that called make(), and not in a child of it.
  bool here() const noexcept { return words_[0] != 0 && (process_ == 0 || process_ == getpid()); }
  // Where the system zeroes it in a child: what lies there needs no other check.
  bool wiped() const noexcept { return process_ == 0; }
  uint64_t& word() const noexcept { return words_[1]; }

 private:
  uint64_t* words_ = nullptr;
  int process_ = 0;  // where the system cannot zero it
};

}  // namespace substrata::owl
