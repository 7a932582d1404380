// Holds a text against OpenMetrics 1.0.0: its ABNF, and the rules beyond it for counters, gauges and info.
#pragma once

#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace substrata::tests {

// Reads a text from left to right.
class OpenMetricsChecker {
 public:
  explicit OpenMetricsChecker(const std::string& text) : text_(text) {}

  std::vector<std::string> faults() {
    while (!ended_ && at_ < text_.size()) {
      const std::size_t end = text_.find('\n', at_);
      if (end == std::string::npos) {
        fault("the last line has no end");
        return faults_;
      }
      line_ = text_.substr(at_, end - at_);
      at_ = end + 1;
      if (line_ == "# EOF")
        ended_ = true;
      else if (!line_.empty() && line_[0] == '#')
        metadata();
      else
        sample();
    }
    if (!ended_) fault("there is no # EOF");
    if (at_ != text_.size()) fault("something follows # EOF");
    return faults_;
  }

 private:
  void fault(const std::string& what) { faults_.push_back(what + ": " + line_); }

  static bool name_char(char c, bool first, bool colon) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':') ||
           (!first && c >= '0' && c <= '9');
  }
  // The name at `*at`, which is passed; empty when there is none.
  std::string name(std::size_t* at, bool colon) const {
    const std::size_t begin = *at;
    while (*at < line_.size() && name_char(line_[*at], *at == begin, colon)) ++*at;
    return line_.substr(begin, *at - begin);
  }
  bool literal(std::size_t* at, const std::string& what) const {
    if (line_.compare(*at, what.size(), what) != 0) return false;
    *at += what.size();
    return true;
  }
  // UTF-8 without line ends; with escapes only \n, \" and \\.
  static bool is_text(const std::string& text, bool quotes_escaped) {
    for (std::size_t i = 0; i < text.size();) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c == '\\') {
        if (i + 1 == text.size() || (text[i + 1] != 'n' && text[i + 1] != '"' && text[i + 1] != '\\'))
          return false;
        i += 2;
        continue;
      }
      if (c == '"' && quotes_escaped) return false;
      const std::size_t more = c < 0x80 ? 0 : (c & 0xE0) == 0xC0 ? 1 : (c & 0xF0) == 0xE0 ? 2 : 3;
      if ((c >= 0x80 && c < 0xC2) || c > 0xF4 || i + more >= text.size()) return false;
      for (std::size_t k = 1; k <= more; ++k)
        if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
      i += more + 1;
    }
    return true;
  }
  // realnumber, or NaN and infinities.
  static bool is_number(const std::string& text, double* out) {
    if (text == "NaN" || text == "+Inf" || text == "-Inf") {
      *out = text == "NaN" ? __builtin_nan("") : text == "+Inf" ? __builtin_inf() : -__builtin_inf();
      return true;
    }
    std::size_t i = 0, digits = 0;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) ++digits;
    if (i < text.size() && text[i] == '.')
      for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) ++digits;
    if (digits == 0) return false;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
      ++i;
      if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
      std::size_t exponent = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) ++exponent;
      if (exponent == 0) return false;
    }
    *out = std::strtod(text.c_str(), nullptr);
    return i == text.size();
  }

  void metadata() {
    std::size_t at = 2;
    const bool is_type = line_.starts_with("# TYPE "), is_unit = line_.starts_with("# UNIT "),
               is_help = line_.starts_with("# HELP ");
    if (!is_type && !is_unit && !is_help) return fault("neither TYPE, UNIT nor HELP");
    at = 7;
    const std::string family = name(&at, true);
    if (family.empty() || !literal(&at, " ")) return fault("no family name");
    const std::string rest = line_.substr(at);
    if (family != family_) {
      if (!families_.insert(family).second) return fault("the family was there before");
      family_ = family;
      type_ = "unknown";
      has_sample_ = false;
      reported_.clear();
      seen_.clear();
    }
    if (has_sample_) return fault("metadata after samples");
    if (!reported_.insert(line_.substr(2, 4)).second) return fault("reported twice");
    if (is_help && !is_text(rest, true)) fault("no escaped text");
    if (is_unit && !family.ends_with("_" + rest)) fault("the unit does not end the name");
    if (!is_type) return;
    static const std::set<std::string> kTypes = {"counter", "gauge", "info", "unknown"};
    if (kTypes.count(rest) == 0) return fault("a type that is not used here");
    type_ = rest;
  }

  void sample() {
    std::size_t at = 0;
    const std::string called = name(&at, true);
    const std::string suffix = type_ == "counter" ? "_total" : type_ == "info" ? "_info" : "";
    if (family_.empty() || called != family_ + suffix) return fault("the name is not that of the family");
    has_sample_ = true;
    std::string labels;
    if (literal(&at, "{")) {
      std::set<std::string> names;
      for (bool more = !literal(&at, "}"); more;) {
        const std::string label = name(&at, false);
        if (label.empty() || !names.insert(label).second) return fault("no label, or twice");
        if (!literal(&at, "=\"")) return fault("no value of a label");
        const std::size_t begin = at;
        while (at < line_.size() && line_[at] != '"') at += line_[at] == '\\' ? 2 : 1;
        if (at >= line_.size()) return fault("a label is not closed");
        const std::string value = line_.substr(begin, at - begin);
        if (!is_text(value, true)) return fault("a label is no escaped UTF-8");
        labels += label + "=" + value + "\n";
        ++at;
        more = literal(&at, ",");
        if (!more && !literal(&at, "}")) return fault("the labels are not closed");
      }
    }
    if (!literal(&at, " ")) return fault("no space before the value");
    const std::size_t space = std::min(line_.find(' ', at), line_.size());
    double value = 0;
    if (!is_number(line_.substr(at, space - at), &value)) return fault("no number");
    if (type_ == "counter" && !(value >= 0)) return fault("a counter is never negative and always a number");
    if (type_ == "info" && value != 1) return fault("an info is 1");
    const bool stamped = space < line_.size();
    double stamp = 0;
    if (stamped && !is_number(line_.substr(space + 1), &stamp)) return fault("no time stamp");
    const auto [before, fresh] = seen_.emplace(labels, stamp);
    if (fresh) return;
    if (!stamped || stamp <= before->second) return fault("a metric twice, or its time stamps do not rise");
    before->second = stamp;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string line_;
  bool ended_ = false;
  std::set<std::string> families_;
  std::string family_, type_;
  bool has_sample_ = false;
  std::set<std::string> reported_;
  std::map<std::string, double> seen_;
  std::vector<std::string> faults_;
};

// What is wrong with a text; empty when nothing is.
inline std::vector<std::string> faults_of_openmetrics(const std::string& text) {
  return OpenMetricsChecker(text).faults();
}

}  // namespace substrata::tests
