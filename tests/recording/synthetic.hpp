// Records made for tests: in memory, and as a file in a folder of its own.
#pragma once

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "recording/memory_sink.hpp"
#include "recording/reader.hpp"
#include "recording/writer.hpp"

namespace substrata::tests {

inline recording::SeriesInfo count_series(const std::string& name, const std::string& unit = "") {
  recording::SeriesInfo one;
  one.name = name;
  one.unit = unit;
  one.text = "counts " + name;
  one.component = "synthetic";
  one.scope = "process tree";
  return one;
}

inline recording::SeriesInfo gauge_series(const std::string& name, const std::string& unit = "mdegC") {
  recording::SeriesInfo one = count_series(name, unit);
  one.kind = recording::Kind::kGauge;
  one.scope = "node";
  one.modelled = true;
  return one;
}

inline recording::Properties machine(const std::string& host, const std::string& boot,
                                     std::int64_t raw_ns = 1'000'000'000,
                                     std::int64_t real_ns = 1'700'000'000'000'000'000) {
  return {{"host", host},
          {"machine.boot_id", boot},
          {"start.raw_ns", std::to_string(raw_ns)},
          {"start.real_ns", std::to_string(real_ns)},
          {"interval_ns", "100000000"},
          {"command", "synthetic"},
          {"software.substrata", "test"}};
}

inline std::vector<unsigned char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline constexpr std::int64_t kSecond = 1'000'000'000;

// One count that grows by `rate` a second and one gauge of `level`, sampled every `step` seconds from the
// start on.
inline void sample_functions(recording::Sink& sink, std::size_t rows, double step,
                             const std::function<double(double)>& total,
                             const std::function<double(double)>& level, std::int64_t start = kSecond) {
  const std::uint32_t set = sink.declare({count_series("work"), gauge_series("heat")});
  for (std::size_t row = 0; row < rows; ++row) {
    const double at = static_cast<double>(row) * step;
    const std::int64_t values[2] = {static_cast<std::int64_t>(total(at)),
                                    static_cast<std::int64_t>(level(at))};
    const std::uint8_t flags[2] = {0, recording::kModelled};
    sink.sample(set, start + static_cast<std::int64_t>(at * 1e9), 1000, values, flags);
  }
}

}  // namespace substrata::tests
