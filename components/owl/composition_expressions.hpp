// The expressions of a composition's text.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "owl/composition_tokens.hpp"

namespace substrata::owl {

// Reads expressions over fields, registers, states and, where there is one, a packet. Throws SyntaxError.
class ExpressionParser : public Tokens {
 protected:
  struct PacketField {
    std::string name;
    uint32_t offset;
    uint32_t bytes;
  };

  ExpressionParser(std::string_view text, Composition& out) : Tokens(text), composition_(out) {}

  Expression expression();
  // The same, and the text that it was written as.
  Expression expression(std::string* written);
  // NAME[keys], of which it takes the keys; the number of the state.
  uint32_t state_keys(std::string_view name, size_t at, std::vector<Expression>* keys);
  uint32_t find_register(std::string_view name) const;

  // What names mean beside the fields, while the expressions of `packets` are read.
  std::vector<PacketField> packet_;

 private:
  void binary(Expression& out, unsigned level);
  void unary(Expression& out);
  void name(Expression& out, size_t at);
  void compared_text(Expression& out, size_t at);

  Composition& composition_;
  unsigned nesting_ = 0;
};

}  // namespace substrata::owl
