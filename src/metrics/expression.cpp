// Descends through the formula, and writes it down with our names.
#include "metrics/expression.hpp"

#include <cmath>
#include <system_error>

#include "base/json.hpp"
#include "base/parse.hpp"

namespace substrata::metrics {
namespace {

constexpr int kMostNesting = 32;
constexpr size_t kMostText = 16384;  // of what comes out

bool begins_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '#';
}
bool is_in_a_name(char c) { return begins_a_name(c) || (c >= '0' && c <= '9') || c == '.' || c == ':'; }

// What was read: the text, and its value where that is known now.
struct Part {
  std::string ours;
  std::optional<double> number;
};

class Reader {
 public:
  Reader(std::string_view text, const FindOperand& find) : text_(text), find_(find) {}

  Translated all() {
    Part part = conditional(0);
    skip_blanks();
    if (why_.empty() && at_ != text_.size()) fail("something is left over");
    if (!why_.empty()) return {"", why_, fault_};
    return {std::move(part.ours), "", 0};
  }

 private:
  void fail(const std::string& why) {
    if (!why_.empty()) return;
    why_ = why;
    fault_ = at_;
  }
  bool failed() const { return !why_.empty(); }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(char sign) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != sign) return false;
    ++at_;
    return true;
  }
  // A word that is not the beginning of a longer one.
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && is_in_a_name(text_[end])) return false;
    at_ = end;
    return true;
  }
  static Part constant(double number) {
    const std::string text = number_text(std::fabs(number), 17);
    return {number < 0 ? "(0 - " + text + ")" : text, number};
  }

  Part conditional(int depth) {
    if (depth > kMostNesting) fail("too many parentheses");
    if (failed()) return {};
    Part first = sum(depth);
    if (failed() || !take_word("if")) return first;
    const std::optional<bool> holds = condition(depth);
    if (!failed() && !take_word("else")) fail("'else' is missing");
    Part second = conditional(depth + 1);
    if (failed()) return {};
    if (!holds) {
      fail("a condition on what is measured is not computed");
      return {};
    }
    return *holds ? first : second;
  }

  std::optional<bool> condition(int depth) {
    const Part left = sum(depth);
    skip_blanks();
    const char sign = at_ < text_.size() ? text_[at_] : ' ';
    if (sign != '<' && sign != '>' && sign != '=')
      return left.number ? std::optional(*left.number != 0) : std::nullopt;
    ++at_;
    const bool equal = take('=') || sign == '=';
    const Part right = sum(depth);
    if (!left.number || !right.number) return std::nullopt;
    if (equal && *left.number == *right.number) return true;
    return (sign == '<' && *left.number < *right.number) || (sign == '>' && *left.number > *right.number);
  }

  template <typename Next>
  Part chain(const char* operators, const Next& next) {
    Part left = next();
    for (skip_blanks(); !failed() && at_ < text_.size(); skip_blanks()) {
      const char op = text_[at_];
      if (op != operators[0] && op != operators[1]) break;
      ++at_;
      const Part right = next();
      std::optional<double> number;
      if (left.number && right.number)
        number = op == '+'   ? *left.number + *right.number
                 : op == '-' ? *left.number - *right.number
                 : op == '*' ? *left.number * *right.number
                             : *left.number / *right.number;
      left = {left.ours + " " + op + " " + right.ours, number};
      if (left.ours.size() > kMostText) fail("too long a formula");
    }
    return left;
  }
  Part sum(int depth) {
    return chain("+-", [&] { return chain("*/", [&] { return factor(depth); }); });
  }

  Part factor(int depth) {
    if (depth > kMostNesting) fail("too many parentheses");
    if (failed()) return {};
    skip_blanks();
    if (take('-')) {
      const Part part = factor(depth + 1);
      return {"(0 - " + part.ours + ")", part.number ? std::optional(-*part.number) : std::nullopt};
    }
    if (take('(')) {
      Part part = conditional(depth + 1);
      if (!failed() && !take(')')) fail("a ')' is missing");
      part.ours = "(" + part.ours + ")";
      return part;
    }
    if (at_ < text_.size() && begins_a_name(text_[at_])) return name(depth);
    double number = 0;
    const size_t length = leading_number(std::string_view(text_).substr(at_), &number);
    if (length == 0) {
      fail("a number or name is missing");
      return {};
    }
    at_ += length;
    return constant(number);
  }

  Part name(int depth) {
    const size_t begin = at_;
    std::string word;
    bool whole = false;  // between two @
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        word += text_[++at_];
        continue;
      }
      if (c == '@') whole = !whole;
      if (!whole && c != '@' && !is_in_a_name(c)) break;
      word += c;
    }
    if (take('(')) return function(word, begin, depth);
    const Operand found = find_(word);
    if (found.number) return constant(*found.number);
    if (!found.ours.empty()) return {found.ours, std::nullopt};
    at_ = begin;
    fail(found.why);
    return {};
  }

  Part function(const std::string& word, size_t begin, int depth) {
    const bool divides = word == "d_ratio";
    if (!divides && word != "min" && word != "max") {
      at_ = begin;
      fail("the function " + word.substr(0, 60) + " is not known");
      return {};
    }
    const Part first = conditional(depth + 1);
    if (!failed() && !take(',')) fail("a ',' is missing");
    const Part second = conditional(depth + 1);
    if (!failed() && !take(')')) fail("a ')' is missing");
    if (failed()) return {};
    const std::string ours = divides ? "((" + first.ours + ") / (" + second.ours + "))"
                                     : word + "(" + first.ours + ", " + second.ours + ")";
    if (ours.size() > kMostText) fail("too long a formula");
    return {ours, std::nullopt};
  }

  std::string_view text_;
  const FindOperand& find_;
  size_t at_ = 0;
  std::string why_;
  size_t fault_ = 0;
};

}  // namespace

Translated translate_expression(std::string_view text, const FindOperand& find) {
  return Reader(text, find).all();
}

}  // namespace substrata::metrics
