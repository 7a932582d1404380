// The ring buffer in shared memory: one producer, readers in this process or another that never stop it.
#ifndef SUBSTRATA_OWL_RING_HPP
#define SUBSTRATA_OWL_RING_HPP

#include <substrata/owl.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace substrata::owl {

static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == 8);

// What lies at the beginning of the file; the ring's words follow at kRingOffset. Positions count words since
// the ring's beginning and never wrap. Producer's and consumer's words lie in lines of their own.
struct RingHeader {
  static constexpr uint64_t kMagic = 0x676e6972'6c776f32;  // "2owlring"
  struct Register {
    char name[40];
    std::atomic<uint64_t> live;
    std::atomic<uint64_t> value;
    std::atomic<uint64_t> least;
    std::atomic<uint64_t> most;
  };
  std::atomic<uint64_t> magic;
  uint64_t words;  // a power of two
  uint32_t policy;
  uint32_t register_count;
  // Written by the producer with each packet or batch.
  alignas(64) std::atomic<uint64_t> head;
  std::atomic<uint64_t> head_sequence;
  // Written by the producer now and then. [oldest, head) holds whole records; what lies before `reserve -
  // words` may be in the course of being overwritten, and `oldest` never does.
  alignas(64) std::atomic<uint64_t> reserve;
  std::atomic<uint64_t> oldest;
  std::atomic<uint32_t> near_full;  // signals so far; a futex word
  // Written by the consumer.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint64_t> tail_sequence;
  std::atomic<uint64_t> lost;
  // Written by anyone.
  alignas(64) std::atomic<uint64_t> register_changes;
  Register registers[SUBSTRATA_OWL_MOST_REGISTERS];
};
inline constexpr uint64_t kRingOffset = 4096;
static_assert(sizeof(RingHeader) <= kRingOffset);

// A file mapped whole. Not movable: lives where it was made.
class RingMapping {
 public:
  RingMapping() = default;
  ~RingMapping();
  RingMapping(const RingMapping&) = delete;
  RingMapping& operator=(const RingMapping&) = delete;
  // 0, or a negative number with its message.
  int create(const char* path, uint64_t words);
  int open(const char* path);
  RingHeader& header() const noexcept { return *header_; }
  std::atomic<uint64_t>* words() const noexcept { return words_; }
  const std::string& path() const noexcept { return path_; }

 private:
  int map(int file, uint64_t bytes, const char* path);
  RingHeader* header_ = nullptr;
  std::atomic<uint64_t>* words_ = nullptr;
  uint64_t bytes_ = 0;
  int file_ = -1;
  std::string path_;
};

// A record is a word (payload bytes, stage << 32), a word with its sequence number, and the payload's words.
// What does not fit before the end of the ring is preceded by one word that says how many words to pass
// over.
inline constexpr uint32_t kPassOver = 0xffffffff;
constexpr uint64_t record_words(uint32_t bytes) noexcept { return 2 + (uint64_t{bytes} + 7) / 8; }

// The producer's side. Thread-compatible.
//
// The ring is cut into kParts parts. As long as a record ends inside the part it begins in, below the
// near-full mark, a packet costs the stores of its words and nothing else; what has to be looked at now and
// then (the consumer's place, what may be overwritten, the ring's end, the mark) is looked at where a part
// ends.
class RingProducer {
 public:
  int create(const char* path, uint64_t bytes, uint32_t policy, uint32_t near_full_percent);
  // Lets readers open it: after the registers have been set.
  void publish() noexcept;
  // Writes a packet that readers see with the next commit(), or before. True: written. False: dropped.
  // *near_full: the mark was passed from below by this packet, and readers see all packets.
  bool put(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
    const uint64_t end = head_ + record_words(bytes);
    *near_full = false;
    if (end >= limit_) return put_at_limit(data, bytes, stage, near_full);
    write(head_, data, bytes, stage);
    head_ = end;
    ++sequence_;
    return true;
  }
  // Shows readers what was put.
  void commit() noexcept {
    header_->head_sequence.store(sequence_, std::memory_order_relaxed);
    header_->head.store(head_, std::memory_order_release);
  }
  bool push(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
    const bool written = put(data, bytes, stage, near_full);
    commit();
    return written;
  }
  RingMapping& mapping() noexcept { return mapping_; }
  uint64_t lost() const noexcept { return header_->lost.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kParts = 16;
  void write(uint64_t at, const void* data, uint32_t bytes, uint32_t stage) noexcept;
  bool put_at_limit(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept;
  void refresh_tail() noexcept;
  // A record, or what is passed over, ends at `end`: parts that begin up to there have their first record
  // there.
  void note_record(uint64_t end) noexcept;
  // Moves the oldest record on so that all before `boundary` may be overwritten.
  void pass_oldest(uint64_t boundary) noexcept;
  RingMapping mapping_;
  RingHeader* header_ = nullptr;
  std::atomic<uint64_t>* ring_ = nullptr;
  uint64_t words_ = 0;
  uint64_t mask_ = 0;
  uint64_t head_ = 0;
  uint64_t limit_ = 0;  // a record that ends here or later is looked at closely
  uint64_t tail_ = 0;   // as last seen
  uint64_t oldest_ = 0;
  uint64_t sequence_ = 0;
  uint64_t mark_ = 0;              // in words
  uint64_t part_ = 0;              // words of a part
  uint64_t starts_[2 * kParts]{};  // of the first record of each part that still lies in the ring
  uint64_t parts_begun_ = 1;       // parts whose first record is known, since the ring's beginning
  bool armed_ = true;
  bool overwrite_ = false;
};

}  // namespace substrata::owl

// One reader. Thread-compatible.
struct substrata_owl_reader {
 public:
  int open(const char* path, uint32_t flags);
  int peek(substrata_owl_packet* packet, void* data, size_t capacity) noexcept;
  void consume() noexcept;
  uint64_t lost() const noexcept { return lost_; }
  int wait(uint32_t milliseconds) noexcept;
  int write_register(const char* name, uint64_t value) noexcept;

 private:
  // The producer has overwritten what lies here, or may be about to.
  bool overrun() const noexcept;
  substrata::owl::RingMapping mapping_;
  uint64_t mask_ = 0;
  uint64_t position_ = 0;
  uint64_t head_ = 0;      // as last seen
  uint64_t sequence_ = 0;  // of the next packet
  uint64_t lost_ = 0;
  uint64_t peeked_words_ = 0;
  uint32_t signals_seen_ = 0;
  bool watching_ = false;
};

#endif
