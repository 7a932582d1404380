// Recruiting: watches a ratio, attaches modules when it meets a condition, and correlates what they found by object
// names.
#include "recruiting.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "base/guard.hpp"
#include "base/parse.hpp"
#include "objects.hpp"

using namespace substrata;
using namespace substrata::owl;

namespace {

std::atomic<uint64_t> rules_made{0};

std::string name_of(uint64_t address) {
  if (const char* const name = object_at(address)) return name;
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// Takes every packet out of a capsule's ring.
template <typename Take>
void drain(Capsule& capsule, const Take& take) {
  substrata_owl_reader reader;
  if (reader.open(capsule.ring_path(), 0) != 0) return;
  substrata_owl_packet packet{};
  std::vector<unsigned char> data(SUBSTRATA_OWL_MOST_PACKET);
  while (reader.peek(&packet, data.data(), data.size()) == 1) {
    take(data.data(), packet.bytes);
    reader.consume();
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The values of a capsule's metrics; none where there is no such capsule.
std::vector<uint64_t> metrics_of(const std::string& capsule, const std::string& module) {
  const std::shared_ptr<CapsuleRecord> record = find_record(capsule, module);
  std::vector<uint64_t> values;
  for (uint32_t i = 0; record != nullptr && i < record->entry->module->metric_count; ++i)
    values.push_back(record->values[kStatistics + i].value());
  return values;
}

}  // namespace

int substrata_owl_rule::find(Number& number, unsigned line) const {
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
      if (w.size() != 10 || w[2] != "of" || w[4] != "per" || w[6] != "of" || w[8] != "every" ||
          !parse_size(w[9], &every_) || every_ == 0) {
        return malformed("watch MODULE.METRIC of CAPSULE per MODULE.METRIC of CAPSULE every N");
      }
      watched_ = {w[1], w[3], nullptr, 0};
      per_ = {w[5], w[7], nullptr, 0};
      if (const int refused = find(watched_, number)) return refused;
      if (const int refused = find(per_, number)) return refused;
    } else if (w[0] == "when") {
      constexpr const char* kConditions[] = {"above", "below", "rising", "falling"};
      const auto* const known = w.size() == 3 ? std::find(kConditions, std::end(kConditions), w[1]) : nullptr;
      char* end = nullptr;
      const double limit = w.size() == 3 ? std::strtod(w[2].c_str(), &end) : -1;
      if (known == nullptr || known == std::end(kConditions) || *end != '\0' || !(limit >= 0 && limit <= 1e6))
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
      if (w.size() != 2 || (w[1] != "conflicts" && w[1] != "objects" && w[1] != "metrics"))
        return malformed("report conflicts | objects | metrics");
      reports_.push_back(w[1] == "conflicts" ? Report::kConflicts
                         : w[1] == "objects" ? Report::kObjects
                                             : Report::kMetrics);
    } else {
      return fail(Code::kInvalid,
                  "line %u of the rule begins with '%.40s'; watch, when, attach, for and report are known",
                  number, w[0].c_str());
    }
  }
  if (watched_.record == nullptr || recruits_.empty() || duration_ == 0) {
    return fail(Code::kInvalid, "a rule needs the lines watch, when, attach and for");
  }
  return 0;
}

int substrata_owl_rule::begin() {
  watcher_ = std::make_shared<Watcher>();
  watcher_->value = per_.value;
  watcher_->period = every_;
  watcher_->owner = this;
  watcher_->call = [](void* owner, uint64_t) noexcept { static_cast<substrata_owl_rule*>(owner)->look(); };
  last_watched_ = watched_.record->values[watched_.value].value();
  last_per_ = per_.record->values[per_.value].value();
  per_.record->watch(watcher_);
  return 0;
}

substrata_owl_rule::~substrata_owl_rule() {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  if (watcher_ != nullptr) per_.record->unwatch(watcher_);
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
    const uint64_t watched = watched_.record->values[watched_.value].value();
    const uint64_t per = per_.record->values[per_.value].value();
    const uint64_t more = per - last_per_;
    const double ratio =
        more == 0 ? -1 : static_cast<double>(watched - last_watched_) / static_cast<double>(more);
    if (acting_) {
      if (per >= until_) finish();
    } else if (more != 0 && met(ratio)) {
      act();
      until_ = per + duration_;
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
    if (reports(Report::kMetrics)) recruit.before = metrics_of(recruit.name, recruit.module);
    if (recruit.capsule->begin() != 0) found_ = std::string("not started: ") + last_refusal();
  }
  acting_ = true;
}

void substrata_owl_rule::finish() {
  acting_ = false;
  std::string text;
  for (const Recruit& recruit : recruits_) {
    if (recruit.capsule == nullptr) continue;
    recruit.capsule->end();
    recruit.capsule->write_back();
    if (recruit.module == "conflict" && reports(Report::kConflicts)) {
      text += conflicts(recruit);
    } else if ((recruit.module == "missrate" || recruit.module == "histogram") && reports(Report::kObjects)) {
      text += objects(recruit);
    } else {
      drain(*recruit.capsule, [](const unsigned char*, uint32_t) {});
    }
  }
  if (reports(Report::kMetrics))
    for (const Recruit& recruit : recruits_) text += metrics(recruit);
  found_ = text;
  ++times_;
}

std::string substrata_owl_rule::conflicts(const Recruit& recruit) const {
  std::map<std::pair<std::string, std::string>, uint64_t> pairs;
  drain(*recruit.capsule, [&](const unsigned char* data, uint32_t bytes) {
    uint64_t packet[3];
    if (bytes != sizeof packet) return;
    std::memcpy(packet, data, sizeof packet);
    std::pair<std::string, std::string> names(name_of(packet[0]), name_of(packet[1]));
    if (names.second < names.first) std::swap(names.first, names.second);
    pairs[names] += packet[2];
  });
  std::vector<std::pair<uint64_t, std::pair<std::string, std::string>>> order;
  for (const auto& [names, count] : pairs) order.emplace_back(count, names);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  for (size_t i = 0; i < order.size() && i < 10; ++i) {
    text += "conflict " + order[i].second.first + " " + order[i].second.second + " " +
            std::to_string(order[i].first) + "\n";
  }
  return text;
}

std::string substrata_owl_rule::objects(const Recruit& recruit) const {
  std::map<std::string, std::pair<uint64_t, uint64_t>> counts;
  drain(*recruit.capsule, [&](const unsigned char* data, uint32_t bytes) {
    uint64_t packet[3];
    if (bytes != sizeof packet) return;
    std::memcpy(packet, data, sizeof packet);
    auto& [accesses, misses] = counts[name_of(packet[0])];
    accesses += packet[1];
    misses += packet[2];
  });
  std::vector<std::pair<std::string, std::pair<uint64_t, uint64_t>>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.second != b.second.second ? a.second.second > b.second.second : a.first < b.first;
  });
  std::string text;
  for (size_t i = 0; i < order.size() && i < 10; ++i) {
    text += "object " + order[i].first + " accesses " + std::to_string(order[i].second.first) + " misses " +
            std::to_string(order[i].second.second) + "\n";
  }
  return text;
}

// What the recruit counted this time, at its place: "metrics counter mem.cpu0.l2-memory TRANSACTIONS 32768 ..."
std::string substrata_owl_rule::metrics(const Recruit& recruit) {
  const std::shared_ptr<CapsuleRecord> record = find_record(recruit.name, recruit.module);
  const std::vector<uint64_t> now = metrics_of(recruit.name, recruit.module);
  if (record == nullptr || recruit.before.size() != now.size()) return {};
  std::string text = "metrics " + recruit.module + " " + recruit.probes;
  for (size_t i = 0; i < now.size(); ++i) {
    const Metric& metric = record->entry->module->metrics[i];
    text += std::string(" ") + metric.name + " " +
            std::to_string(metric.gauge != 0 ? now[i] : now[i] - recruit.before[i]);
  }
  return text + "\n";
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
