// Adding up stretches and tallies.
#include "recording/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "recording/statistics.hpp"

namespace substrata::recording {
namespace {

constexpr std::int64_t kMostStretches = 512;
constexpr std::uint64_t kMostNames = 1u << 16;  // of series or regions in an encoded reduction
constexpr double kSecondNs = 1e9;
constexpr double kLongest = 3.2e8;    // seconds
constexpr double kFurthest = 2.3e18;  // nanoseconds from 0 of any clock

std::int64_t floor_of(std::int64_t value, std::int64_t step) {
  return value / step - (value % step < 0 ? 1 : 0);
}

void put(ByteWriter& out, double number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  out.number(bits);
}
bool get(ByteReader& in, double* number) {
  std::uint64_t bits = 0;
  if (!in.number(&bits)) return false;
  std::memcpy(number, &bits, sizeof bits);
  return true;
}

void put(ByteWriter& out, const Tally& tally) {
  out.number(tally.count);
  for (const double number : {tally.sum, tally.squares, tally.least, tally.most}) put(out, number);
}
bool get(ByteReader& in, Tally* tally) {
  return in.number(&tally->count) && get(in, &tally->sum) && get(in, &tally->squares) &&
         get(in, &tally->least) && get(in, &tally->most);
}

void put(ByteWriter& out, const Properties& properties) {
  out.number(properties.size());
  for (const auto& [name, value] : properties) {
    out.text(name);
    out.text(value);
  }
}
bool get(ByteReader& in, Properties* properties) {
  std::uint64_t count = 0;
  if (!in.number(&count, in.left())) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name, value;
    if (!in.text(&name) || !in.text(&value)) return false;
    properties->emplace_back(std::move(name), std::move(value));
  }
  return true;
}

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

void Tally::add(double number) noexcept { add(Tally{1, number, 0, number, number}); }

void Tally::add(const Tally& other) noexcept {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double mine = static_cast<double>(count), others = static_cast<double>(other.count);
  const double apart = other.sum / others - sum / mine;
  squares += other.squares + apart * apart * mine * others / (mine + others);
  sum += other.sum;
  count += other.count;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

double Tally::deviation() const noexcept {
  return count == 0 ? 0 : std::sqrt(std::max(0.0, squares / static_cast<double>(count)));
}

void Reduction::Stretch::add(const Stretch& other) noexcept {
  if (other.writers == 0) return;
  if (writers == 0) {
    *this = other;
    return;
  }
  writers += other.writers;
  sum += other.sum;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

void Reduction::coarsen() {
  for (auto& [key, one] : series_) {
    std::map<std::int64_t, Stretch> wider;
    for (const auto& [number, stretch] : one.stretches) wider[floor_of(number, 2)].add(stretch);
    one.stretches = std::move(wider);
  }
  step_ns_ *= 2;
}

// So that the whole time fits into the stretches.
void Reduction::fit(std::int64_t begin, std::int64_t end) {
  begin_ = writers_ == 0 ? begin : std::min(begin_, begin);
  end_ = writers_ == 0 ? end : std::max(end_, end);
  while (floor_of(end_, step_ns_) - floor_of(begin_, step_ns_) >= kMostStretches && step_ns_ < (1LL << 60))
    coarsen();
}

// Nanoseconds to add to times of another reference clock; 0 for the same one.
std::int64_t Reduction::shift_from(const std::string& reference, std::int64_t real_minus_raw,
                                   std::uint64_t writers) {
  if (writers_ == 0) {
    reference_ = reference;
    real_minus_raw_ = real_minus_raw;
    return 0;
  }
  if (reference == reference_) return 0;
  by_wall_ += writers;
  return wrapping_difference(real_minus_raw, real_minus_raw_);
}

void Reduction::add(const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  // Nanoseconds as 64 bits must not overflow, whatever a damaged record says.
  bool sane = !recording.writers.empty() && timeline.seconds <= kLongest &&
              std::abs(static_cast<double>(timeline.start_ns)) < kFurthest &&
              std::abs(static_cast<double>(timeline.real_ns)) < kFurthest;
  for (const Trace& trace : timeline.traces)
    sane = sane && (trace.seconds.empty() || trace.seconds.front() >= 0);
  for (const Region& region : timeline.regions) sane = sane && region.begin >= 0 && region.end <= kLongest;
  if (!sane)
    throw std::runtime_error(
        "a recording without writers, of more than ten years or with times before its start cannot be "
        "reduced");
  const std::int64_t shift = shift_from(
      timeline.reference, wrapping_difference(timeline.real_ns, timeline.start_ns), recording.writers.size());
  const std::int64_t start = wrapping_sum(timeline.start_ns, shift);
  fit(start, wrapping_sum(start, static_cast<std::int64_t>(timeline.seconds * kSecondNs)));
  if (writers_ == 0) {
    first_ = recording.writers.front().properties;
    first_end_ = recording.writers.front().end_properties;
  }
  writers_ += recording.writers.size();
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    not_ended_ += recording.writers[w].ended ? 0 : 1;
    by_wall_ += timeline.clocks[w].alignment == Alignment::kWallClock ? 1 : 0;
    uncertainty_ns_ = std::max(uncertainty_ns_, timeline.clocks[w].uncertainty_ns);
  }

  for (const Trace& trace : timeline.traces) {
    const Series& about = *trace.series;
    if (trace.seconds.empty()) continue;
    const bool gauge = about.kind == Kind::kGauge;
    const std::string scope = rank_of_scope(about.scope) >= 0 ? "rank" : about.scope;
    const auto [at, is_new] = series_.try_emplace({about.name, about.unit, about.component, scope,
                                                   static_cast<std::uint8_t>(about.kind), about.modelled});
    One& one = at->second;
    if (is_new) {
      one.text = about.text;
      one.place = series_.size();
    }
    const Summary whole = summarize(trace);
    one.spread.add(gauge ? whole.level.mean : whole.total);
    if (about.name == "recorder:cpu" && about.scope == "recorder") {
      recorder_busy_ns_ += trace.values.back() - trace.values.front();
      recorder_wall_ns_ += (trace.seconds.back() - trace.seconds.front()) * kSecondNs;
    }
    const auto absolute = [&](double seconds) {
      return wrapping_sum(start, static_cast<std::int64_t>(seconds * kSecondNs));
    };
    const std::int64_t first = floor_of(absolute(trace.seconds.front()), step_ns_);
    const std::int64_t last = floor_of(absolute(trace.seconds.back()), step_ns_);
    double before = 0;  // what was counted before the first sample counts for it
    for (std::int64_t number = first; number <= last; ++number) {
      const double begin = static_cast<double>(wrapping_difference(number * step_ns_, start)) / kSecondNs;
      const double end = begin + static_cast<double>(step_ns_) / kSecondNs;
      Stretch stretch;
      stretch.writers = 1;
      if (gauge) {
        const Summary part = summarize(trace, begin, end);
        stretch.sum = part.seconds > 0 ? part.level.mean : value_at(trace, begin);
        stretch.least = part.seconds > 0 ? part.level.min : stretch.sum;
        stretch.most = part.seconds > 0 ? part.level.max : stretch.sum;
      } else {
        const double now = number == last ? trace.values.back() : value_at(trace, end);
        stretch.sum = now - before;
        before = now;
        stretch.least = stretch.most = stretch.sum * kSecondNs / static_cast<double>(step_ns_);
      }
      one.stretches[number].add(stretch);
    }
  }

  // Of each writer and rank the time in the regions of a name.
  std::map<std::pair<std::string, std::pair<std::size_t, std::int32_t>>, double> spent;
  for (const Region& region : timeline.regions) {
    const auto [at, is_new] = regions_.try_emplace(region.name);
    Span& span = at->second;
    const std::int64_t begin = wrapping_sum(start, static_cast<std::int64_t>(region.begin * kSecondNs));
    const std::int64_t end = wrapping_sum(start, static_cast<std::int64_t>(region.end * kSecondNs));
    if (is_new) span.place = regions_.size();
    span.begin = is_new ? begin : std::min(span.begin, begin);
    span.end = is_new ? end : std::max(span.end, end);
    ++span.passes;
    spent[{region.name, {region.writer, region.rank}}] += region.end - region.begin;
  }
  for (const auto& [of, seconds] : spent) regions_[of.first].seconds.add(seconds);
}

void Reduction::add(const Reduction& other) {
  if (other.writers_ == 0) return;
  if (writers_ == 0) {
    *this = other;
    return;
  }
  Reduction theirs = other;
  while (theirs.step_ns_ < step_ns_) theirs.coarsen();
  while (step_ns_ < theirs.step_ns_) coarsen();
  const std::int64_t shift = shift_from(theirs.reference_, theirs.real_minus_raw_, theirs.writers_);
  fit(wrapping_sum(theirs.begin_, shift), wrapping_sum(theirs.end_, shift));
  while (theirs.step_ns_ < step_ns_) theirs.coarsen();
  const std::int64_t stretches = floor_of(wrapping_sum(shift, step_ns_ / 2), step_ns_);
  writers_ += theirs.writers_;
  not_ended_ += theirs.not_ended_;
  if (shift == 0) by_wall_ += theirs.by_wall_;
  uncertainty_ns_ = std::max(uncertainty_ns_, theirs.uncertainty_ns_);
  recorder_busy_ns_ += theirs.recorder_busy_ns_;
  recorder_wall_ns_ += theirs.recorder_wall_ns_;
  std::vector<std::pair<const Key*, const One*>> in_order;
  for (const auto& [key, one] : theirs.series_) in_order.emplace_back(&key, &one);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.second->place < b.second->place; });
  for (const auto& [key, one] : in_order) {
    const auto [at, is_new] = series_.try_emplace(*key);
    if (is_new) {
      at->second.text = one->text;
      at->second.place = series_.size();
    }
    at->second.spread.add(one->spread);
    for (const auto& [number, stretch] : one->stretches)
      at->second.stretches[wrapping_sum(number, stretches)].add(stretch);
  }
  for (const auto& [name, span] : theirs.regions_) {
    const auto [at, is_new] = regions_.try_emplace(name);
    const std::int64_t begin = wrapping_sum(span.begin, shift), end = wrapping_sum(span.end, shift);
    if (is_new) at->second.place = regions_.size();
    at->second.begin = is_new ? begin : std::min(at->second.begin, begin);
    at->second.end = is_new ? end : std::max(at->second.end, end);
    at->second.passes += span.passes;
    at->second.seconds.add(span.seconds);
  }
}

ByteWriter Reduction::encode() const {
  ByteWriter out;
  out.text(kReductionName);
  out.text(reference_);
  for (const std::int64_t number : {real_minus_raw_, step_ns_, begin_, end_, uncertainty_ns_})
    out.signed_number(number);
  for (const std::uint64_t number : {writers_, not_ended_, by_wall_}) out.number(number);
  put(out, recorder_busy_ns_);
  put(out, recorder_wall_ns_);
  put(out, first_);
  put(out, first_end_);
  out.number(series_.size());
  for (const auto& [key, one] : series_) {
    const auto& [name, unit, component, scope, kind, modelled] = key;
    for (const std::string* text : {&name, &unit, &component, &scope, &one.text}) out.text(*text);
    out.byte(kind);
    out.byte(modelled ? 1 : 0);
    out.number(one.place);
    put(out, one.spread);
    out.number(one.stretches.size());
    for (const auto& [number, stretch] : one.stretches) {
      out.signed_number(number);
      out.number(stretch.writers);
      for (const double value : {stretch.sum, stretch.least, stretch.most}) put(out, value);
    }
  }
  out.number(regions_.size());
  for (const auto& [name, span] : regions_) {
    out.text(name);
    out.number(span.passes);
    out.signed_number(span.begin);
    out.signed_number(span.end);
    out.number(span.place);
    put(out, span.seconds);
  }
  return out;
}

bool Reduction::decode(ByteReader& in) {
  *this = Reduction();
  Reduction read;
  std::string mark;
  std::uint64_t count = 0;
  if (!in.text(&mark) || mark != kReductionName || !in.text(&read.reference_)) return false;
  for (std::int64_t* number :
       {&read.real_minus_raw_, &read.step_ns_, &read.begin_, &read.end_, &read.uncertainty_ns_})
    if (!in.signed_number(number)) return false;
  for (std::uint64_t* number : {&read.writers_, &read.not_ended_, &read.by_wall_})
    if (!in.number(number)) return false;
  if (read.step_ns_ < 1 || !get(in, &read.recorder_busy_ns_) || !get(in, &read.recorder_wall_ns_) ||
      !get(in, &read.first_) || !get(in, &read.first_end_) || !in.number(&count, kMostNames))
    return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name, unit, component, scope;
    One one;
    std::uint8_t kind = 0, modelled = 0;
    std::uint64_t place = 0, stretches = 0;
    for (std::string* text : {&name, &unit, &component, &scope, &one.text})
      if (!in.text(text)) return false;
    if (!in.byte(&kind) || kind > 2 || !in.byte(&modelled) || !in.number(&place) || !get(in, &one.spread) ||
        !in.number(&stretches, in.left()))
      return false;
    one.place = static_cast<std::size_t>(place);
    for (std::uint64_t k = 0; k < stretches; ++k) {
      std::int64_t number = 0;
      Stretch stretch;
      if (!in.signed_number(&number) || !in.number(&stretch.writers) || !get(in, &stretch.sum) ||
          !get(in, &stretch.least) || !get(in, &stretch.most))
        return false;
      one.stretches[number] = stretch;
    }
    read.series_[{name, unit, component, scope, kind, modelled != 0}] = std::move(one);
  }
  if (!in.number(&count, kMostNames)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name;
    Span span;
    std::uint64_t place = 0;
    if (!in.text(&name) || !in.number(&span.passes) || !in.signed_number(&span.begin) ||
        !in.signed_number(&span.end) || !in.number(&place) || !get(in, &span.seconds))
      return false;
    span.place = static_cast<std::size_t>(place);
    read.regions_[name] = span;
  }
  *this = std::move(read);
  return true;
}

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
    const auto& [name, unit, component, scope, kind, modelled] = *key;
    const bool gauge = static_cast<Kind>(kind) == Kind::kGauge;
    SeriesInfo about;
    about.name = name;
    about.unit = unit;
    about.component = component;
    about.modelled = modelled;
    about.text = one->text;
    about.scope = scope == "rank" ? "ranks" : scope;
    about.kind = static_cast<Kind>(kind);
    about.type = gauge ? Type::kDouble : Type::kInt64;
    std::vector<SeriesInfo> levels;
    const std::uint8_t origin = modelled ? std::uint8_t{kModelled} : std::uint8_t{0};
    if (gauge) {
      about.text = "mean over the writers: " + one->text;
      levels.push_back(about);
    } else {
      const std::uint32_t set = file.declare({about});
      double sum = 0;
      std::int64_t value = 0;
      std::int64_t at = one->stretches.begin()->first;
      file.sample(set, at * step_ns_, 0, &value, &origin);
      for (const auto& [number, stretch] : one->stretches) {
        if (number > at) file.sample(set, number * step_ns_, 0, &value, &origin);  // nothing was counted
        sum += stretch.sum;
        value = std::llround(std::clamp(sum, -9e18, 9e18));
        at = number + 1;
        file.sample(set, at * step_ns_, 0, &value, &origin);
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
      const std::vector<std::uint8_t> flags(levels.size(), origin);
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
    one.spread.count = static_cast<std::size_t>(std::strtoull(fields[3].c_str(), nullptr, 10));
    one.spread.min = std::strtod(fields[4].c_str(), nullptr);
    one.spread.mean = std::strtod(fields[5].c_str(), nullptr);
    one.spread.max = std::strtod(fields[6].c_str(), nullptr);
    one.spread.deviation = std::strtod(fields[7].c_str(), nullptr);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace substrata::recording
