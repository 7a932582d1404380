// A recording with what exports find hard, and what they write of it.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "recording/memory_sink.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace substrata::tests {

// Eleven rows of a count and a modelled gauge, a gap, a region, and names that need escapes in every format.
inline recording::Recording sample_record() {
  recording::MemorySink sink(machine("host \"a\"", "boot"));
  sample_functions(
      sink, 11, 0.1, [](double t) { return 1000 * t; }, [](double t) { return 40000 + t; });
  recording::SeriesInfo odd = count_series("odd,\"name\"\n<\xff>_total", "kB");
  odd.text = "back\\slash";
  odd.type = recording::Type::kUint64;
  const std::uint32_t set = sink.declare({odd});
  for (int row = 0; row < 3; ++row) {
    const std::int64_t value = -1 - (2 - row);
    const std::uint8_t flags = row == 1 ? std::uint8_t{recording::kAbsent} : std::uint8_t{0};
    sink.sample(set, kSecond + row * 300'000'000, 0, &value, &flags);
  }
  sink.mark({recording::MarkKind::kBegin, kSecond + 200'000'000, -1, "solve, fast"});
  sink.mark({recording::MarkKind::kEnd, kSecond + 650'000'000, -1, "solve, fast"});
  sink.mark({recording::MarkKind::kMoment, kSecond + 700'000'000, -1, "there"});
  sink.end(2 * kSecond, {{"exit", "exit status 0"}});
  return sink.recording();
}

template <typename Export>
std::string exported(Export&& write, const recording::Recording& record) {
  std::ostringstream out;
  write(out, recording::lay_out(record));
  return out.str();
}

}  // namespace substrata::tests
