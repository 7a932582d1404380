// The command line of the examples: `--name value` pairs with a default each.
#pragma once

#include <map>
#include <string>

namespace measured {

// Parsed arguments. `known` maps every allowed name (without the dashes) to its default.
class Arguments {
 public:
  // Throws std::invalid_argument with a message on an unknown name or a missing value.
  Arguments(int argc, const char* const* argv, std::map<std::string, std::string> known);

  const std::string& text(const std::string& name) const;

  // Throws std::invalid_argument unless the value is a whole number in [low, high].
  int number(const std::string& name, int low, int high) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace measured
