// Takes samples into memory: a recording that needs no file.
#pragma once

#include "recording/writer.hpp"

namespace substrata::recording {

// A recording of one writer that grows in memory. Thread-compatible.
class MemorySink : public Sink {
 public:
  explicit MemorySink(const Properties& properties);
  std::uint32_t declare(const std::vector<SeriesInfo>& series) override;
  void sample(std::uint32_t set, std::int64_t time, std::int64_t skew, const std::int64_t* values,
              const std::uint8_t* flags) override;
  void mark(const Mark& mark) override;
  void clock(const ClockReading& reading) override;
  void end(std::int64_t time, const Properties& properties);
  const Recording& recording() const noexcept { return recording_; }

 private:
  Writer& writer() { return recording_.writers.front(); }
  Recording recording_;
};

}  // namespace substrata::recording
