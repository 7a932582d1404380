// Recruiting: watches a ratio, attaches modules when it meets a condition, and correlates what they found by object
// names.
#include "owl/recruiting.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "owl/actions.hpp"

using namespace substrata;
using namespace substrata::owl;

namespace {

std::atomic<uint64_t> rules_made{0};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

int substrata_owl_rule::find(Number& number, unsigned line) {
  if (number.capsule.empty()) {
    if (events_.add(number.metric, &number.value) == 0) return 0;
    const std::string why = last_refusal();
    return fail(Code::kNoEvent, "line %u: %s", line, why.c_str());
  }
  const size_t dot = number.metric.find('.');
  if (dot == std::string::npos) {
    return fail(Code::kInvalid, "line %u: '%s' is not MODULE.METRIC", line, number.metric.c_str());
  }
  const std::string module = number.metric.substr(0, dot);
  const std::string metric = number.metric.substr(dot + 1);
  number.record = find_record(number.capsule, module);
  if (number.record == nullptr) {
    return fail(Code::kNoEvent, "line %u: there is no capsule '%s' with the module '%s'", line,
                number.capsule.c_str(), module.c_str());
  }
  const Module& described = *number.record->entry->module;
  for (uint32_t i = 0; i < described.metric_count; ++i) {
    if (metric != described.metrics[i].name) continue;
    number.value = kStatistics + i;
    return 0;
  }
  return fail(Code::kNoEvent, "line %u: the module '%s' has no metric '%s'", line, module.c_str(),
              metric.c_str());
}

// "watch NUMBER per NUMBER every N [of NUMBER]", where a number is "MODULE.METRIC of CAPSULE" or an event.
int substrata_owl_rule::parse_watch(const std::vector<std::string>& w, unsigned line) {
  size_t at = 1;
  const auto number = [&](Number& into) {
    if (at == w.size()) return false;
    into = {w[at++], {}, nullptr, 0};
    if (at + 1 < w.size() && w[at] == "of") {
      into.capsule = w[at + 1];
      at += 2;
    }
    return true;
  };
  const auto word = [&](const char* wanted) { return at < w.size() && w[at] == wanted && ++at != 0; };
  const bool read = number(watched_) && word("per") && number(per_) && word("every") && at < w.size() &&
                    parse_size(w[at++], &every_) && every_ != 0;
  clock_ = per_;
  if (!read || (at != w.size() && !(word("of") && number(clock_) && at == w.size()))) {
    return fail(
        Code::kInvalid,
        "line %u of the rule is not understood; write: watch NUMBER per NUMBER every N [of NUMBER], where a "
        "number is MODULE.METRIC of CAPSULE, or an event",
        line);
  }
  if (clock_.capsule.empty()) {
    return fail(
        Code::kInvalid,
        "line %u: an event does not say when to look; end it with: every N of MODULE.METRIC of CAPSULE",
        line);
  }
  if (const int refused = find(watched_, line)) return refused;
  if (const int refused = find(per_, line)) return refused;
  return find(clock_, line);
}

int substrata_owl_rule::parse(const char* text) {
  const uint64_t rule = ++rules_made;
  unsigned number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::vector<std::string> w = words_of(line.substr(0, line.find('#')));
    if (w.empty()) continue;
    const auto malformed = [&](const char* form) {
      return fail(Code::kInvalid, "line %u of the rule is not understood; write: %s", number, form);
    };
    if (w[0] == "watch") {
      if (const int refused = parse_watch(w, number)) return refused;
    } else if (w[0] == "when") {
      constexpr const char* kConditions[] = {"above", "below", "rising", "falling"};
      const auto* const known = w.size() == 3 ? std::find(kConditions, std::end(kConditions), w[1]) : nullptr;
      double limit = 0;
      if (known == nullptr || known == std::end(kConditions) || !parse_number(w[2], &limit) ||
          !(limit >= 0 && limit <= 1e6))
        return malformed("when above RATIO | below RATIO | rising FACTOR | falling FACTOR");
      condition_ = static_cast<Condition>(known - kConditions);
      limit_ = limit;
    } else if (w[0] == "attach") {
      if ((w.size() != 4 && w.size() != 6) || w[2] != "at" || (w.size() == 6 && w[4] != "with")) {
        return malformed("attach MODULE at PROBES [with REGISTER=VALUE:...]");
      }
      const LibraryEntry* const entry = find_module(w[1]);
      if (entry == nullptr)
        return fail(Code::kNoEvent, "line %u: there is no module '%s'", number, w[1].c_str());
      Recruit recruit{w[1], w[3], w.size() == 6 ? w[5] : "", {}, nullptr};
      recruit.name = "rule" + std::to_string(rule) + "-" + std::to_string(recruits_.size());
      uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      if (const int refused = parse_registers(*entry->module, recruit.registers.c_str(), registers))
        return refused;
      recruits_.push_back(std::move(recruit));
    } else if (w[0] == "for") {
      if (w.size() != 2 || !parse_size(w[1], &duration_) || duration_ == 0) return malformed("for N");
    } else if (w[0] == "report") {
      constexpr const char* kReports[] = {"conflicts", "objects", "levels", "metrics", "rings"};
      const auto* const known = w.size() == 2 ? std::find(kReports, std::end(kReports), w[1]) : nullptr;
      if (known == nullptr || known == std::end(kReports))
        return malformed("report conflicts | objects | levels | metrics | rings");
      reports_.push_back(static_cast<Report>(known - kReports));
    } else if (w[0] == "act") {
      constexpr std::pair<const char*, int> kSignals[] = {
          {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGTERM", SIGTERM}, {"SIGSTOP", SIGSTOP}};
      const auto* const known = std::find_if(kSignals, std::end(kSignals), [&](const auto& each) {
        return w.size() == 3 && w[1] == "signal" && w[2] == each.first;
      });
      if (known != std::end(kSignals)) {
        actions_.push_back({known->second, {}});
      } else if (w.size() == 3 && w[1] == "mark") {
        actions_.push_back({0, w[2]});
      } else {
        return malformed("act mark WORD | act signal SIGUSR1 | SIGUSR2 | SIGTERM | SIGSTOP");
      }
    } else {
      return fail(
          Code::kInvalid,
          "line %u of the rule begins with '%.40s'; watch, when, attach, act, for and report are known",
          number, w[0].c_str());
    }
  }
  if (clock_.record == nullptr || recruits_.empty() || duration_ == 0) {
    return fail(Code::kInvalid, "a rule needs the lines watch, when, attach and for");
  }
  return 0;
}

int substrata_owl_rule::begin() {
  watcher_ = std::make_shared<Watcher>();
  watcher_->value = clock_.value;
  watcher_->period = every_;
  watcher_->owner = this;
  watcher_->call = [](void* owner, uint64_t) noexcept { static_cast<substrata_owl_rule*>(owner)->look(); };
  if (const int refused = events_.start()) return refused;
  if (!events_.read()) return fail(Code::kSystem, "the watched events cannot be read");
  last_watched_ = now(watched_);
  last_per_ = now(per_);
  clock_.record->watch(watcher_);
  return 0;
}

uint64_t substrata_owl_rule::now(const Number& number) const noexcept {
  return number.record != nullptr ? number.record->values[number.value].value() : events_.value(number.value);
}

substrata_owl_rule::~substrata_owl_rule() {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  if (watcher_ != nullptr && clock_.record != nullptr) clock_.record->unwatch(watcher_);
  for (const Recruit& recruit : recruits_) delete static_cast<substrata_owl_capsule*>(recruit.capsule);
}

bool substrata_owl_rule::reports(Report kind) const {
  return std::find(reports_.begin(), reports_.end(), kind) != reports_.end();
}

// Rising and falling are against the ratio of the time before.
bool substrata_owl_rule::met(double ratio) const {
  switch (condition_) {
    case Condition::kAbove:
      return ratio > limit_;
    case Condition::kBelow:
      return ratio < limit_;
    case Condition::kRising:
      return last_ratio_ >= 0 && ratio > last_ratio_ * limit_;
    case Condition::kFalling:
      return last_ratio_ >= 0 && ratio < last_ratio_ * limit_;
  }
  return false;
}

void substrata_owl_rule::look() noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (dismissed_) return;
    if (!events_.read()) return;
    const uint64_t watched = now(watched_);
    const uint64_t per = now(per_);
    const uint64_t clock = now(clock_);
    const uint64_t more = per - last_per_;
    const double ratio =
        more == 0 ? -1 : static_cast<double>(watched - last_watched_) / static_cast<double>(more);
    if (acting_) {
      if (clock >= until_) finish();
    } else if (more != 0 && met(ratio)) {
      act();
      until_ = clock + duration_;
    }
    if (more != 0) last_ratio_ = ratio;
    last_watched_ = watched;
    last_per_ = per;
  } catch (...) {
    // No memory for the report: the rule goes on watching.
  }
}

void substrata_owl_rule::act() {
  for (Recruit& recruit : recruits_) {
    if (recruit.capsule == nullptr) {
      auto options = substrata::client::sized<substrata_owl_capsule_options>();
      options.name = recruit.name.c_str();
      options.probes = recruit.probes.c_str();
      options.module = recruit.module.c_str();
      options.registers = recruit.registers.c_str();
      options.ring_bytes = 1 << 22;
      if (attach_capsule(options, &recruit.capsule) != 0) {
        found_ = std::string("not attached: ") + last_refusal();
        continue;
      }
    }
    if (reports(Report::kMetrics)) recruit.before = metric_values(recruit);
    if (recruit.capsule->begin() != 0) found_ = std::string("not started: ") + last_refusal();
  }
  acting_ = true;
  for (const Action& action : actions_) {
    if (action.signal != 0)
      send_signal(action.signal, false);
    else
      write_mark(action.mark);
  }
}

void substrata_owl_rule::finish() {
  acting_ = false;
  for (const Recruit& recruit : recruits_) {
    if (recruit.capsule == nullptr) continue;
    recruit.capsule->end();
    recruit.capsule->write_back();
  }
  // Packets that no report is made of stay in their ring.
  std::vector<LevelCounts> levels;
  std::string text;
  for (const Recruit& recruit : recruits_) {
    if (recruit.capsule == nullptr) continue;
    const bool counts = recruit.module == "missrate" || recruit.module == "histogram";
    if (recruit.module == "conflict" && reports(Report::kConflicts)) text += conflicts_of(recruit);
    if (!counts || !(reports(Report::kObjects) || reports(Report::kLevels))) continue;
    levels.push_back(counts_by_object(recruit));
    if (reports(Report::kObjects)) text += objects_of(levels.back());
  }
  if (reports(Report::kLevels)) text += levels_of(levels);
  for (const Recruit& recruit : recruits_) {
    if (recruit.capsule == nullptr) continue;
    if (reports(Report::kMetrics)) text += metrics_of(recruit);
    if (reports(Report::kRings))
      text += "ring " + recruit.module + " " + recruit.probes + " " + recruit.capsule->ring_path() + "\n";
  }
  found_ = text;
  ++times_;
}

const char* substrata_owl_rule::report(uint64_t* times) {
  const std::lock_guard lock(mutex_);
  *times = times_;
  given_ = found_;
  return given_.c_str();
}

extern "C" {

int substrata_owl_recruit(const char* text, substrata_owl_rule** out) {
  return guarded([&] {
    if (text == nullptr || out == nullptr)
      return fail(Code::kInvalid, "a rule needs its text and a place for the result");
    auto rule = std::make_unique<substrata_owl_rule>();
    if (const int refused = rule->parse(text)) return refused;
    if (const int refused = rule->begin()) return refused;
    *out = rule.release();
    return 0;
  });
}

int substrata_owl_recruited(substrata_owl_rule* rule, uint64_t* times, const char** report) {
  return guarded([&] {
    if (rule == nullptr || times == nullptr || report == nullptr) {
      return fail(Code::kInvalid, "a rule and a place for its report are needed");
    }
    substrata_flush();
    *report = rule->report(times);
    return 0;
  });
}

void substrata_owl_dismiss(substrata_owl_rule* rule) { delete rule; }

}  // extern "C"
