// The program behind `substrata reproduce`: the list of reproductions, and one run with its claims as text or
// JSON.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "papers/claims.hpp"
#include "papers/report.hpp"
#include "papers/reproduction.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::papers {
using namespace tool;
namespace {

// Adds the report to the file of its reproduction in the folder.
void record(const nlohmann::ordered_json& report, const std::string& folder) {
  const std::string path = folder + "/" + report["id"].get<std::string>() + ".json";
  nlohmann::ordered_json kept = nlohmann::ordered_json::object();
  if (std::ifstream before(path); before) kept = nlohmann::ordered_json::parse(before);
  const std::string sizes = report["sizes"];
  kept[sizes] = report;
  std::ofstream file(path);
  file << kept.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void list_all(const std::vector<Reproduction>& all, bool json) {
  nlohmann::ordered_json listed = nlohmann::ordered_json::array();
  for (const Reproduction& one : all) {
    if (!json) std::printf("%-24s %s\n", one.id, one.title);
    listed.push_back({{"id", one.id}, {"title", one.title}});
  }
  if (json) std::printf("%s\n", listed.dump(1).c_str());
}

// Exit statuses: 0 every claim has the verdict that was recorded, 1 one has another or none, 2 wrong command line, 3 it
// cannot be run here.
int reproduce(int argc, char** argv) {
  std::string id, recording, figures;
  Setting setting;
  bool list = false, json = false, full = false;
  Arguments arguments("substrata reproduce",
                      "Reproduces a figure or claim of a paper. Verdicts: holds, differs, undecided (it "
                      "depends on a parameter that "
                      "has no source, on the size, or on what cannot be resolved). Each claim is tried at "
                      "three sizes with five "
                      "seeds, and without the cause that the paper names, where it must not hold. Exit "
                      "status 0: every claim has "
                      "the verdict that was recorded; 1: one has not; 3: it cannot be run here.\n\n"
                      "  substrata reproduce --list\n"
                      "  substrata reproduce papi-dispatch --json");
  arguments.word("ID", id, "reproduction to run", Arguments::Value::kReproduction);
  arguments.flag("--list", list, "list the reproductions");
  arguments.flag("--full", full, "at the paper's sizes, which takes minutes");
  arguments.flag("--json", json, "print JSON");
  arguments.word("--out", setting.out, "folder for data and figures", Arguments::Value::kFolder);
  arguments.word("--figures", figures, "folder for the figures alone: nothing is judged",
                 Arguments::Value::kFolder);
  arguments.word("--record", recording, "folder that gets the whole report", Arguments::Value::kFolder);
  if (const auto status = arguments.parse(argc, argv)) return *status;

  const std::vector<Reproduction> all = reproductions();
  if (list) {
    list_all(all, json);
    return 0;
  }
  const auto chosen =
      std::find_if(all.begin(), all.end(), [&](const Reproduction& one) { return id == one.id; });
  if (chosen == all.end()) {
    std::fprintf(stderr, "substrata reproduce: there is no '%s'; --list shows what there is\n", id.c_str());
    return 2;
  }
  if (!figures.empty()) {
    setting.out = figures;
    setting.paper_size = full;
  }
  if (!setting.out.empty()) std::filesystem::create_directories(setting.out);
  nlohmann::ordered_json report;
  try {
    const ProgressLine line;
    show_progress(std::string(chosen->id) + ": " + chosen->title);
    if (!figures.empty()) {
      if (chosen->figures == nullptr) throw std::runtime_error("it has no figure");
      chosen->figures(setting);
      return 0;
    }
    report = report_of(*chosen, full, setting);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "substrata reproduce %s: cannot be run here: %s\n", chosen->id, error.what());
    return 3;
  }
  if (!recording.empty()) record(report, recording);
  const bool same = compare_with_recorded(report, stated_claims(chosen->id));
  if (json)
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  else
    std::fputs(text_of(report).c_str(), stdout);
  return same ? 0 : 1;
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
