// The command line of the examples: `--name value` pairs with a default each.
#include "arguments.hpp"

#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace measured {

Arguments::Arguments(int argc, const char* const* argv, std::map<std::string, std::string> known)
    : values_(std::move(known)) {
  for (int i = 1; i < argc; i += 2) {
    const std::string argument = argv[i];
    const std::string name = argument.size() > 2 && argument.starts_with("--") ? argument.substr(2) : "";
    if (!values_.contains(name)) {
      std::string names;
      for (const auto& [allowed, value] : values_) names += " --" + allowed + " (" + value + ")";
      throw std::invalid_argument("unknown argument '" + argument + "'; known, with default:" + names);
    }
    if (i + 1 == argc) throw std::invalid_argument("'" + argument + "' needs a value after it");
    values_[name] = argv[i + 1];
  }
}

const std::string& Arguments::text(const std::string& name) const { return values_.at(name); }

int Arguments::number(const std::string& name, int low, int high) const {
  const std::string& value = text(name);
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < low || number > high) {
    throw std::invalid_argument("--" + name + " is '" + value + "', wanted a number from " +
                                std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

}  // namespace measured
