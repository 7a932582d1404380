// Reads the file of the rules.
#include "recording/advice_rules.hpp"

#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/parse.hpp"

namespace substrata::recording {

std::map<std::string, AdviceRule::Values> AdviceRule::read() {
  std::map<std::string, Values> out;
  Values* rule = nullptr;
  for (const std::string& raw : split_list(kAdviceRules, "\n")) {
    const std::string line(trimmed(raw));
    if (line.empty() || line[0] == '#') continue;
    if (line.front() == '[' && line.back() == ']') {
      rule = &out[line.substr(1, line.size() - 2)];
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || rule == nullptr)
      throw std::runtime_error("advice.rules: '" + line + "'");
    (*rule)[std::string(trimmed(line.substr(0, equals)))] = std::string(trimmed(line.substr(equals + 1)));
  }
  return out;
}

AdviceRule::AdviceRule(const std::string& name)
    : name_(name), values_([&]() -> const Values& {
        static const std::map<std::string, Values> all = read();
        return all.at(name);
      }()) {}

double AdviceRule::number(const std::string& name) const {
  const std::string& text = values_.at(name);
  double out = 0;
  if (leading_number(text, &out) == 0) throw std::runtime_error("advice.rules: " + name_ + " " + name);
  return out;
}

std::string AdviceRule::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found != values_.end() ? found->second : std::string();
}

Finding finding_of(const AdviceRule& rule, const std::string& text, const std::string& evidence) {
  return {rule.name(), text, evidence, rule.text("do"), rule.text("limits")};
}

}  // namespace substrata::recording
