// Specs as users write them, "fft:points=65536:seed=3": parsed and checked against the parameters there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::workloads {

// One parameter of a workload or a machine.
struct Parameter {
  std::string_view name;
  std::string_view text;  // one line, unit included
  std::uint64_t fallback;
  std::uint64_t least;
  std::uint64_t most;
  bool power_of_two = false;
  // A choice: the names of the values 0, 1, ..., separated by '|'.
  std::string_view choices = {};
};

constexpr Parameter power_of_two(std::string_view name, std::string_view text, std::uint64_t fallback,
                                 std::uint64_t least, std::uint64_t most) {
  return {name, text, fallback, least, most, true};
}
// `choices` as above; `fallback` is the number of one of them.
constexpr Parameter choice(std::string_view name, std::string_view text, std::string_view choices,
                           std::uint64_t fallback = 0) {
  std::uint64_t most = 0;
  for (const char c : choices) most += c == '|' ? 1 : 0;
  return {name, text, fallback, 0, most, false, choices};
}

// The values of a set of parameters, in their order. Thread-compatible.
class Values {
 public:
  Values(std::span<const Parameter> parameters);
  // Of a parameter that exists (else 0).
  std::uint64_t operator[](std::string_view name) const noexcept;
  // Sets what `text` says: "name=value" items separated by ':' or ','; numbers are decimal, with k, m or g
  // for 2^10, 2^20, 2^30. On an error nothing is set, false is returned and `error` says what was wrong and
  // what is known.
  bool set(std::string_view text, std::string& error);
  // "name=value:..." of all parameters.
  std::string text() const;

 private:
  std::span<const Parameter> parameters_;
  std::vector<std::uint64_t> values_;
};

// A spec cut in two at its first ':'.
struct Spec {
  std::string_view name;
  std::string_view parameters;
};
Spec split_spec(std::string_view text) noexcept;

// "points=65536 complex points, a power of two; seed=1 ...": one line for a list.
std::string describe(std::span<const Parameter> parameters);

}  // namespace substrata::workloads
