// Reads the claims of a reproduction.
#include "papers/claims.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace substrata::papers {
namespace {

using Json = nlohmann::ordered_json;

void admit(const Json& object, std::initializer_list<std::string_view> members) {
  for (const auto& [name, value] : object.items())
    if (std::find(members.begin(), members.end(), name) == members.end())
      throw std::invalid_argument("unknown member '" + name + "'");
}

// A recorded verdict is a word, or two where the state of the machine decides: "holds|undecided". All three would say
// nothing.
void check_verdict(const std::string& verdict) {
  const auto known = [](std::string_view word) {
    return word == name_of(Verdict::kHolds) || word == name_of(Verdict::kDiffers) ||
           word == name_of(Verdict::kUndecided);
  };
  const std::size_t bar = verdict.find('|');
  if (!known(std::string_view(verdict).substr(0, bar)) ||
      (bar != std::string::npos && !known(std::string_view(verdict).substr(bar + 1))))
    throw std::invalid_argument("a verdict is 'holds', 'differs' or 'undecided', or two of them, not '" +
                                verdict + "'");
}

Interval interval_of(const std::string& name) {
  if (name == "mean") return Interval::kMean;
  if (name == "range") return Interval::kRange;
  throw std::invalid_argument("an interval is 'mean' or 'range', not '" + name + "'");
}

Claim claim_from(const Json& json) {
  admit(json, {"id", "section", "claim", "paper", "compared", "unit", "least", "most", "interval", "fitted",
               "unsourced", "mutant", "verdict", "verdict_full"});
  admit(json.at("mutant"), {"setting", "removes"});
  check_verdict(json.at("verdict"));
  if (json.contains("verdict_full") && !json["verdict_full"].is_null()) check_verdict(json["verdict_full"]);
  constexpr double kAny = std::numeric_limits<double>::infinity();
  std::vector<Unsourced> unsourced;
  const Json parameters = json.value("unsourced", Json::object());
  for (const auto& [parameter, settings] : parameters.items())
    unsourced.push_back({parameter, settings.get<std::vector<std::string>>()});
  return {json.at("id"),
          {json.at("section"), json.at("claim"), json.at("paper")},
          {json.at("compared"), json.at("unit"), json.value("least", -kAny), json.value("most", kAny)},
          interval_of(json.at("interval")),
          json.at("fitted"),
          std::move(unsourced),
          {json.at("mutant").at("setting"), json.at("mutant").at("removes")}};
}

std::vector<Size> sizes_from(const Json& json) {
  std::vector<Size> sizes;
  for (const Json& one : json) sizes.push_back({one.at(0), one.at(1), one.at(2)});
  return sizes;
}

}  // namespace

Study study_from(const std::string& text, Readings (*measure)(const Case&)) {
  try {
    const Json json = Json::parse(text);
    admit(json, {"claims", "reduced", "full"});
    Study study{{}, sizes_from(json.at("reduced")), sizes_from(json.at("full")), measure};
    for (const Json& claim : json.at("claims")) study.claims.push_back(claim_from(claim));
    return study;
  } catch (const Json::exception& error) {
    throw std::invalid_argument(error.what());
  }
}

}  // namespace substrata::papers
