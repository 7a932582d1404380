// Parses specs and says what is wrong with bad ones.
#include "sources/workloads/spec.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace substrata::workloads {
namespace {

// What came from a user, shortened and without control characters, so that an error stays one readable line.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 60)) out += c >= 32 && c < 127 ? c : '?';
  return out + (text.size() > 60 ? "...'" : "'");
}

std::string_view nth_choice(std::string_view choices, std::uint64_t index) {
  while (index-- > 0) {
    const std::size_t bar = choices.find('|');
    if (bar == std::string_view::npos) return {};
    choices.remove_prefix(bar + 1);
  }
  return choices.substr(0, choices.find('|'));
}

std::string known(std::span<const Parameter> parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.name;
  }
  return text.empty() ? "it takes none" : "known: " + text;
}

// Decimal only.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  if (text.find_first_not_of("0123456789kmg") != std::string_view::npos || !parse_size(text, &value))
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse(const Parameter& parameter, std::string_view text, std::string& error) {
  const std::string what = std::string(parameter.name) + "=" + quoted(text);
  if (!parameter.choices.empty()) {
    for (std::uint64_t i = 0;; ++i) {
      const std::string_view word = nth_choice(parameter.choices, i);
      if (word.empty()) break;
      if (word == text) return i;
    }
    error = what + " is not one of " + std::string(parameter.choices);
    return std::nullopt;
  }
  const std::optional<std::uint64_t> value = number(text);
  if (!value) {
    error = what + " is not a whole number (decimal, with k, m or g for 2^10, 2^20, 2^30)";
    return std::nullopt;
  }
  if (*value < parameter.least || *value > parameter.most) {
    error = what + " is out of range, " + std::to_string(parameter.least) + " to " +
            std::to_string(parameter.most) + " are allowed";
    return std::nullopt;
  }
  if (parameter.power_of_two && (*value & (*value - 1)) != 0) {
    error = what + " is not a power of two";
    return std::nullopt;
  }
  return value;
}

}  // namespace

Values::Values(std::span<const Parameter> parameters) : parameters_(parameters) {
  for (const Parameter& parameter : parameters) values_.push_back(parameter.fallback);
}

std::uint64_t Values::operator[](std::string_view name) const noexcept {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].name == name) return values_[i];
  }
  return 0;
}

bool Values::set(std::string_view text, std::string& error) {
  std::vector<std::uint64_t> values = values_;
  std::vector<bool> given(parameters_.size(), false);
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(":,");
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      error = quoted(item) + " is not name=value; " + known(parameters_);
      return false;
    }
    const std::string_view name = item.substr(0, equals);
    const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                    [name](const Parameter& parameter) { return parameter.name == name; });
    if (found == parameters_.end()) {
      error = "there is no parameter " + quoted(name) + "; " + known(parameters_);
      return false;
    }
    const auto index = static_cast<std::size_t>(found - parameters_.begin());
    if (given[index]) {
      error = std::string(found->name) + " is given twice";
      return false;
    }
    given[index] = true;
    const std::optional<std::uint64_t> value = parse(*found, item.substr(equals + 1), error);
    if (!value) return false;
    values[index] = *value;
  }
  values_ = std::move(values);
  return true;
}

std::string Values::text() const {
  std::string text;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (i != 0) text += ':';
    text += parameters_[i].name;
    text += '=';
    if (parameters_[i].choices.empty()) {
      text += std::to_string(values_[i]);
    } else {
      text += nth_choice(parameters_[i].choices, values_[i]);
    }
  }
  return text;
}

Spec split_spec(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string describe(std::span<const Parameter> parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    if (!text.empty()) text += "; ";
    text += parameter.name;
    text += '=';
    if (parameter.choices.empty()) {
      text += std::to_string(parameter.fallback);
    } else {
      text += nth_choice(parameter.choices, parameter.fallback);
      text += " (";
      text += parameter.choices;
      text += ')';
    }
    text += ' ';
    text += parameter.text;
  }
  return text;
}

}  // namespace substrata::workloads
