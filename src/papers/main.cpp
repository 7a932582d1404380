// The program behind `substrata reproduce`: the list of reproductions, and one run with its claims as text or
// JSON.
#include "papers/reproduction.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "arguments/arguments.hpp"
#include "terminal/progress.hpp"

namespace substrata::papers {
using namespace tool;
namespace {

// Exit statuses: 0 every claim holds, 1 one does not, 2 wrong command line, 3 it cannot be run here.
int reproduce(int argc, char** argv) {
  std::string id;
  Setting setting;
  bool list = false, json = false;
  Arguments arguments(
      "substrata reproduce",
      "Reproduces a figure or claim of a paper. CALIBRATED: it holds because the model was fitted to it; "
      "UNRESOLVED: a cost that must be small is below what can be measured here. Exit status 0: every claim "
      "holds, those included; 1: one does not; 3: it cannot be run here.\n\n"
      "  substrata reproduce --list\n"
      "  substrata reproduce papi-dispatch --json");
  arguments.word("ID", id, "reproduction to run", Arguments::Value::kReproduction);
  arguments.flag("--list", list, "list the reproductions");
  arguments.flag("--json", json, "print JSON");
  arguments.word("--out", setting.out, "folder for data and figures", Arguments::Value::kFolder);
  if (const auto status = arguments.parse(argc, argv)) return *status;

  const std::vector<Reproduction> all = reproductions();
  if (list) {
    for (const Reproduction& one : all) std::printf("%-24s %s\n", one.id, one.title);
    return 0;
  }
  const auto chosen =
      std::find_if(all.begin(), all.end(), [&](const Reproduction& one) { return id == one.id; });
  if (chosen == all.end()) {
    std::fprintf(stderr, "substrata reproduce: there is no '%s'; --list shows what there is\n", id.c_str());
    return 2;
  }
  if (!setting.out.empty()) std::filesystem::create_directories(setting.out);
  std::vector<Claim> claims;
  try {
    const ProgressLine line;
    show_progress(std::string(chosen->id) + ": " + chosen->title);
    claims = chosen->run(setting);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "substrata reproduce %s: cannot be run here: %s\n", chosen->id, error.what());
    return 3;
  }
  const bool all_hold =
      !claims.empty() && std::all_of(claims.begin(), claims.end(), [](const Claim& c) { return c.holds; });
  if (json) {
    nlohmann::json report = {
        {"id", chosen->id}, {"title", chosen->title}, {"claims", nlohmann::json::array()}};
    for (const Claim& claim : claims) {
      nlohmann::json entry = {{"claim", claim.claim},
                              {"paper", claim.paper},
                              {"ours", claim.ours},
                              {"holds", claim.holds},
                              {"verdict", verdict(claim)}};
      if (!claim.note.empty()) entry["note"] = claim.note;
      report["claims"].push_back(std::move(entry));
    }
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s: %s\n", chosen->id, chosen->title);
    for (const Claim& claim : claims) {
      std::printf("\n%s: %s\n  paper: %s\n  ours:  %s\n", verdict(claim), claim.claim.c_str(),
                  claim.paper.c_str(), claim.ours.c_str());
      if (!claim.note.empty()) std::printf("  %s\n", claim.note.c_str());
    }
  }
  return all_hold ? 0 : 1;
}

}  // namespace
}  // namespace substrata::papers

int main(int argc, char** argv) {
  try {
    return substrata::papers::reproduce(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "substrata reproduce: %s\n", error.what());
    return 1;
  }
}
