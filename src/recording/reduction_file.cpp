// A reduction as a recording: series that stand for all writers, and the spreads between them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/parse.hpp"
#include "recording/reduction.hpp"

namespace substrata::recording {
namespace {

constexpr double kSecondNs = 1e9;

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string tally_text(const Tally& tally) {
  char text[200];
  std::snprintf(text, sizeof text, "%llu\t%.9g\t%.9g\t%.9g\t%.9g",
                static_cast<unsigned long long>(tally.count), tally.least,
                tally.count != 0 ? tally.sum / static_cast<double>(tally.count) : 0, tally.most,
                tally.deviation());
  return text;
}

std::int64_t bits_of(double number) {
  std::int64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

}  // namespace

void Reduction::write(const std::string& path) const {
  std::vector<std::pair<const Key*, const One*>> in_order;
  for (const auto& [key, one] : series_) in_order.emplace_back(&key, &one);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.second->place < b.second->place; });
  std::vector<std::pair<std::string_view, const Span*>> spans;
  for (const auto& [name, span] : regions_) spans.emplace_back(name, &span);
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.second->place < b.second->place; });

  // What holds for one writer only is not stated for all.
  Properties head;
  for (const auto& [name, value] : first_)
    if (name != "start.raw_ns" && name != "start.real_ns" && name != "mpi.rank" && name != "pid" &&
        name != "clock")
      head.emplace_back(name, value);
  const auto add = [&head](const std::string& name, const std::string& value) {
    head.emplace_back(name, value);
  };
  add("clock", reference_);
  add("start.raw_ns", std::to_string(begin_));
  add("start.real_ns", std::to_string(wrapping_sum(begin_, real_minus_raw_)));
  add("reduced.writers", std::to_string(writers_));
  add("reduced.stretch_ns", std::to_string(step_ns_));
  if (not_ended_ != 0)
    add("note.cut", std::to_string(not_ended_) + " of the writers did not end their recording");
  if (by_wall_ != 0)
    add("note.clocks", std::to_string(by_wall_) +
                           " of the writers are aligned by the time of day of their machines, not measured");
  if (uncertainty_ns_ != 0)
    add("note.offsets", "offsets of clocks are known within " + std::to_string(uncertainty_ns_) + " ns");
  if (recorder_wall_ns_ > 0) {
    char text[160];
    std::snprintf(text, sizeof text,
                  "the recorders used %.3f ms of processor time, on average %.3f %% of one processor each",
                  recorder_busy_ns_ / 1e6, 100 * recorder_busy_ns_ / recorder_wall_ns_);
    add("reduced.overhead", text);
  }
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const auto& [name, unit, component, scope, kind, modelled] = *in_order[i].first;
    add("spread." + std::to_string(i + 1),
        one_line(name) + '\t' + one_line(unit) + '\t' +
            (static_cast<Kind>(kind) == Kind::kGauge ? "mean level" : "total") + " of a " +
            (scope == "rank" ? "rank" : "writer") + (modelled ? ", modelled" : "") + '\t' +
            tally_text(in_order[i].second->spread));
  }
  for (std::size_t i = 0; i < spans.size(); ++i)
    add("spread." + std::to_string(in_order.size() + i + 1),
        one_line(std::string(spans[i].first)) + "\ts\tin the region, " +
            std::to_string(spans[i].second->passes) + " passes\t" + tally_text(spans[i].second->seconds));

  FileWriter file(path, FileWriter::Mode::kReplace, head);
  const double step_s = static_cast<double>(step_ns_) / kSecondNs;
  for (const auto& [key, one] : in_order) {
    if (one->stretches.empty()) continue;
    const auto& [name, unit, component, scope, kind, origin] = *key;
    const bool gauge = static_cast<Kind>(kind) == Kind::kGauge;
    SeriesInfo about;
    about.name = name;
    about.unit = unit;
    about.component = component;
    about.set_origin(origin);
    about.text = one->text;
    about.scope = scope == "rank" ? "ranks" : scope;
    about.kind = static_cast<Kind>(kind);
    about.type = gauge ? Type::kDouble : Type::kInt64;
    std::vector<SeriesInfo> levels;
    const std::uint8_t flag = about.modelled ? std::uint8_t{kModelled} : std::uint8_t{0};
    if (gauge) {
      about.text = "mean over the writers: " + one->text;
      levels.push_back(about);
    } else {
      const std::uint32_t set = file.declare({about});
      double sum = 0;
      std::int64_t value = 0;
      std::int64_t at = one->stretches.begin()->first;
      file.sample(set, at * step_ns_, 0, &value, &flag);
      for (const auto& [number, stretch] : one->stretches) {
        if (number > at) file.sample(set, number * step_ns_, 0, &value, &flag);  // nothing was counted
        sum += stretch.sum;
        value = std::llround(std::clamp(sum, -9e18, 9e18));
        at = number + 1;
        file.sample(set, at * step_ns_, 0, &value, &flag);
      }
    }
    if (one->spread.count > 1)
      for (const char* which : {"least", "most"}) {
        SeriesInfo limit = about;
        limit.name += std::string(":") + which;
        if (!gauge) limit.unit += "/s";
        limit.text = std::string("the ") + which + (gauge ? " level" : " rate") +
                     " of a single writer or rank: " + one->text;
        limit.kind = Kind::kGauge;
        limit.type = Type::kDouble;
        levels.push_back(std::move(limit));
      }
    if (levels.empty()) continue;
    const std::uint32_t set = file.declare(levels);
    for (const auto& [number, stretch] : one->stretches) {
      std::vector<std::int64_t> values;
      if (gauge) values.push_back(bits_of(stretch.sum / static_cast<double>(stretch.writers)));
      values.push_back(bits_of(stretch.least));
      values.push_back(bits_of(stretch.most));
      const std::vector<std::uint8_t> flags(levels.size(), flag);
      file.sample(set, number * step_ns_ + step_ns_ / 2, static_cast<std::int64_t>(step_s * kSecondNs / 2),
                  values.data(), flags.data());
    }
  }
  std::vector<Mark> marks;
  for (const auto& [name, span] : spans) {
    marks.push_back({MarkKind::kBegin, span->begin, -1, std::string(name)});
    marks.push_back({MarkKind::kEnd, span->end, -1, std::string(name)});
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  for (const Mark& mark : marks) file.mark(mark);
  file.end(end_, first_end_);
}

std::vector<NamedSpread> spreads_of(const Properties& properties) {
  std::vector<NamedSpread> out;
  for (const auto& [name, value] : properties) {
    if (name.rfind("spread.", 0) != 0) continue;
    std::vector<std::string> fields;
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find('\t', begin), value.size());
      fields.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
    if (fields.size() != 8) continue;
    NamedSpread one{fields[0], fields[1], fields[2], {}};
    leading_number(fields[3], &one.spread.count);
    leading_number(fields[4], &one.spread.min);
    leading_number(fields[5], &one.spread.mean);
    leading_number(fields[6], &one.spread.max);
    leading_number(fields[7], &one.spread.deviation);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace substrata::recording
