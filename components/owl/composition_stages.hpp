// The sub-modules that the language has of its own beside filter, map and trigger: tables, states, actions, packets.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "owl/composition_expressions.hpp"

namespace substrata::owl {

// Reads what stands behind their names. Throws SyntaxError.
class StageParser : public ExpressionParser {
 protected:
  StageParser(std::string_view text, Composition& out) : ExpressionParser(text, out), out_of_(out) {}

  static bool is_aggregate(std::string_view name) noexcept;
  // The names of all of them.
  static std::vector<std::string_view> stage_names();
  // count, sum(size) by object, line every 10ms
  void table(Stage& made);
  // False: the name is none of an action.
  bool action(Stage& made, const std::string& kind);
  // What the packets of the sub-module before this one hold.
  std::vector<PacketField> fields_before(size_t at) const;
  uint32_t find_label(const std::string& name) const;

  std::vector<std::pair<std::string, uint32_t>> named_;
  uint32_t before_ = kNoRegister;  // the sub-module that feeds the one being read

 private:
  void keys(Stage& made);
  Period period();
  bool take_word(std::string_view wanted);
  void set(Stage& made);

  Composition& out_of_;
};

}  // namespace substrata::owl
