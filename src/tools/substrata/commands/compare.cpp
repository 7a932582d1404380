// substrata compare: recordings of a program before and after a change.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parse.hpp"
#include "recording/comparison.hpp"
#include "recording/reader.hpp"
#include "recording/timeline.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/output.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::tool {

int compare(int argc, char** argv) {
  std::vector<std::string> before, after;
  std::string page, out, least = "5";
  bool json = false, all = false;
  Arguments arguments(
      "substrata compare",
      "Compares recordings of a program before and after a change: findings that came and went; of the whole "
      "run and of each region what was counted, old, new, their ratio, and whether that is more than noise. "
      "With several recordings of each side the noise is that between the runs."
      "\n\n  substrata compare old.sub new.sub\n"
      "  substrata compare old.*.sub --with new.1.sub new.2.sub new.3.sub\n"
      "  substrata compare old.sub new.sub --html difference.html");
  arguments.words("FILE", before,
                  "recordings, each of one run: the old and the new one; with --with the old ones",
                  Arguments::Value::kFile);
  arguments.words("--with", after, "the new recordings", Arguments::Value::kFile);
  arguments.word("--least", least,
                 "a smaller difference is no change: per cent of the old value (default 5)");
  arguments.flag("--all", all, "also numbers of regions that did not change");
  arguments.flag("--json", json, "print JSON");
  arguments.word("--html", page, "write one self-contained HTML file instead of text",
                 Arguments::Value::kFile);
  arguments.word("-o,--output", out, "file to write instead of standard output", Arguments::Value::kFile);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (after.empty() && before.size() == 2) {
    after.push_back(before.back());
    before.pop_back();
  }
  if (before.empty() || after.empty()) {
    std::fprintf(stderr,
                 "substrata compare: name an old and a new recording, or several old ones and the new ones "
                 "with --with\n");
    return 2;
  }
  double percent = 0;
  if (!parse_number(least, &percent) || !(percent >= 0))
    throw std::runtime_error("--least '" + least + "' is not a number of per cent");

  const ProgressLine line;
  std::deque<recording::Recording> recordings;  // their timelines point into them
  std::deque<recording::Timeline> timelines;
  const auto runs_of = [&](const std::vector<std::string>& files) {
    std::vector<recording::ComparedRun> runs;
    for (const std::string& file : files) {
      show_progress("reading " + file);
      recordings.push_back(recording::read_file(file));
      if (recordings.back().writers.empty()) throw std::runtime_error("'" + file + "' holds no writer");
      timelines.push_back(recording::lay_out(recordings.back()));
      runs.push_back({file, &timelines.back()});
    }
    return runs;
  };
  const std::vector<recording::ComparedRun> old_runs = runs_of(before), new_runs = runs_of(after);
  const recording::Comparison comparison = recording::compare(old_runs, new_runs, percent / 100);
  if (!page.empty())
    write_to(page, [&](std::ostream& to) { recording::write_comparison_page(to, comparison); });
  if (!page.empty() && out.empty() && !json) return 0;
  ProgressLine::clear();
  write_to(out, [&](std::ostream& to) {
    if (json)
      recording::write_comparison_json(to, comparison);
    else
      recording::write_comparison_text(to, comparison, all);
  });
  return 0;
}

}  // namespace substrata::tool
