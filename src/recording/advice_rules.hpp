// The rules' thresholds and texts, from advice.rules, which is compiled in.
#pragma once

#include <map>
#include <string>

#include "recording/finding.hpp"

namespace substrata::recording {

extern const char* const kAdviceRules;  // the file

class AdviceRule {
 public:
  // Throws std::out_of_range where the file has no such rule.
  explicit AdviceRule(const std::string& name);

  const std::string& name() const noexcept { return name_; }
  // A threshold. Throws std::runtime_error where it is no number, std::out_of_range where it lacks.
  double number(const std::string& name) const;
  std::string text(const std::string& name) const;  // empty where it lacks

 private:
  using Values = std::map<std::string, std::string>;
  static std::map<std::string, Values> read();
  const std::string name_;
  const Values& values_;
};

Finding finding_of(const AdviceRule& rule, const std::string& text, const std::string& evidence);

}  // namespace substrata::recording
