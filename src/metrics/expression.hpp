// Formulas of other tools, made of the same with our names of terms.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace substrata::metrics {

// What a name of the other tool stands for.
struct Operand {
  std::string ours;              // text for Formula::make_named; empty: it has no counterpart
  std::optional<double> number;  // it is this constant
  std::string why;               // it has none
};
using FindOperand = std::function<Operand(std::string_view name)>;

struct Translated {
  std::string ours;  // empty: it is not understood
  std::string why;
  size_t at = 0;  // where, in the text
};

// Numbers, names, + - * /, parentheses, min(a, b), max(a, b), d_ratio(a, b), and `a if c else b`, where c compares
// numbers that are known when the file is read. Names are those of perf: a backslash takes the meaning of a sign away,
// and between two @ every sign belongs to the name.
Translated translate_expression(std::string_view text, const FindOperand& find);

}  // namespace substrata::metrics
