// Encodes and expands format 1.
#include "feed/compact.hpp"

#include <bit>

namespace substrata::feed {
namespace {

constexpr uint64_t kFieldMask = (uint64_t{1} << 48) - 1;

// A number with what does not fit into its field before it.
uint64_t* put(uint64_t* out, unsigned what, uint64_t number, unsigned size = 1) noexcept {
  if (number > kFieldMask) *out++ = substrata_compact_record(SUBSTRATA_COMPACT_UPPER, 1, number >> 48);
  *out++ = substrata_compact_record(what, size, number & kFieldMask);
  return out;
}

// What the transaction's own record is; -1: the format has none.
int what_of(const substrata_transaction& t) noexcept {
  const bool plain =
      t.size <= 16 && std::has_single_bit(t.size) && substrata_compact_is_plain(t.address, t.size) != 0;
  switch (t.kind) {
    case SUBSTRATA_READ:
      return plain ? SUBSTRATA_COMPACT_READ : SUBSTRATA_COMPACT_ANY_READ;
    case SUBSTRATA_WRITE:
      return plain ? SUBSTRATA_COMPACT_WRITE : SUBSTRATA_COMPACT_ANY_WRITE;
    case SUBSTRATA_ATOMIC:
      return SUBSTRATA_COMPACT_ATOMIC;
    case SUBSTRATA_FETCH:
      return SUBSTRATA_COMPACT_FETCH;
    case SUBSTRATA_INSTRUCTIONS:
      return SUBSTRATA_COMPACT_INSTRUCTIONS;
    case SUBSTRATA_BRANCH:
      return t.state == SUBSTRATA_MISS ? SUBSTRATA_COMPACT_MISPREDICTED : SUBSTRATA_COMPACT_BRANCH;
    case SUBSTRATA_BARRIER:
      return SUBSTRATA_COMPACT_BARRIER;
    default:
      return -1;
  }
}

uint16_t kind_of(unsigned what) noexcept {
  constexpr uint16_t kKinds[] = {SUBSTRATA_READ,   SUBSTRATA_WRITE,  SUBSTRATA_READ,         SUBSTRATA_WRITE,
                                 SUBSTRATA_ATOMIC, SUBSTRATA_FETCH,  SUBSTRATA_INSTRUCTIONS, SUBSTRATA_BRANCH,
                                 SUBSTRATA_BRANCH, SUBSTRATA_BARRIER};
  return kKinds[what];
}

bool has_own_size(unsigned what) noexcept {
  return what < SUBSTRATA_COMPACT_INSTRUCTIONS || what == SUBSTRATA_COMPACT_BARRIER;
}

}  // namespace

size_t encode(const substrata_transaction& t, uint32_t* phase, uint64_t* out) noexcept {
  const int what = what_of(t);
  if (what < 0) return 0;
  uint64_t* at = out;
  if (t.phase != *phase) {
    *phase = t.phase;
    at = put(at, SUBSTRATA_COMPACT_PHASE, t.phase);
  }
  const bool counts = what == SUBSTRATA_COMPACT_INSTRUCTIONS;
  if (t.site != 0) at = put(at, SUBSTRATA_COMPACT_SITE, t.site);
  if (t.detail != 0 && !counts) at = put(at, SUBSTRATA_COMPACT_DETAIL, t.detail);
  unsigned size = 1;
  if (has_own_size(static_cast<unsigned>(what)) && t.size - 1U <= 0xffU) {
    size = t.size;
  } else if (has_own_size(static_cast<unsigned>(what)) || t.size != 0) {
    at = put(at, SUBSTRATA_COMPACT_SIZE, t.size);
  }
  at = put(at, static_cast<unsigned>(what), counts ? t.detail : t.address, size);
  return static_cast<size_t>(at - out);
}

bool is_whole(const substrata_transaction& t) noexcept {
  const uint16_t state = t.kind != SUBSTRATA_BRANCH  ? uint16_t{SUBSTRATA_STATE_NONE}
                         : t.state == SUBSTRATA_MISS ? uint16_t{SUBSTRATA_MISS}
                                                     : uint16_t{SUBSTRATA_HIT};
  return t.start == 0 && t.target == 0 && t.program == 0 && t.flags == 0 && t.state == state &&
         (t.kind != SUBSTRATA_INSTRUCTIONS || t.address == 0);
}

size_t Expansion::take(const uint64_t*& at, const uint64_t* end, substrata_transaction* out,
                       size_t slots) noexcept {
  size_t count = 0;
  while (at != end && count < slots) {
    // Reads and writes in a row, which are most: nothing was said before them, nothing changes but time.
    if (site_ == 0 && detail_ == 0 && upper_ == 0 && !has_size_) {
      substrata_transaction t{};
      t.initiator = initiator_;
      t.phase = phase_;
      t.probe = probe_;
      uint64_t time = time_;
      for (; at != end && count < slots; ++at, ++count) {
        const uint64_t record = *at;
        if ((record & 0xffU) > SUBSTRATA_COMPACT_ANY_WRITE) break;
        t.time = ++time;
        t.address = record >> 16;
        t.size = static_cast<uint32_t>(record >> 8 & 0xffU) + 1;
        t.kind = static_cast<uint16_t>(SUBSTRATA_READ + (record & 1U));
        out[count] = t;
      }
      time_ = time;
      if (at == end || count == slots) break;
    }
    count += take_one(*at++, out + count) ? 1U : 0U;
  }
  return count;
}

bool Expansion::take_one(uint64_t record, substrata_transaction* out) noexcept {
  const auto what = static_cast<unsigned>(record & 0xffU);
  const uint64_t number = record >> 16 | upper_;
  switch (what) {
    case SUBSTRATA_COMPACT_PHASE:
      phase_ = static_cast<uint16_t>(number);
      return false;
    case SUBSTRATA_COMPACT_SITE:
      site_ = number;
      upper_ = 0;
      return false;
    case SUBSTRATA_COMPACT_DETAIL:
      detail_ = number;
      upper_ = 0;
      return false;
    case SUBSTRATA_COMPACT_SIZE:
      size_ = number;
      has_size_ = true;
      upper_ = 0;
      return false;
    case SUBSTRATA_COMPACT_UPPER:
      upper_ = record >> 16 << 48;
      return false;
    default:
      if (what > SUBSTRATA_COMPACT_BARRIER) return false;
  }
  const bool counts = what == SUBSTRATA_COMPACT_INSTRUCTIONS;
  const uint64_t own_size = has_own_size(what) ? (record >> 8 & 0xffU) + 1 : 0;
  out->time = ++time_;
  out->start = 0;
  out->address = counts ? 0 : number;
  out->site = site_;
  out->detail = counts ? number : detail_;
  out->initiator = initiator_;
  out->target = 0;
  out->size = static_cast<uint32_t>(has_size_ ? size_ : own_size);
  out->kind = kind_of(what);
  out->state = what == SUBSTRATA_COMPACT_BRANCH         ? uint16_t{SUBSTRATA_HIT}
               : what == SUBSTRATA_COMPACT_MISPREDICTED ? uint16_t{SUBSTRATA_MISS}
                                                        : uint16_t{SUBSTRATA_STATE_NONE};
  out->program = 0;
  out->phase = phase_;
  out->flags = 0;
  out->probe = probe_;
  site_ = detail_ = upper_ = size_ = 0;
  has_size_ = false;
  return true;
}

uint16_t phase_after(std::span<const uint64_t> records) noexcept {
  for (size_t i = records.size(); i-- > 0;) {
    if ((records[i] & 0xffU) == SUBSTRATA_COMPACT_PHASE) return static_cast<uint16_t>(records[i] >> 16);
  }
  return 0;
}

}  // namespace substrata::feed
