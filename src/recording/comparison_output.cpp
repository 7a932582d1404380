// A comparison as text, as JSON, and as the data of the page.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "base/format.hpp"
#include "recording/comparison.hpp"
#include "recording/exports.hpp"
#include "recording/page/page.hpp"
#include "recording/regions.hpp"
#include "recording/text_report.hpp"
#include "recording/text_table.hpp"

namespace substrata::recording {
namespace {

const char* name_of(Change change) {
  constexpr const char* kNames[] = {"", "less", "more", "only before", "only after"};
  return kNames[static_cast<std::size_t>(change)];
}

std::string side_text(const ComparedSide& side) {
  if (side.runs == 0) return "-";
  RegionSummary bounds;
  bounds.total = side.value;
  bounds.least = side.least;
  bounds.most = side.most;
  return region_text(bounds, Kind::kCount);
}

std::string titles(const std::vector<std::string>& of) {
  std::string out;
  for (const std::string& one : of) out += (out.empty() ? "" : ", ") + shown(one);
  return out;
}

std::string found_text(const ComparedFinding::Side& side) {
  if (side.looked == 0) return "without its data";
  return side.looked == 1 ? std::string(side.found == 1 ? "found" : "not found")
                          : "found in " + std::to_string(side.found) + " of " + std::to_string(side.looked);
}

void write_findings(std::ostream& out, const Comparison& comparison) {
  out << "Findings\n";
  if (comparison.findings.empty()) out << "  none before, none after\n";
  for (const ComparedFinding& one : comparison.findings) {
    const ComparedFinding::Side& newest = one.after.found != 0 ? one.after : one.before;
    out << "  " << one.state() << ": " << shown(newest.text) << " [" << one.rule << "]\n";
    for (const bool after : {false, true}) {
      const ComparedFinding::Side& side = after ? one.after : one.before;
      out << (after ? "    after:  " : "    before: ") << found_text(side)
          << (side.found != 0 ? ": " + shown(side.evidence) : std::string()) << "\n";
    }
  }
}

TextTable table_of(const char* first) {
  return TextTable({first, "unit", "old", "new", "new/old", "noise", "change", "origin"},
                   {false, false, true, true, true, true, false, false});
}

void add_row(TextTable* table, const ComparedNumber& one, const std::string& first) {
  table->row({first, shown(one.unit), side_text(one.before), side_text(one.after),
              std::isfinite(one.ratio) ? format("%.3f", one.ratio) : "-",
              std::isfinite(one.noise) ? "+- " + format("%.1f %%", 100 * one.noise) : "-",
              name_of(one.change), one.modelled ? "modelled" : "measured"});
}

void write_side(std::ostream& out, const char* name, const ComparedSide& side) {
  out << ",\"" << name << "\":{\"runs\":" << side.runs << ",\"value\":" << json_number(side.value)
      << ",\"least\":" << json_number(side.least) << ",\"most\":" << json_number(side.most)
      << ",\"text\":" << json_text(side_text(side)) << '}';
}

void write_texts(std::ostream& out, const char* name, const std::vector<std::string>& texts) {
  out << ",\"" << name << "\":[";
  for (std::size_t i = 0; i < texts.size(); ++i) out << (i != 0 ? "," : "") << json_text(texts[i]);
  out << ']';
}

}  // namespace

void write_comparison_text(std::ostream& out, const Comparison& comparison, bool all) {
  write_findings(out, comparison);
  out << "\nComparison\n  old        " << titles(comparison.before) << "\n  new        "
      << titles(comparison.after) << "\n";
  for (const std::string& note : comparison.notes) out << "  note       " << shown(note) << "\n";

  TextTable whole = table_of("whole run"), within = table_of("region, series");
  bool rough = false;
  std::size_t left_out = 0;
  std::string region;
  for (const ComparedNumber& one : comparison.numbers) {
    rough = rough || one.before.least < one.before.most || one.after.least < one.after.most;
    const std::string name = shown(one.name) + (one.gauge ? " (mean)" : "");
    if (one.region.empty()) {
      add_row(&whole, one, name);
    } else if (one.region != region) {  // its time comes first
      region = one.region;
      add_row(&within, one, shown(one.region));
    } else if (all || one.change != Change::kNone) {
      add_row(&within, one, "  " + name);
    } else {
      ++left_out;
    }
  }
  out << "\n";
  whole.print(out);
  if (!within.empty()) {
    out << "\n";
    within.print(out);
  }
  if (left_out != 0)
    out << "  " << left_out << " numbers of regions that did not change are left out; --all shows them\n";
  out << "\n  noise: between means of equal programs 99 of 100 differences are smaller, by the spread over "
         "the "
         "runs\n  change: a difference beyond that, and beyond "
      << format("%.3g %%", 100 * comparison.least_share) << "\n";
  if (rough)
    out << "  ~ and bounds: a region begins and ends between samples; numbers whose bounds overlap have not "
           "changed\n";
}

void write_comparison_json(std::ostream& out, const Comparison& comparison) {
  out << "{\"comparison\":true,\"title\":"
      << json_text(titles(comparison.before) + " / " + titles(comparison.after))
      << ",\"least_share\":" << json_number(comparison.least_share);
  write_texts(out, "before", comparison.before);
  write_texts(out, "after", comparison.after);
  write_texts(out, "notes", comparison.notes);
  out << ",\n\"numbers\":[";
  const char* separator = "";
  for (const ComparedNumber& one : comparison.numbers) {
    out << separator << "{\"region\":" << json_text(one.region) << ",\"name\":" << json_text(one.name)
        << ",\"unit\":" << json_text(one.unit) << ",\"kind\":\"" << (one.gauge ? "mean" : "total")
        << "\",\"head\":" << (one.head ? "true" : "false")
        << ",\"modelled\":" << (one.modelled ? "true" : "false");
    write_side(out, "before", one.before);
    write_side(out, "after", one.after);
    out << ",\"ratio\":" << json_number(one.ratio) << ",\"noise\":" << json_number(one.noise)
        << ",\"change\":" << json_text(name_of(one.change)) << '}';
    separator = ",\n";
  }
  out << "],\n\"findings\":[";
  separator = "";
  for (const ComparedFinding& one : comparison.findings) {
    out << separator << "{\"rule\":" << json_text(one.rule) << ",\"state\":" << json_text(one.state());
    for (const bool after : {false, true}) {
      const ComparedFinding::Side& side = after ? one.after : one.before;
      out << (after ? ",\"after\":" : ",\"before\":") << "{\"found\":" << side.found
          << ",\"looked\":" << side.looked << ",\"how\":" << json_text(found_text(side))
          << ",\"text\":" << json_text(side.text) << ",\"evidence\":" << json_text(side.evidence) << '}';
    }
    out << '}';
    separator = ",\n";
  }
  out << "]}\n";
}

void write_comparison_page(std::ostream& out, const Comparison& comparison) {
  std::ostringstream data;
  write_comparison_json(data, comparison);
  write_page(out, PageKind::kRecording, titles(comparison.before) + " / " + titles(comparison.after),
             data.str());
}

}  // namespace substrata::recording
