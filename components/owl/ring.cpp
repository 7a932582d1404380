// Ring buffers: creation, writing, reading, and the near-full signal over a futex.
#include "ring.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>

#include "base/error.hpp"

namespace substrata::owl {
namespace {

void wake(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

RingMapping::~RingMapping() {
  if (header_ != nullptr) munmap(header_, bytes_);
  if (file_ >= 0) close(file_);
}

int RingMapping::map(int file, uint64_t bytes, const char* path) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    close(file);
    return fail(Code::kSystem, "the ring '%s' of %llu bytes cannot be mapped: %s", path,
                static_cast<unsigned long long>(bytes), std::strerror(error));
  }
  header_ = static_cast<RingHeader*>(at);
  words_ = reinterpret_cast<std::atomic<uint64_t>*>(static_cast<std::byte*>(at) + kRingOffset);
  bytes_ = bytes;
  file_ = file;
  return 0;
}

int RingMapping::create(const char* path, uint64_t words) {
  const char* const shown = path != nullptr ? path : "memory";
  const int file = path != nullptr ? ::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                                   : memfd_create("substrata-owl-ring", MFD_CLOEXEC);
  if (file < 0) return fail(Code::kSystem, "the ring '%s' cannot be made: %s", shown, std::strerror(errno));
  const uint64_t bytes = kRingOffset + words * 8;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(file);
    return fail(Code::kSystem, "the ring '%s' cannot have %llu bytes: %s", shown,
                static_cast<unsigned long long>(bytes), std::strerror(error));
  }
  if (const int refused = map(file, bytes, shown)) return refused;
  path_ = path != nullptr ? std::string(path)
                          : "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  new (header_) RingHeader{};
  header_->words = words;
  return 0;
}

int RingMapping::open(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return fail(Code::kSystem, "the ring '%s' cannot be opened: %s", path, std::strerror(errno));
  struct stat about {};
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_size < static_cast<off_t>(kRingOffset + 8)) {
    close(file);
    return fail(Code::kInvalid, "'%s' is no ring: it is too short", path);
  }
  const uint64_t bytes = static_cast<uint64_t>(about.st_size);
  if (const int refused = map(file, bytes, path)) return refused;
  const RingHeader& made = *header_;
  if (made.magic.load(std::memory_order_acquire) != RingHeader::kMagic || !std::has_single_bit(made.words) ||
      made.words > (bytes - kRingOffset) / 8 || made.register_count > SUBSTRATA_OWL_MOST_REGISTERS) {
    return fail(Code::kInvalid, "'%s' is no ring of this version: its header does not fit", path);
  }
  path_ = path;
  return 0;
}

int RingProducer::create(const char* path, uint64_t bytes, uint32_t policy, uint32_t near_full_percent) {
  words_ = std::bit_ceil(bytes) / 8;
  if (const int refused = mapping_.create(path, words_)) return refused;
  header_ = &mapping_.header();
  ring_ = mapping_.words();
  mask_ = words_ - 1;
  part_ = words_ / kParts;
  overwrite_ = policy == SUBSTRATA_OWL_OVERWRITE_OLD;
  mark_ = std::max<uint64_t>(1, words_ * near_full_percent / 100);
  mapping_.header().policy = policy;
  return 0;
}

void RingProducer::publish() noexcept {
  mapping_.header().magic.store(RingHeader::kMagic, std::memory_order_release);
}

void RingProducer::refresh_tail() noexcept {
  const uint64_t seen = mapping_.header().tail.load(std::memory_order_acquire);
  // Another process writes it: what makes no sense is not believed.
  if (seen >= tail_ && seen <= head_) tail_ = seen;
}

void RingProducer::note_record(uint64_t end) noexcept {
  for (; parts_begun_ * part_ <= end; ++parts_begun_) starts_[parts_begun_ % (2 * kParts)] = end;
}

void RingProducer::pass_oldest(uint64_t boundary) noexcept {
  if (oldest_ >= boundary) return;
  const uint64_t part = (boundary + part_ - 1) / part_;
  // Where no part behind the boundary has begun, nothing that was written stays.
  oldest_ = part < parts_begun_ ? starts_[part % (2 * kParts)] : head_;
  commit();  // readers are sent to `oldest`, so it must not lie ahead of what they see
  header_->oldest.store(oldest_, std::memory_order_release);
}

// Release stores: a reader that sees one of these words sees `reserve` as well, and so knows that it was
// overrun.
void RingProducer::write(uint64_t at, const void* data, uint32_t bytes, uint32_t stage) noexcept {
  std::atomic<uint64_t>* out = ring_ + (at & mask_);
  out[0].store(uint64_t{stage} << 32 | bytes, std::memory_order_release);
  out[1].store(sequence_, std::memory_order_release);
  out += 2;
  const auto* from = static_cast<const unsigned char*>(data);
  uint32_t left = bytes;
  for (; left >= 8; left -= 8, from += 8, ++out) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    out->store(word, std::memory_order_release);
  }
  if (left != 0) {
    uint64_t word = 0;
    std::memcpy(&word, from, left);
    out->store(word, std::memory_order_release);
  }
}

bool RingProducer::put_at_limit(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
  const uint64_t record = record_words(bytes);
  const uint64_t before_end = words_ - (head_ & mask_);
  const uint64_t passed = before_end < record ? before_end : 0;
  const uint64_t end = head_ + passed + record;
  if (passed + record > words_) return false;
  refresh_tail();
  if (!overwrite_ && end - tail_ > words_) return false;
  // As far as the part's end is reserved at once, but never over what has not been consumed.
  uint64_t reserve = (end / part_ + 1) * part_;
  if (overwrite_) {
    pass_oldest(reserve > words_ ? reserve - words_ : 0);
  } else {
    reserve = std::min(reserve, tail_ + words_);
    // A record boundary, and everything before it has been consumed.
    if (oldest_ != tail_) header_->oldest.store(oldest_ = tail_, std::memory_order_release);
  }
  header_->reserve.store(reserve, std::memory_order_release);
  if (passed != 0) {
    ring_[head_ & mask_].store(uint64_t{kPassOver} << 32 | passed * 8, std::memory_order_release);
    head_ += passed;
    note_record(head_);
  }
  write(head_, data, bytes, stage);
  head_ = end;
  ++sequence_;
  note_record(head_);
  const bool above = head_ - tail_ >= mark_;
  if (above && armed_) {
    *near_full = true;
    commit();
    header_->near_full.fetch_add(1, std::memory_order_release);
    wake(header_->near_full);
  }
  armed_ = !above;
  limit_ = reserve;
  if (armed_) {
    limit_ = std::min(limit_, tail_ + mark_);
  } else if (part_ > mark_ / 2) {
    limit_ = 0;  // a mark within a part of the ring: the fill is looked at with every packet
  }
  return true;
}

}  // namespace substrata::owl

using namespace substrata;
using namespace substrata::owl;

int substrata_owl_reader::open(const char* path, uint32_t flags) {
  if (const int refused = mapping_.open(path)) return refused;
  const RingHeader& header = mapping_.header();
  mask_ = header.words - 1;
  watching_ = (flags & SUBSTRATA_OWL_WATCH) != 0;
  signals_seen_ = 0;
  if (watching_) {
    position_ = header.oldest.load(std::memory_order_acquire);
    sequence_ = ~uint64_t{0};  // known with the first packet
  } else {
    // The sequence number first: the consumer writes it before its position.
    position_ = header.tail.load(std::memory_order_acquire);
    sequence_ = header.tail_sequence.load(std::memory_order_acquire);
    lost_ = header.lost.load(std::memory_order_relaxed);
  }
  return 0;
}

bool substrata_owl_reader::overrun() const noexcept {
  const RingHeader& header = mapping_.header();
  const uint64_t reserve = header.reserve.load(std::memory_order_acquire);
  return reserve > header.words && position_ < reserve - header.words;
}

int substrata_owl_reader::peek(substrata_owl_packet* packet, void* data, size_t room) noexcept {
  RingHeader& header = mapping_.header();
  const std::atomic<uint64_t>* const words = mapping_.words();
  peeked_words_ = 0;
  while (true) {
    if (position_ >= head_) head_ = header.head.load(std::memory_order_acquire);
    if (position_ == head_) return 0;
    const uint64_t first = words[position_ & mask_].load(std::memory_order_acquire);
    const uint32_t bytes = static_cast<uint32_t>(first);
    const bool pass = first >> 32 == kPassOver;
    const uint64_t length = pass ? bytes / 8 : record_words(bytes);
    const bool sound = position_ < head_ && length != 0 && length <= head_ - position_ &&
                       (pass || bytes <= SUBSTRATA_OWL_MOST_PACKET) &&
                       (position_ & mask_) + length <= mask_ + 1;
    const bool fits = bytes <= room;
    uint64_t sequence = 0;
    if (sound && !pass) {
      const std::atomic<uint64_t>* from = words + (position_ & mask_);
      sequence = from[1].load(std::memory_order_acquire);
      from += 2;
      if (fits) {
        auto* to = static_cast<unsigned char*>(data);
        uint32_t left = bytes;
        for (; left >= 8; left -= 8, to += 8, ++from) {
          const uint64_t word = from->load(std::memory_order_acquire);
          std::memcpy(to, &word, 8);
        }
        if (left != 0) {
          const uint64_t word = from->load(std::memory_order_acquire);
          std::memcpy(to, &word, left);
        }
      }
    }
    // What was read counts only if it had not been overwritten by now.
    if (overrun()) {
      const uint64_t oldest = header.oldest.load(std::memory_order_acquire);
      if (oldest > position_) {
        position_ = oldest;
        continue;
      }
      return fail(Code::kInvalid, "the ring '%s' is damaged: its oldest record has been overwritten",
                  mapping_.path().c_str());
    }
    if (!sound) {
      return fail(Code::kInvalid, "the ring '%s' is damaged at word %llu", mapping_.path().c_str(),
                  static_cast<unsigned long long>(position_));
    }
    if (pass) {
      position_ += length;
      continue;
    }
    if (sequence_ == ~uint64_t{0}) sequence_ = sequence;
    if (sequence > sequence_) {
      lost_ += sequence - sequence_;
      if (!watching_) header.lost.store(lost_, std::memory_order_relaxed);
    }
    // Behind it only after a consumer that was killed between writing its sequence number and its position.
    sequence_ = sequence;
    packet->sequence = sequence;
    packet->stage = static_cast<uint32_t>(first >> 32);
    packet->bytes = bytes;
    if (!fits)
      return fail(Code::kBufferTooSmall, "a packet has %u bytes, there is room for %zu", bytes, room);
    peeked_words_ = length;
    return 1;
  }
}

void substrata_owl_reader::consume() noexcept {
  if (peeked_words_ == 0) return;
  position_ += peeked_words_;
  ++sequence_;
  peeked_words_ = 0;
  if (watching_) return;
  RingHeader& header = mapping_.header();
  header.tail_sequence.store(sequence_, std::memory_order_relaxed);
  header.tail.store(position_, std::memory_order_release);
}

int substrata_owl_reader::wait(uint32_t milliseconds) noexcept {
  std::atomic<uint32_t>& word = mapping_.header().near_full;
  timespec limit{static_cast<time_t>(milliseconds / 1000),
                 static_cast<long>(milliseconds % 1000) * 1'000'000};
  uint32_t now = word.load(std::memory_order_acquire);
  if (now == signals_seen_ && milliseconds != 0) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, now, &limit, nullptr, 0);
    now = word.load(std::memory_order_acquire);
  }
  const bool given = now != signals_seen_;
  signals_seen_ = now;
  return given ? 1 : 0;
}

int substrata_owl_reader::write_register(const char* name, uint64_t value) noexcept {
  RingHeader& header = mapping_.header();
  for (uint32_t i = 0; i < header.register_count; ++i) {
    RingHeader::Register& each = header.registers[i];
    if (std::strncmp(each.name, name, sizeof each.name) != 0) continue;
    if (each.live.load() == 0)
      return fail(Code::kConflict, "register '%s' cannot change while its capsule runs", name);
    if (value < each.least.load() || value > each.most.load()) {
      return fail(Code::kInvalid, "register '%s' takes %llu to %llu", name,
                  static_cast<unsigned long long>(each.least.load()),
                  static_cast<unsigned long long>(each.most.load()));
    }
    each.value.store(value);
    header.register_changes.fetch_add(1, std::memory_order_release);
    return 0;
  }
  return fail(Code::kNoEvent, "the ring '%s' has no register '%s'", mapping_.path().c_str(), name);
}
