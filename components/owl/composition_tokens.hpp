// The words of a composition's text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "base/parse.hpp"
#include "owl/composition_parts.hpp"

namespace substrata::owl {

// "; did you mean 'size'?", or nothing where no candidate is near.
template <typename Names>
std::string suggestion(std::string_view word, const Names& candidates) {
  const std::string_view best = nearest(word, candidates);
  return best.empty() ? std::string() : "; did you mean '" + std::string(best) + "'?";
}

// Takes the text apart; every function passes over blanks and comments first. Throws SyntaxError.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

 protected:
  // Where the next token begins; blanks and comments (from # to the end of the line) are passed over.
  size_t here() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
    return at_;
  }
  char peek() {
    here();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view wanted) {
    here();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  std::string shown() {
    here();
    if (at_ >= text_.size()) return "the end of the text";
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c < 32 || c > 126) return "a byte of value " + std::to_string(c);
    return std::string("'") + text_[at_] + "'";
  }
  void punctuation(char wanted) {
    if (peek() != wanted)
      throw SyntaxError{here(), std::string("'") + wanted + "' is missing before " + shown()};
    ++at_;
  }
  static bool begins_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool in_name(char c) noexcept { return begins_name(c) || (c >= '0' && c <= '9'); }
  std::string_view bare_word() {
    here();
    const size_t begin = at_;
    while (at_ < text_.size() && (at_ == begin ? begins_name(text_[at_]) : in_name(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void word(std::string_view wanted) {
    const size_t begin = here();
    if (bare_word() != wanted) {
      at_ = begin;
      throw SyntaxError{begin, "'" + std::string(wanted) + "' is missing before " + shown()};
    }
  }
  // [a-z][a-z0-9_]*, with '-' as well where it names a module.
  std::string identifier(const std::string& what, bool dashes) {
    const size_t begin = here();
    size_t end = begin;
    while (end < text_.size() && (end == begin ? begins_name(text_[end])
                                               : in_name(text_[end]) || (dashes && text_[end] == '-' &&
                                                                         text_.substr(end, 2) != "->"))) {
      ++end;
    }
    const std::string name(text_.substr(begin, end - begin));
    if (name.empty()) throw SyntaxError{begin, what + " is missing before " + shown()};
    for (const char c : name) {
      if ((c >= 'A' && c <= 'Z') || name[0] == '_') {
        throw SyntaxError{begin,
                          "'" + name + "': " + what + " is written in small letters and begins with one"};
      }
    }
    at_ = end;
    return name;
  }
  std::string string() {
    const size_t begin = here();
    punctuation('"');
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') value += text_[at_++];
    if (at_ >= text_.size() || text_[at_] != '"') throw SyntaxError{begin, "this text has no closing '\"'"};
    ++at_;
    return value;
  }
  uint64_t number() {
    const size_t begin = here();
    size_t end = begin;
    while (end < text_.size() && in_name(text_[end] == '.' ? '?' : text_[end])) ++end;
    uint64_t value = 0;
    if (end == begin || text_[begin] < '0' || text_[begin] > '9')
      throw SyntaxError{begin, "a number is missing before " + shown()};
    const std::string_view written = text_.substr(begin, end - begin);
    if (!parse_size(written, &value))
      throw SyntaxError{begin, "'" + std::string(written.substr(0, 40)) + "' is not a number of 64 bits"};
    at_ = end;
    return value;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace substrata::owl
