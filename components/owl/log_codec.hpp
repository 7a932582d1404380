// Lossless compression of transactions into packets, each readable alone: by runs of constant steps, or by
// value prediction.
#pragma once

#include <substrata/feed.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace substrata::owl {

enum class LogFormat : uint8_t {
  kRaw = 0,
  kRuns = 1,       // a field goes on by the step it made last; runs of right guesses are one number
  kPredicted = 2,  // as well, and address, site and detail by a table of what followed the last steps
};

// Guesses the next transaction field by field from those before. Encoder and decoder keep equal ones.
// Thread-compatible.
class FieldPredictor {
 public:
  static constexpr unsigned kFields = 14;
  using Fields = std::array<uint64_t, kFields>;
  static Fields split(const substrata_transaction& t) noexcept;
  static void join(const Fields& fields, substrata_transaction* out) noexcept;

  explicit FieldPredictor(LogFormat format);
  void restart() noexcept;
  const Fields& guess() const noexcept { return guess_; }
  void learn(const Fields& is) noexcept;

 private:
  // Differential finite context: the step expected after the last steps of this field (Burtscher and
  // Jeeradit, PACT 2003, is the paper's reference for it).
  static constexpr unsigned kContexts = 1024;
  static constexpr unsigned kContextFields[] = {2, 3, 4};  // address, site, detail
  void guess_next() noexcept;
  uint64_t* context_of(unsigned which) noexcept;
  const bool contexts_used_;
  Fields last_{};
  Fields step_{};
  Fields guess_{};
  std::array<uint64_t, 3> before_{};  // the step before the last, of each field with contexts
  std::unique_ptr<uint64_t[]> contexts_;
};

// A packet: format (1 byte), 3 zero bytes, number of transactions (4), payload. The payload of the compressed
// formats is a row of: varint number of transactions that were guessed right, then, unless the packet ends
// there, varint bits of the fields that were not, and for each of them, lowest first, the zigzag varint
// difference.
class LogEncoder {
 public:
  LogEncoder(LogFormat format, uint32_t most_bytes);
  // False: no space left, the packet is to be taken first.
  bool add(const substrata_transaction& t) noexcept;
  uint32_t transactions() const noexcept { return count_; }
  // The finished packet, valid until the next call; a new one begins.
  const uint8_t* take(size_t* bytes) noexcept;

 private:
  uint8_t* put(uint8_t* at, uint64_t value) const noexcept;
  const LogFormat format_;
  const uint32_t most_;
  FieldPredictor predictor_;
  std::unique_ptr<uint8_t[]> packet_;
  uint32_t used_ = 0;
  uint32_t count_ = 0;
  uint64_t run_ = 0;
};

// Calls for every transaction of a packet. Null: done; else what is wrong, and at which byte. No call is made
// twice and none is left out before the damage.
const char* decode_log(const void* packet, size_t bytes,
                       void (*call)(void* owner, const substrata_transaction* each), void* owner,
                       size_t* offset);

}  // namespace substrata::owl
