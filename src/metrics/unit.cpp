// Words of units with prefixes of ten.
#include "metrics/unit.hpp"
#include "base/parse.hpp"

#include <algorithm>
#include <cmath>

namespace substrata::metrics {
namespace {

enum Base : size_t { kBytes, kSeconds, kJoules, kDegrees, kVolts, kAmperes };
constexpr const char* kBaseNames[Unit::kBases] = {"bytes", "s", "J", "degC", "V", "A"};

struct Word {
  std::string_view name;
  std::array<int8_t, Unit::kBases> powers;
  double factor;
};
constexpr Word kWords[] = {
    {"1", {}, 1},
    {"%", {}, 0.01},
    {"flop", {}, 1},
    {"FLOP", {}, 1},
    {"bytes", {1, 0, 0, 0, 0, 0}, 1},
    {"byte", {1, 0, 0, 0, 0, 0}, 1},
    {"B", {1, 0, 0, 0, 0, 0}, 1},
    {"s", {0, 1, 0, 0, 0, 0}, 1},
    {"Hz", {0, -1, 0, 0, 0, 0}, 1},
    {"J", {0, 0, 1, 0, 0, 0}, 1},
    {"Joules", {0, 0, 1, 0, 0, 0}, 1},
    {"W", {0, -1, 1, 0, 0, 0}, 1},
    {"degC", {0, 0, 0, 1, 0, 0}, 1},
    {"V", {0, 0, 0, 0, 1, 0}, 1},
    {"A", {0, 0, 0, 0, 0, 1}, 1},
};
struct Prefix {
  std::string_view name;
  double factor;
};
constexpr Prefix kPrefixes[] = {{"n", 1e-9},       {"u", 1e-6},         {"m", 1e-3}, {"k", 1e3},
                                {"M", 1e6},        {"G", 1e9},          {"T", 1e12}, {"Ki", 1024.0},
                                {"Mi", 1048576.0}, {"Gi", 1073741824.0}};

const Word* find_word(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& word) { return word.name == name; });
  return found == std::end(kWords) ? nullptr : found;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Result<Unit> unit_of_word(std::string_view name) {
  double number = 0;
  if (parse_number(name, &number) && number > 0) return Unit{{}, number};
  if (const Word* word = find_word(name)) return Unit{word->powers, word->factor};
  for (const Prefix& prefix : kPrefixes) {
    if (!name.starts_with(prefix.name)) continue;
    const Word* const word = find_word(name.substr(prefix.name.size()));
    if (word != nullptr && word->name != "1") return Unit{word->powers, prefix.factor * word->factor};
  }
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_letter))
    return refuse(Code::kInvalid, "'%.*s' is not a unit", static_cast<int>(std::min<size_t>(name.size(), 60)),
                  name.data());
  return Unit{};
}

}  // namespace

Result<Unit> parse_unit(std::string_view text) {
  Unit out;
  bool divided = false;
  while (!text.empty()) {
    const size_t end = text.find_first_of("*/ ");
    const Result<Unit> word = unit_of_word(text.substr(0, end));
    if (!word) return word.error();
    out.factor = divided ? out.factor / word->factor : out.factor * word->factor;
    if (!(out.factor > 1e-30) || !(out.factor < 1e30)) return refuse(Code::kInvalid, "a unit of that size");
    for (size_t i = 0; i < Unit::kBases; ++i) {
      const int power = out.powers[i] + (divided ? -word->powers[i] : word->powers[i]);
      if (power < -9 || power > 9) return refuse(Code::kInvalid, "a power of more than 9 in a unit");
      out.powers[i] = static_cast<int8_t>(power);
    }
    if (end == std::string_view::npos) return out;
    divided = text[end] == '/';
    text.remove_prefix(end + 1);
    if (text.empty()) return refuse(Code::kInvalid, "a unit ends in an operator");
  }
  return out;
}

std::string dimension_text(const Unit& unit) {
  std::string over, under;
  for (size_t i = 0; i < Unit::kBases; ++i) {
    const auto power = unit.powers[i];
    std::string& text = power > 0 ? over : under;
    for (int n = 0; n < (power > 0 ? power : -power); ++n)
      text += (text.empty() ? "" : "*") + std::string(kBaseNames[i]);
  }
  std::replace(under.begin(), under.end(), '*', '/');
  return (over.empty() ? "1" : over) + (under.empty() ? "" : "/" + under);
}

}  // namespace substrata::metrics
