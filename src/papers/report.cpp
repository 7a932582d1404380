// Trials and observations as one form of report.
#include "papers/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace substrata::papers {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Position position) {
  return position == Position::kInside ? "inside" : position == Position::kOutside ? "outside" : "astride";
}

Json json_of(const Part& part, const std::string& unit) {
  Json made = {
      {"at", part.name},        {"least", part.span.least},       {"mean", part.span.mean},
      {"most", part.span.most}, {"text", shown(part.span, unit)}, {"position", name_of(part.position)}};
  if (!part.shown.empty()) made["note"] = part.shown;
  return made;
}

Json json_of(const std::vector<Part>& parts, const std::string& unit) {
  Json made = Json::array();
  for (const Part& part : parts) made.push_back(json_of(part, unit));
  return made;
}

Json json_of(const Claim& claim, const Trial& trial) {
  const Criterion& criterion = claim.criterion();
  const Part& last = trial.sizes.back();
  Json unsourced = Json::array();
  for (const Unsourced& one : claim.unsourced()) unsourced.push_back(one.parameter);
  Json mutant = json_of(trial.mutant, criterion.unit);
  mutant["removes"] = claim.mutant().removes;
  mutant["holds"] = trial.mutant.position == Position::kInside;
  Json interval = {
      {"least", last.span.least},
      {"most", last.span.most},
      {"unit", criterion.unit},
      {"of", claim.interval() == Interval::kMean ? "95 % confidence interval of the mean" : "least to most"},
      {"seeds", kSeeds},
      {"at", last.name}};
  return {{"id", claim.id()},
          {"section", claim.statement().section},
          {"claim", claim.statement().text},
          {"paper", claim.statement().value},
          {"compared", criterion.compared},
          {"criterion", shown(criterion)},
          {"ours", shown(last.span, criterion.unit) + (last.shown.empty() ? "" : " (" + last.shown + ")")},
          {"verdict", name_of(trial.verdict)},
          {"holds", trial.verdict == Verdict::kHolds},
          {"why", trial.why},
          {"fitted", claim.fitted()},
          {"unsourced", unsourced},
          {"interval", interval},
          {"sizes", json_of(trial.sizes, criterion.unit)},
          {"swept", json_of(trial.swept, criterion.unit)},
          {"mutant", mutant}};
}

std::string line(const char* name, const std::string& text) {
  return text.empty() ? text : std::string("  ") + name + text + "\n";
}

std::string parts(const char* name, const Json& claim, const char* member) {
  std::string text;
  if (!claim.contains(member)) return text;
  for (const Json& part : claim[member]) {
    const std::string note = part.value("note", std::string());
    text += line(name, part["at"].get<std::string>() + ": " + part["text"].get<std::string>() + ", " +
                           part["position"].get<std::string>() + (note.empty() ? "" : "; " + note));
  }
  return text;
}

}  // namespace

Json report_of(const Reproduction& reproduction, bool full, const Setting& setting) {
  Json report = {{"id", reproduction.id},
                 {"title", reproduction.title},
                 {"sizes", full ? "full" : "reduced"},
                 {"claims", Json::array()}};
  const Study study = reproduction.study();
  const std::vector<Trial> trials = try_claims(study, full);
  for (std::size_t i = 0; i < trials.size(); ++i)
    report["claims"].push_back(json_of(study.claims[i], trials[i]));
  if (reproduction.figures != nullptr && !setting.out.empty()) reproduction.figures(setting);
  return report;
}

bool compare_with_recorded(Json& report, const std::string& claims) {
  const Json stated = Json::parse(claims);
  const bool full = report["sizes"] == "full";
  bool same = !report["claims"].empty();
  for (Json& claim : report["claims"]) {
    const std::string verdict = claim["verdict"];
    if (verdict == name_of(Verdict::kRefused)) same = false;
    Json recorded = "";
    for (const Json& one : stated["claims"]) {
      if (one["id"] != claim["id"]) continue;
      recorded = one[full && one.contains("verdict_full") ? "verdict_full" : "verdict"];
    }
    if (recorded.is_null()) {
      same = same && verdict != name_of(Verdict::kDiffers);
      continue;
    }
    claim["recorded"] = recorded;
    const std::string before = recorded;
    // What depends on the machine has more than one recorded verdict: "holds|undecided".
    if (("|" + before + "|").find("|" + verdict + "|") == std::string::npos) same = false;
  }
  return same;
}

std::string text_of(const Json& report) {
  std::string text = report["id"].get<std::string>() + ": " + report["title"].get<std::string>() + "\n";
  for (const Json& claim : report["claims"]) {
    std::string verdict = claim["verdict"];
    const bool fitted = !claim["fitted"].get<std::string>().starts_with("nothing");
    if (const std::string before = claim.value("recorded", verdict); before != verdict)
      verdict += " (recorded: " + (before.empty() ? "nothing" : before) + ")";
    if (fitted && claim["verdict"] == name_of(Verdict::kHolds)) verdict += ", calibrated and no prediction";
    text += "\n" + verdict + ": " + claim["claim"].get<std::string>() + "\n";
    text += line("paper: ",
                 claim["paper"].get<std::string>() +
                     (claim.contains("section") ? ", section " + claim["section"].get<std::string>() : ""));
    text += line("ours:  ", claim["ours"]);
    if (claim.contains("criterion"))
      text += line("holds: ",
                   claim["criterion"].get<std::string>() + "; " + claim["compared"].get<std::string>());
    text += line("why:   ", claim["why"]);
    if (fitted) text += line("fitted: ", claim["fitted"]);
    text += parts("size   ", claim, "sizes");
    text += parts("swept  ", claim, "swept");
    if (claim["mutant"].is_object())
      text += line("mutant ", claim["mutant"]["at"].get<std::string>() + ", without " +
                                  claim["mutant"]["removes"].get<std::string>() + ": " +
                                  claim["mutant"]["text"].get<std::string>() +
                                  (claim["mutant"]["holds"] ? ", holds" : ", does not hold"));
  }
  return text;
}

}  // namespace substrata::papers
