// Questions about a recording in memory.
#include "recording/recording.hpp"
#include "base/parse.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace substrata::recording {

double Series::value_at(std::size_t row) const noexcept {
  const std::int64_t raw = values[row];
  if (type == Type::kUint64) return static_cast<double>(static_cast<std::uint64_t>(raw));
  if (type == Type::kInt64) return static_cast<double>(raw);
  double number = 0;
  std::memcpy(&number, &raw, sizeof number);
  return number;
}

std::string rank_scope(std::int64_t rank) { return "rank " + std::to_string(rank); }

std::int64_t rank_of_scope(std::string_view scope) noexcept {
  constexpr std::string_view kBefore = "rank ";
  std::int64_t rank = -1;
  if (scope.substr(0, kBefore.size()) != kBefore) return -1;
  return parse_number(scope.substr(kBefore.size()), &rank) && rank >= 0 ? rank : -1;
}

std::string_view property(const Properties& properties, std::string_view name) noexcept {
  for (const auto& [key, value] : properties)
    if (key == name) return value;
  return {};
}

std::int64_t property_number(const Properties& properties, std::string_view name) noexcept {
  std::int64_t number = 0;
  leading_number(property(properties, name), &number);
  return number;
}

double property_real(const Properties& properties, std::string_view name) noexcept {
  double number = 0;
  leading_number(property(properties, name), &number);
  return number;
}

bool Recording::complete() const noexcept {
  return damages.empty() && !writers.empty() &&
         std::all_of(writers.begin(), writers.end(), [](const Writer& writer) { return writer.ended; });
}

std::size_t Recording::rows() const noexcept {
  std::size_t sum = 0;
  for (const Writer& writer : writers) {
    std::size_t most = 0;
    for (const SampleSet& set : writer.sets) most = std::max(most, set.times.size() + set.merged_rows);
    sum += most;
  }
  return sum;
}

std::size_t Recording::step() const noexcept {
  std::size_t most = 1;
  for (const Writer& writer : writers)
    for (const SampleSet& set : writer.sets) most = std::max(most, set.step);
  return most;
}

}  // namespace substrata::recording
