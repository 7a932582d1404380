// Rings: writing, reading, and the near-full signal over a futex.
#include "owl/ring.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/error.hpp"
#include "owl/assignments.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kUnknown = ~uint64_t{0};
// A consumer moves its place at most once a packet; one that moves it more often is not waited for.
constexpr int kMostTries = 10'000;

void wake(Shared<uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

RingProducer::~RingProducer() {
  if (header_ != nullptr && own_.here()) memory_.remove_link();
}

int RingProducer::create(const char* path, uint64_t bytes, uint32_t policy, uint32_t near_full_percent) {
  words_ = std::bit_ceil(bytes) / 8;
  if (const int refused = own_.make()) return refused;
  if (const int refused = memory_.create(path, words_)) return refused;
  header_ = &memory_.header();
  ring_ = memory_.words();
  mask_ = words_ - 1;
  part_ = words_ / kParts;
  overwrite_ = policy == SUBSTRATA_OWL_OVERWRITE_OLD;
  mark_ = std::max<uint64_t>(1, words_ * near_full_percent / 100);
  header_->policy = policy;
  return 0;
}

void RingProducer::publish() noexcept { header_->magic.store(RingHeader::kMagic, std::memory_order_release); }

void RingProducer::refresh_tail() noexcept {
  const uint64_t seen = header_->tail.load(std::memory_order_acquire);
  // Others write it: what makes no sense is not believed.
  if (seen >= tail_ && seen <= head_) tail_ = seen;
}

void RingProducer::pass_oldest(uint64_t boundary) noexcept {
  if (oldest_.position >= boundary) return;
  const uint64_t part = (boundary + part_ - 1) / part_;
  const uint64_t from = oldest_.sequence;
  // Where no part behind the boundary has begun, nothing that was written stays.
  oldest_ = part < parts_begun_ ? starts_[part % (2 * kParts)] : Place{head_, sequence_};
  // In this order: a consumer that goes to `oldest` finds taken away what lies before it, and readers see it.
  take_away(from);
  commit();
  header_->oldest.store(oldest_.position, std::memory_order_release);
}

void RingProducer::take_away(uint64_t from) noexcept {
  uint64_t next = header_->next.load(std::memory_order_acquire);
  uint64_t first = from;
  for (int i = 0; i < kMostTries; ++i) {
    // A place before what was taken away already, or ahead of what was written, is none.
    first = next >> 1 > sequence_ ? from : std::max(next >> 1, from);
    if (first >= oldest_.sequence) return;
    if (header_->next.compare_exchange_weak(next, oldest_.sequence << 1, std::memory_order_acq_rel)) break;
  }
  lost_ += oldest_.sequence - first;
}

uint64_t RingProducer::last_word(const unsigned char* from, uint32_t bytes) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

void RingProducer::write_around_end(const void* data, uint32_t bytes, uint32_t stage) noexcept {
  uint64_t at = head_;
  write_with([&](uint64_t word) { ring_[at++ & mask_].store(word, std::memory_order_release); }, data, bytes,
             stage, sequence_);
}

bool RingProducer::put_at_limit(const void* data, uint32_t bytes, uint32_t stage, bool* near_full) noexcept {
  const uint64_t record = record_words(bytes);
  if (record > words_ || !own_.here()) return false;
  const uint64_t end = head_ + record;
  refresh_tail();
  if (!overwrite_ && end - tail_ > words_) return false;
  // As far as the part's end is reserved at once, but never over what has not been consumed.
  const uint64_t reserve = std::min((end / part_ + 1) * part_, (overwrite_ ? head_ : tail_) + words_);
  if (overwrite_) {
    pass_oldest(reserve > words_ ? reserve - words_ : 0);
  } else if (oldest_.position != tail_) {
    // A record boundary, and everything before it has been consumed.
    oldest_.position = tail_;
    header_->oldest.store(tail_, std::memory_order_release);
  }
  header_->reserve.store(reserve, std::memory_order_release);
  write_around_end(data, bytes, stage);
  head_ = end;
  ++sequence_;
  for (; parts_begun_ * part_ <= end; ++parts_begun_)
    starts_[parts_begun_ % (2 * kParts)] = {head_, sequence_};
  const bool above = head_ - tail_ >= mark_;
  if (above && armed_) {
    *near_full = true;
    commit();
    header_->near_full.store(++near_full_, std::memory_order_release);
    wake(header_->near_full);
  }
  armed_ = !above;
  uint64_t limit = reserve;
  if (armed_) {
    limit = std::min(limit, tail_ + mark_);
  } else if (part_ > mark_ / 2) {
    limit = 0;  // a mark within a part of the ring: the fill is looked at with every packet
  }
  own_.word() = own_.wiped() ? limit : 0;
  return true;
}

}  // namespace substrata::owl

using namespace substrata;
using namespace substrata::owl;

int substrata_owl_reader::open(const char* path, uint32_t flags) {
  watching_ = (flags & SUBSTRATA_OWL_WATCH) != 0;
  if (const int refused = memory_.open(path, !watching_)) return refused;
  const RingHeader& header = memory_.header();
  mask_ = memory_.word_count() - 1;
  overwritten_ = header.policy.load(std::memory_order_relaxed) == SUBSTRATA_OWL_OVERWRITE_OLD;
  if (watching_) {
    position_ = header.oldest.load(std::memory_order_acquire);
    sequence_ = kUnknown;  // known with the first packet
  } else {
    position_ = header.tail.load(std::memory_order_acquire);
    sequence_ = header.consumed.load(std::memory_order_acquire);
  }
  return 0;
}

int substrata_owl_reader::damaged() const noexcept {
  return fail(Code::kInvalid, "the ring '%s' is damaged at word %llu", memory_.path().c_str(),
              static_cast<unsigned long long>(position_));
}

bool substrata_owl_reader::overrun() const noexcept {
  const uint64_t reserve = memory_.header().reserve.load(std::memory_order_acquire);
  return reserve > mask_ + 1 && position_ < reserve - (mask_ + 1);
}

bool substrata_owl_reader::skip_to_oldest() noexcept {
  const uint64_t oldest = memory_.header().oldest.load(std::memory_order_acquire);
  if (oldest <= position_) return false;
  position_ = oldest;
  return true;
}

void substrata_owl_reader::copy(void* to, uint64_t from, uint32_t bytes) const noexcept {
  const Shared<uint64_t>* const words = memory_.words();
  auto* out = static_cast<unsigned char*>(to);
  for (uint32_t left = bytes; left != 0;) {
    const uint64_t word = words[from++ & mask_].load(std::memory_order_acquire);
    const uint32_t now = std::min<uint32_t>(left, 8);
    std::memcpy(out, &word, now);
    out += now;
    left -= now;
  }
}

bool substrata_owl_reader::claim(uint64_t sequence) noexcept {
  Shared<uint64_t>& word = memory_.header().next;
  const uint64_t given = (sequence + 1) << 1 | 1;
  uint64_t next = word.load(std::memory_order_acquire);
  while (next >> 1 <= sequence) {
    if (word.compare_exchange_weak(next, given, std::memory_order_acq_rel)) return true;
  }
  return next == given;  // to this consumer before, or to one that did not come to consume it
}

void substrata_owl_reader::free_up_to_here() noexcept {
  memory_.header().tail.store(position_, std::memory_order_release);
}

int substrata_owl_reader::peek(substrata_owl_packet* packet, void* data, size_t capacity) noexcept {
  const Shared<uint64_t>* const words = memory_.words();
  const uint64_t all = mask_ + 1;
  peeked_words_ = 0;
  // The rounds end with a packet, or without one where the producer is faster than any reader.
  for (uint64_t round = 0; round < all; ++round) {
    if (position_ >= head_) head_ = memory_.header().head.load(std::memory_order_acquire);
    if (position_ == head_) return 0;
    const uint64_t first = words[position_ & mask_].load(std::memory_order_acquire);
    const uint32_t bytes = static_cast<uint32_t>(first);
    const uint64_t length = record_words(bytes);
    const bool sound = position_ < head_ && bytes != 0 && bytes <= SUBSTRATA_OWL_MOST_PACKET &&
                       length <= all && length <= head_ - position_;
    const bool fits = bytes <= capacity;
    uint64_t sequence = 0;
    if (sound) {
      sequence = words[(position_ + 1) & mask_].load(std::memory_order_acquire);
      if (fits) copy(data, position_ + 2, bytes);
    }
    // What was read counts only if it had not been overwritten by now.
    if (overrun()) {
      if (!skip_to_oldest()) return damaged();
      continue;
    }
    if (!sound) return damaged();
    if (sequence_ == kUnknown) sequence_ = sequence;
    // Consumed by a consumer that was killed before it freed it, or taken away by now.
    if (sequence < sequence_ || (fits && overwritten_ && !watching_ && !claim(sequence))) {
      position_ += length;
      if (!watching_) free_up_to_here();
      continue;
    }
    lost_ += sequence - sequence_;
    sequence_ = sequence;
    packet->sequence = sequence;
    packet->stage = static_cast<uint32_t>(first >> 32);
    packet->bytes = bytes;
    if (!fits)
      return fail(Code::kBufferTooSmall, "a packet has %u bytes, the capacity is %zu", bytes, capacity);
    peeked_words_ = length;
    return 1;
  }
  return 0;
}

void substrata_owl_reader::consume() noexcept {
  if (peeked_words_ == 0) return;
  position_ += peeked_words_;
  ++sequence_;
  peeked_words_ = 0;
  if (watching_) return;
  // From here on no consumer is given it again, also if this one is killed now.
  memory_.header().consumed.store(sequence_, std::memory_order_release);
  free_up_to_here();
}

int substrata_owl_reader::wait(uint32_t milliseconds) noexcept {
  Shared<uint32_t>& word = memory_.header().near_full;
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

int substrata_owl_reader::check_register(const char* name, uint64_t value,
                                         RegisterValue* out) const noexcept {
  RingHeader& header = memory_.header();
  for (uint32_t i = 0; i < memory_.register_count(); ++i) {
    RingHeader::Register& each = header.registers[i];
    if (std::strncmp(each.name, name, sizeof each.name) != 0) continue;
    if (each.live.load() == 0)
      return fail(Code::kConflict, "register '%s' cannot change while its capsule runs", name);
    if (value < each.least.load() || value > each.most.load()) {
      return fail(Code::kInvalid, "register '%s' takes %llu to %llu", name,
                  static_cast<unsigned long long>(each.least.load()),
                  static_cast<unsigned long long>(each.most.load()));
    }
    *out = {i, value};
    return 0;
  }
  return fail(Code::kNoEvent, "the ring '%s' has no register '%s'", memory_.path().c_str(), name);
}

int substrata_owl_reader::write_register(const char* name, uint64_t value) noexcept {
  RegisterValue made{};
  const int refused = check_register(name, value, &made);
  return refused != 0 ? refused : memory_.write_registers(&made, 1);
}

int substrata_owl_reader::write_registers(const char* assignments) {
  std::vector<RegisterValue> made;
  const int refused = for_each_assignment(assignments, [&](const char* name, uint64_t value) {
    return check_register(name, value, &made.emplace_back());
  });
  return refused != 0 ? refused : memory_.write_registers(made.data(), made.size());
}
