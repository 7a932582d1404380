// The predictor of transactions, and packets written and read with it.
#include "owl/log_codec.hpp"

#include <algorithm>
#include <cstring>

namespace substrata::owl {
namespace {

constexpr size_t kHead = 8;
constexpr size_t kLongestNumber = 10;
// What one transaction may take at most: the run before it, the bits, and every field.
constexpr size_t kLongestEntry = kLongestNumber * (FieldPredictor::kFields + 2);

uint64_t zigzag(uint64_t difference) noexcept {
  return (difference << 1) ^ (uint64_t{0} - (difference >> 63));
}
uint64_t unzigzag(uint64_t value) noexcept { return (value >> 1) ^ (uint64_t{0} - (value & 1)); }

}  // namespace

FieldPredictor::Fields FieldPredictor::split(const substrata_transaction& t) noexcept {
  return {t.time, t.start, t.address, t.site,    t.detail, t.initiator, t.target,
          t.size, t.kind,  t.state,   t.program, t.phase,  t.flags,     t.probe};
}

void FieldPredictor::join(const Fields& f, substrata_transaction* out) noexcept {
  *out = {f[0],
          f[1],
          f[2],
          f[3],
          f[4],
          static_cast<uint32_t>(f[5]),
          static_cast<uint32_t>(f[6]),
          static_cast<uint32_t>(f[7]),
          static_cast<uint16_t>(f[8]),
          static_cast<uint16_t>(f[9]),
          static_cast<uint16_t>(f[10]),
          static_cast<uint16_t>(f[11]),
          static_cast<uint16_t>(f[12]),
          static_cast<uint16_t>(f[13])};
}

FieldPredictor::FieldPredictor(LogFormat format)
    : contexts_used_(format == LogFormat::kPredicted),
      contexts_(contexts_used_ ? std::make_unique<uint64_t[]>(kContexts * std::size(kContextFields))
                               : nullptr) {}

void FieldPredictor::restart() noexcept {
  last_ = step_ = guess_ = {};
  before_ = {};
  if (contexts_used_) std::fill_n(contexts_.get(), kContexts * std::size(kContextFields), 0);
}

uint64_t* FieldPredictor::context_of(unsigned which) noexcept {
  const uint64_t mixed =
      (step_[kContextFields[which]] * 0x9e3779b97f4a7c15u) ^ (before_[which] * 0xc2b2ae3d27d4eb4fu);
  return contexts_.get() + which * kContexts + (mixed >> 54);
}

void FieldPredictor::learn(const Fields& is) noexcept {
  if (contexts_used_) {
    for (unsigned which = 0; which < std::size(kContextFields); ++which) {
      const unsigned field = kContextFields[which];
      const uint64_t step = is[field] - last_[field];
      *context_of(which) = step;
      before_[which] = step_[field];
    }
  }
  for (unsigned i = 0; i < kFields; ++i) {
    step_[i] = is[i] - last_[i];
    last_[i] = is[i];
  }
  guess_next();
}

void FieldPredictor::guess_next() noexcept {
  for (unsigned i = 0; i < kFields; ++i) {
    // Times and addresses step; small fields (kind, size, ...) return to what they were.
    guess_[i] = i <= 4 ? last_[i] + step_[i] : last_[i];
  }
  if (!contexts_used_) return;
  for (unsigned which = 0; which < std::size(kContextFields); ++which) {
    const unsigned field = kContextFields[which];
    guess_[field] = last_[field] + *context_of(which);
  }
}

LogEncoder::LogEncoder(LogFormat format, uint32_t most_bytes)
    : format_(format),
      most_(std::max<uint32_t>(most_bytes, kHead + kLongestEntry + kLongestNumber)),
      predictor_(format),
      packet_(std::make_unique<uint8_t[]>(most_)),
      used_(kHead) {}

uint8_t* LogEncoder::put(uint8_t* at, uint64_t value) const noexcept {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80);
  *at++ = static_cast<uint8_t>(value);
  return at;
}

bool LogEncoder::add(const substrata_transaction& t) noexcept {
  if (format_ == LogFormat::kRaw) {
    if (used_ + sizeof t > most_) return false;
    std::memcpy(packet_.get() + used_, &t, sizeof t);
    used_ += sizeof t;
    ++count_;
    return true;
  }
  if (used_ + kLongestEntry + kLongestNumber > most_ || count_ == UINT32_MAX) return false;
  const FieldPredictor::Fields is = FieldPredictor::split(t);
  const FieldPredictor::Fields& guess = predictor_.guess();
  uint32_t wrong = 0;
  for (unsigned i = 0; i < FieldPredictor::kFields; ++i) wrong |= is[i] != guess[i] ? 1u << i : 0u;
  if (wrong == 0) {
    ++run_;
  } else {
    uint8_t* at = put(packet_.get() + used_, run_);
    run_ = 0;
    at = put(at, wrong);
    for (unsigned i = 0; i < FieldPredictor::kFields; ++i) {
      if ((wrong >> i & 1) != 0) at = put(at, zigzag(is[i] - guess[i]));
    }
    used_ = static_cast<uint32_t>(at - packet_.get());
  }
  predictor_.learn(is);
  ++count_;
  return true;
}

const uint8_t* LogEncoder::take(size_t* bytes) noexcept {
  if (run_ != 0) used_ = static_cast<uint32_t>(put(packet_.get() + used_, run_) - packet_.get());
  const uint8_t head[4] = {static_cast<uint8_t>(format_), 0, 0, 0};
  std::memcpy(packet_.get(), head, 4);
  std::memcpy(packet_.get() + 4, &count_, 4);
  *bytes = used_;
  used_ = kHead;
  count_ = 0;
  run_ = 0;
  predictor_.restart();
  return packet_.get();
}

const char* decode_log(const void* packet, size_t bytes,
                       void (*call)(void* owner, const substrata_transaction* each), void* owner,
                       size_t* offset) {
  const auto* const begin = static_cast<const uint8_t*>(packet);
  const uint8_t* at = begin;
  const uint8_t* const end = begin + bytes;
  *offset = 0;
  if (bytes < kHead || begin[0] > 2 || begin[1] != 0 || begin[2] != 0 || begin[3] != 0) {
    return "this is not a packet of the log";
  }
  uint32_t left;
  std::memcpy(&left, begin + 4, 4);
  at += kHead;
  const auto format = static_cast<LogFormat>(begin[0]);
  substrata_transaction t;
  if (format == LogFormat::kRaw) {
    if (bytes - kHead != left * sizeof t) return "its length does not fit its number of transactions";
    for (; left > 0; --left, at += sizeof t) {
      std::memcpy(&t, at, sizeof t);
      call(owner, &t);
    }
    return nullptr;
  }
  FieldPredictor predictor(format);
  const auto number = [&](uint64_t* out) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at == end) return false;
      const uint8_t byte = *at++;
      if (shift == 63 && byte > 1) return false;
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) {
        *out = value;
        return true;
      }
    }
    return false;
  };
  while (left > 0) {
    *offset = static_cast<size_t>(at - begin);
    uint64_t run = 0;
    if (!number(&run) || run > left) return "a number of transactions is cut off or too large";
    left -= static_cast<uint32_t>(run);
    for (; run > 0; --run) {
      const FieldPredictor::Fields is = predictor.guess();
      FieldPredictor::join(is, &t);
      predictor.learn(is);
      call(owner, &t);
    }
    if (left == 0) break;
    *offset = static_cast<size_t>(at - begin);
    uint64_t wrong = 0;
    if (!number(&wrong) || wrong >> FieldPredictor::kFields != 0) return "the bits of the fields are damaged";
    FieldPredictor::Fields is = predictor.guess();
    for (unsigned i = 0; i < FieldPredictor::kFields; ++i) {
      if ((wrong >> i & 1) == 0) continue;
      *offset = static_cast<size_t>(at - begin);
      uint64_t difference = 0;
      if (!number(&difference)) return "a field is cut off or too large";
      is[i] += unzigzag(difference);
    }
    FieldPredictor::join(is, &t);
    predictor.learn(FieldPredictor::split(t));
    call(owner, &t);
    --left;
  }
  *offset = static_cast<size_t>(at - begin);
  return at == end ? nullptr : "there is more than its transactions";
}

}  // namespace substrata::owl
